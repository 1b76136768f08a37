"""``audit compare`` and ``audit history``: two runs, or several, beside each other."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from audit.base.errors import InputError
from audit.base.settings import Argument, Option
from audit.cli.options import AsJson, JUnitFile, Quiet
from audit.cli.output import print_json, print_report_place, print_shown, shown_progress
from audit.cli.rendering import imprint_of_run, render_comparison


def compare(
    old: Annotated[Path, Argument("The earlier run, or its result.json.", metavar="OLD")],
    new: Annotated[Path, Argument("The later run, or its result.json.", metavar="NEW")],
    out: Annotated[Path, Option("Folder of the comparison.", writes=True)] = Path(
        "audit-comparison"
    ),
    overwrite: Annotated[bool, Option("Replace an earlier comparison.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    junit: JUnitFile = None,
) -> None:
    """Show what changed between two runs, and why."""
    from audit.cli.ci_output import publish, refuse_foreign_file
    from audit.cli.outcomes import of_comparison
    from audit.runs.compare.comparison import compare_runs, seal_comparison, write_changes
    from audit.runs.folder import COMPARISON, writing_run
    from audit.runs.manifest import RESTRICTED
    from audit.runs.read import read_run

    started = datetime.now(UTC)
    refuse_foreign_file(junit)
    if shared_alone := [run for run in (old, new) if not (run / RESTRICTED).is_dir()]:
        if junit is not None:
            found = f"{shared_alone[0]}, which is shared"
            raise InputError("--junit needs the exact tables of both runs", found=found)
        _compare_shared((old, new), out, started, overwrite=overwrite, as_json=as_json)
    with (
        shown_progress() as progress,
        writing_run(out, overwrite=overwrite, kind=COMPARISON) as folder,
    ):
        progress("comparing")
        comparison = compare_runs(read_run(old), read_run(new))
        shared = comparison.shared()
        write_changes(comparison, shared, folder)
        progress("writing the report")
        unrendered = render_comparison(shared, (old, new), folder / COMPARISON.reports[0])
        command = ["audit", *sys.argv[1:]]
        seal_comparison(folder, comparison, (old, new), command=command, started=started)
    if as_json:
        not_written = [str(error) for error in unrendered]
        print_json({"comparison": str(out), **shared, "not_written": not_written})
    else:
        from audit.cli.terminal.listings import comparison_summary

        print_shown(comparison_summary(shared))
    print_report_place(out / COMPARISON.reports[0], unrendered, as_json=as_json)
    publish(of_comparison(shared, unrendered, imprint_of_run(new).title), junit)
    raise typer.Exit(3 if unrendered else 0)


def _compare_shared(
    runs: tuple[Path, Path], out: Path, started: datetime, *, overwrite: bool, as_json: bool
) -> NoReturn:
    """Write and print what two runs share, side by side, and exit; it needs no exact tables."""
    from audit.results.result import to_json_bytes
    from audit.runs.compare.releases import SIDES
    from audit.runs.folder import COMPARISON, COMPARISON_VERSION, writing_run
    from audit.runs.history import history_of
    from audit.runs.manifest import made_by, write_manifest
    from audit.runs.shared_runs import read_shared_runs
    from reports.compared import history_html

    told = history_of(read_shared_runs(runs), as_named=True)
    page, version = COMPARISON.reports[0], {"schema_version": COMPARISON_VERSION}
    with writing_run(out, overwrite=overwrite, kind=COMPARISON) as folder:
        (folder / COMPARISON.content).write_bytes(to_json_bytes(version | told))
        (folder / page).write_bytes(history_html(told).encode())
        inputs = [{"role": role, "path": str(run)} for role, run in zip(SIDES, runs, strict=True)]
        made = made_by(["audit", *sys.argv[1:]], started)
        write_manifest(folder, {**version, "identity": {}, "inputs": inputs, **made})
    _print_history(told, as_json=as_json)
    print_report_place(out / page, [], as_json=as_json)
    raise typer.Exit


def _print_history(told: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(told)
    else:
        from audit.cli.terminal.listings import history_summary

        print_shown(history_summary(told))


def history(
    runs: Annotated[
        tuple[Path, ...], Argument("The runs, or result.json of each.", metavar="RUN...")
    ],
    out: Annotated[
        Path | None,
        Option("Write the history as a page of HTML.", metavar="FILE", writes=True),
    ] = None,
    as_named: Annotated[
        bool, Option("Keep the runs in the order in which they are named.")
    ] = False,
    overwrite: Annotated[bool, Option("Replace an earlier FILE.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Show how checks, metrics and findings changed over several runs."""
    from audit.base.disk import replacing
    from audit.runs.history import history_of
    from audit.runs.shared_runs import read_shared_runs
    from reports.compared import history_html

    told = history_of(read_shared_runs(runs), as_named=as_named)
    if out is not None:
        with replacing(out, overwrite=overwrite) as file:
            file.write_bytes(history_html(told).encode())
    _print_history(told, as_json=as_json)
