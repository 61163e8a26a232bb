"""The SQLite file in which conversations survive their process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from coding_framework.monitoring.storage import storage_errors


@asynccontextmanager
async def open_checkpoints(path: Path | None) -> AsyncIterator[Any]:
    """The database of checkpoints; None where conversations live in memory only.

    The serializer knows plain values only: a file that somebody else wrote cannot make it run anything.
    """
    if path is None:
        yield None
        return
    import aiosqlite
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    async with aiosqlite.connect(path) as connection:
        saver = AsyncSqliteSaver(connection, serde=JsonPlusSerializer(allowed_msgpack_modules=None))
        await saver.setup()
        yield saver
