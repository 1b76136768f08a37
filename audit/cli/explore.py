"""``audit explore``: look at a run in a browser, from its verdict to the records behind it."""

from __future__ import annotations

from typing import Annotated

import typer

from audit.base.settings import INPUT, OUTPUT, Option
from audit.cli.options import RunFolder
from audit.cli.rendering import imprint_of_run, name_of_run


def explore(
    run: RunFolder,
    port: Annotated[
        int, Option("Port to serve at; 0 for any free port.", OUTPUT, least=0, most=65535)
    ] = 0,
    show_instances: Annotated[
        bool, Option("Show single instances of a run made with --keep-instances.", INPUT)
    ] = False,
) -> None:
    """Look at a run in a browser, on this machine only; Ctrl-C ends it."""
    from audit.explorer.application import serve
    from audit.explorer.opened import open_run

    opened = open_run(
        run,
        name_of_run(run),
        day=imprint_of_run(run).day,
        show_instances=show_instances,
    )
    serve(opened, port, _print_address)


def _print_address(address: str) -> None:
    typer.echo(f"Open {address}")
    typer.echo("It opens one browser on this machine; Ctrl-C ends it.", err=True)
