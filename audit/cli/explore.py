"""``audit explore``: look at a run in a browser, from its verdict to the records behind it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from audit.base.errors import InputError
from audit.base.settings import INPUT, OUTPUT, POLICY, Option
from audit.cli.options import RunFolder
from audit.cli.rendering import imprint_of_run, name_of_run


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What is shown of a run, where, and beside what."""

    port: Annotated[
        int, Option("Port to serve at; 0 for any free port.", OUTPUT, least=0, most=65535)
    ] = 0
    show_instances: Annotated[
        bool, Option("Show single instances of a run made with --keep-instances.", INPUT)
    ] = False
    media: Annotated[
        Path | None,
        Option("Table of texts and pictures of instances, by their id.", INPUT, metavar="FILE"),
    ] = None
    static: Annotated[
        Path | None,
        Option(
            "Write the shared view as pages for a web server into this folder, and exit.",
            OUTPUT,
            metavar="DIR",
            writes=True,
        ),
    ] = None
    policy: Annotated[
        Path | None, Option("Policy file (TOML) that decisions on findings are written to.", POLICY)
    ] = None
    beside: Annotated[
        tuple[Path, ...],
        Option(
            "Another run of the same hierarchy to show for comparison; may be repeated.",
            INPUT,
            metavar="OTHER",
        ),
    ] = ()


def explore(run: RunFolder, shown: Shown) -> None:
    """Look at a run in a browser, on this machine only; Ctrl-C ends it."""
    from audit.explorer import require_explorer

    require_explorer()
    from audit.explorer.application import serve
    from audit.explorer.run.opened_run import open_run
    from audit.explorer.run.other_runs import open_beside
    from audit.explorer.run.policy_editor import EditedPolicy
    from audit.explorer.site import Site
    from audit.runs.analyses import CHECK_NAMES

    _refuse_unshown(shown.media, shown.show_instances and shown.static is None)
    folders = [run, *shown.beside]
    names = [name_of_run(folder) for folder in folders]
    day = imprint_of_run(run).day
    if shown.static is not None:
        _refuse_several(folders)
        _refuse_of_window(
            {
                "--show-instances": shown.show_instances,
                "--policy": shown.policy,
                "--port": shown.port,
            }
        )
        _write_shared(run, names[0], day, shown.static)
        return
    opened = open_run(
        run,
        names[0],
        day=day,
        show_instances=shown.show_instances,
        media=shown.media,
    )
    for note in opened.media.notes if opened.media else ():
        typer.echo(note, err=True)
    others = open_beside(opened, folders, names) if shown.beside else None
    checks = CHECK_NAMES | {check["name"] for check in opened.shared["checks"]}
    edited = None if shown.policy is None else EditedPolicy(shown.policy, checks=checks)
    if edited is not None:
        edited.decided()  # refused now rather than at the first decision
    serve(Site(opened, edited, others), shown.port, _print_address)


def _refuse_several(runs: list[Path]) -> None:
    if len(runs) > 1:
        raise InputError(
            "only one of --static and --beside may be given",
            found="both",
            hint=f"{shlex.join(['audit', 'history', *map(str, runs)])} writes the shared views of "
            "several runs",
        )


def _refuse_of_window(options: Mapping[str, object]) -> None:
    named = [name for name, value in options.items() if value]
    if named:
        raise InputError(
            "--static writes the shared view and opens no browser",
            found=", ".join(named),
            hint="leave out one of the two",
        )


def _refuse_unshown(media: Path | None, shown: bool) -> None:
    if media is not None and not shown:
        raise InputError(
            "--media shows texts and pictures of single instances",
            found="the pages show no instances",
            hint="add --show-instances, and leave out --static",
        )


def _print_address(address: str) -> None:
    typer.echo(f"Open {address}")
    typer.echo("It opens one browser on this machine; Ctrl-C ends it.", err=True)


def _write_shared(run: Path, name: str, day: date | None, folder: Path) -> None:
    """Write the shared view of a run as plain files; no restricted table is read."""
    from audit.explorer.application import write_plain_files
    from audit.explorer.run.opened_run import open_shared

    files = write_plain_files(open_shared(run, name, day=day), folder)
    typer.echo(f"{files} files: open {folder / 'index.html'}")
