"""`cuda-rl models`: what can be trained, and fetching it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from coding_framework.cli.options import JsonOption

if TYPE_CHECKING:
    from coding_framework.agents.models.store import FetchProgress

app = typer.Typer(help="List and fetch models.", no_args_is_help=True)


@app.command("list")
def list_(json: JsonOption = False) -> None:
    """List the embedded models and whether they are in the cache."""
    from rich.table import Column, Table

    from coding_framework.agents.models.store import list_models
    from coding_framework.cli.output import print_record, stdout_console
    from coding_framework.cli.records import Models

    models = list_models()
    if json:
        print_record(Models(models=models))
        return
    table = Table(Column("name", no_wrap=True), "size", Column("in the cache", overflow="fold"), "licence")
    for model in models:
        table.add_row(model.name, f"{model.size_bytes / 1e6:,.0f} MB", str(model.path or "no"), model.licence)
    stdout_console().print(table)


@app.command()
def fetch(
    name: Annotated[
        str, typer.Argument(help="An embedded model or a Hugging Face name.")
    ] = "smollm2-135m-instruct",
    json: JsonOption = False,
) -> None:
    """Download a model, verify its checksum, convert it once and keep it in the cache."""
    from coding_framework.agents.models.store import fetch_model
    from coding_framework.cli.output import print_record, stderr_console, stdout_console
    from coding_framework.cli.records import Fetched

    with stderr_console().status(f"fetching {name}") as status:
        path = fetch_model(name, lambda state: status.update(_words(name, state)))
    if json:
        print_record(Fetched(name=name, path=path))
    else:
        stdout_console().print(str(path), markup=False, soft_wrap=True)


def _words(name: str, state: FetchProgress) -> str:
    if state.stage == "download":
        return f"downloading {name}: {state.done_bytes / 1e6:,.0f} of about {state.total_bytes / 1e6:,.0f} MB"
    return f"{name}: {state.stage}"
