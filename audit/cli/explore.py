"""``audit explore``: look at a run in a browser, from its verdict to the records behind it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from audit.base.errors import InputError
from audit.cli.options import INPUT, OUTPUT, POLICY, Force, RunFolder
from audit.cli.output import user_mistakes
from audit.cli.rendering import imprint_of_run, name_of_run

Port = Annotated[
    int,
    typer.Option(
        min=0, max=65535, help="Port to serve at; 0 for any free port.", rich_help_panel=OUTPUT
    ),
]
ShowInstances = Annotated[
    bool,
    typer.Option(
        "--show-instances",
        help="Show single instances of a run made with --keep-instances.",
        rich_help_panel=INPUT,
    ),
]
MediaFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Table of texts and pictures of instances, by their id.",
        rich_help_panel=INPUT,
    ),
]
PlainFiles = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Write the shared view as pages for a web server into this folder, and exit.",
        rich_help_panel=OUTPUT,
    ),
]
DecidedPolicy = Annotated[
    Path | None,
    typer.Option(
        help="Policy file (TOML) that decisions on findings are written to.",
        rich_help_panel=POLICY,
    ),
]
RunsBesideIt = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="OTHER",
        help="Another run of the same hierarchy to show for comparison; may be repeated.",
        rich_help_panel=INPUT,
    ),
]


def explore(
    run: RunFolder,
    port: Port = 0,
    show_instances: ShowInstances = False,
    media: MediaFile = None,
    static: PlainFiles = None,
    policy: DecidedPolicy = None,
    beside: RunsBesideIt = None,
    force: Force = False,
) -> None:
    """Look at a run in a browser, on this machine only; Ctrl-C ends it."""
    with user_mistakes():
        from audit.explorer import require_explorer

        require_explorer()
        from audit.explorer.application import serve
        from audit.explorer.run.opened_run import open_run
        from audit.explorer.run.other_runs import open_beside
        from audit.explorer.run.policy_editor import EditedPolicy
        from audit.explorer.site import Site

        _refuse_unshown(media, show_instances and static is None)
        folders = [run, *(beside or ())]
        names = [name_of_run(folder) for folder in folders]
        day = imprint_of_run(run).day
        if static is not None:
            _refuse_several(folders)
            _refuse_of_window(
                {"--show-instances": show_instances, "--policy": policy, "--port": port}
            )
            _write_shared(run, names[0], day, static, force)
            return
        opened = open_run(
            run, names[0], day=day, show_instances=show_instances, media=media, unsealed=force
        )
        for note in opened.media.notes if opened.media else ():
            typer.echo(note, err=True)
        others = open_beside(opened, folders, names, unsealed=force) if beside else None
        edited = None if policy is None else EditedPolicy(policy)
        if edited is not None:
            edited.decided()  # refused now rather than at the first decision
        serve(Site(opened, edited, others), port, _print_address)


def _refuse_several(runs: list[Path]) -> None:
    if len(runs) > 1:
        raise InputError(
            "--static or --beside is required, not both",
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


def _write_shared(run: Path, name: str, day: date | None, folder: Path, force: bool) -> None:
    """Write the shared view of a run as plain files; no restricted table is read."""
    from audit.explorer.plain_files import write_plain_files
    from audit.explorer.run.opened_run import open_shared

    files = write_plain_files(open_shared(run, name, day=day, unsealed=force), folder)
    typer.echo(f"{files} files: open {folder / 'index.html'}")
