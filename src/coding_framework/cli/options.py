"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one machine-readable record on standard output.")
]
ConfigOption = Annotated[
    str | None, typer.Option("--config", "-c", help="A preset's name (see configs/) or a TOML file.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", "-s", metavar="KEY=VALUE", help="Override one setting, e.g. rl.steps=3; repeatable."
    ),
]
