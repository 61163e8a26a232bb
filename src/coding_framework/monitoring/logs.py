"""Logging set-up: events for people on standard error, the same events as JSON lines in the run's log.

Our own loggers (`coding_framework.*`, made by `structlog.stdlib.get_logger(__name__)`) speak from
`level` up; other libraries from WARNING up, through the same two sinks. Calling it again replaces what
the earlier call installed and nothing else. A disk that fills up costs the log, never the training:
that is said once on standard error. Nothing happens at import.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Literal

import structlog
from rich.text import Text

from coding_framework.errors import StorageError
from coding_framework.monitoring.console import stderr_console
from coding_framework.monitoring.storage import append_line, storage_errors

Level = Literal["debug", "info", "warning", "error"]
_OURS = "_coding_framework_sink"


class _ConsoleHandler(logging.Handler):
    """Prints through the shared console, above a live progress bar if there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            stderr_console().print(Text.from_ansi(self.format(record)), soft_wrap=True)
        except Exception:
            self.handleError(record)


class _RunLogHandler(logging.Handler):
    """Appends JSON lines as metrics are appended, so worker processes may share the file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._reported = False

    def emit(self, record: logging.LogRecord) -> None:
        try:
            append_line(self._path, self.format(record))
        except StorageError as error:
            if not self._reported:
                self._reported = True
                stderr_console().print(f"{error}; training goes on without this log", markup=False)
        except Exception:
            self.handleError(record)


def configure_logging(level: Level, log_file: Path | None, json_to_stderr: bool = False) -> None:
    """Installs the two sinks; without `log_file` there is only standard error."""
    structlog.configure(
        processors=[*_shared(), structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if hasattr(handler, _OURS)]:
        root.removeHandler(handler)
        handler.close()
    logging.getLogger("coding_framework").setLevel(level.upper())
    console = _ConsoleHandler()
    console.setFormatter(_formatter(as_json=json_to_stderr))
    _install(root, console)
    if log_file is not None:
        with storage_errors(log_file, "open"):
            log_file.parent.mkdir(parents=True, exist_ok=True)
            log_file.touch()
        file = _RunLogHandler(log_file)
        file.setFormatter(_formatter(as_json=True))
        _install(root, file)


def _install(root: logging.Logger, handler: logging.Handler) -> None:
    setattr(handler, _OURS, True)
    root.addHandler(handler)


def _shared() -> list[structlog.typing.Processor]:
    """What every event gets, ours or another library's."""
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]


def _formatter(*, as_json: bool) -> logging.Formatter:
    last: list[structlog.typing.Processor] = (
        [structlog.processors.dict_tracebacks, structlog.processors.JSONRenderer(default=str)]
        if as_json
        else [_short_time, structlog.dev.ConsoleRenderer(colors=stderr_console().is_terminal, pad_event_to=0)]
    )
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=_shared(),
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
    )


def _short_time(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """People want the time of day; the file keeps the date."""
    event["timestamp"] = str(event["timestamp"])[11:19]
    event.pop("logger", None)
    return event
