"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one machine-readable record on standard output.")
]
ConfigOption = Annotated[
    str | None, typer.Option("--config", "-c", help="A preset's name (see configs/) or a TOML file.")
]
ExecutorOption = Annotated[
    Literal["auto", "emulator", "gpu"], typer.Option("--executor", help="What runs the kernels.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", "-s", metavar="KEY=VALUE", help="Override one setting, e.g. rl.steps=3; repeatable."
    ),
]
