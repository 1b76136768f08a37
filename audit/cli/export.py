"""``audit export``: write a run as tables, or in the layout of another program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from audit.base.errors import InputError
from audit.base.plurals import counted
from audit.base.settings import Option
from audit.cli.options import Force, RunFolder
from audit.cli.verify import reading_runs

if TYPE_CHECKING:
    from audit.runs.table_export import Exported


def export(
    run: RunFolder,
    interface: Annotated[
        Path | None,
        Option(
            "Folder for the data files of the paper's interface; they are not for sharing.",
            metavar="DIR",
            writes=True,
        ),
    ] = None,
    csv: Annotated[
        Path | None,
        Option("Folder for a CSV file of each table that is shared.", metavar="DIR", writes=True),
    ] = None,
    xlsx: Annotated[
        Path | None,
        Option("Workbook with a sheet for each table that is shared.", metavar="FILE", writes=True),
    ] = None,
    parquet: Annotated[
        Path | None,
        Option(
            "Parquet file for the whole table of pairs, with --restricted; it is not for sharing.",
            metavar="FILE",
            writes=True,
        ),
    ] = None,
    restricted: Annotated[
        bool, Option("Say that you know that exact counts are exported, for --parquet.")
    ] = False,
    overwrite: Annotated[bool, Option("Replace what was exported there earlier.")] = False,
    force: Force = False,
) -> None:
    """Write what a run shares as tables, or its instances for the published interface."""
    if interface is csv is xlsx is parquet is None:
        raise InputError(
            "a folder or file to export to is required",
            found="none",
            hint="--csv DIR, --xlsx FILE, --interface DIR or --restricted --parquet FILE",
        )
    if restricted != (parquet is not None):
        raise InputError(
            "the table of pairs has exact counts and is exported only with --restricted",
            found="--restricted alone" if restricted else "--parquet alone",
            hint="audit export RUN --restricted --parquet FILE",
        )
    with reading_runs([run] if interface or parquet else [], None, force):
        if csv is not None or xlsx is not None:
            _export_tables(run, csv, xlsx, overwrite=overwrite, forced=force)
        if parquet is not None:
            from audit.runs.table_export import write_pairs

            pairs = write_pairs(run, parquet, overwrite=overwrite)
            typer.echo(f"{parquet}: {counted(pairs, 'pairs')}, exact counts, not for sharing.")
        if interface is not None:
            from audit.runs.table_export import export_interface

            exported = export_interface(run, interface, overwrite=overwrite, unsealed=True)
            typer.echo(f"{interface}: {_sentence(exported)}")


def _export_tables(
    run: Path, csv: Path | None, xlsx: Path | None, *, overwrite: bool, forced: bool
) -> None:
    """Write the tables of ``result.json``; a copy without ``restricted/`` has all that they say."""
    from audit.runs.shared_runs import read_shared_runs
    from audit.runs.table_export import exported_tables, write_csv_folder, write_xlsx

    (read,) = read_shared_runs([run], forced=forced)
    for fault in read.faults:
        typer.echo(f"Continued in spite of: {fault}", err=True)
    tables = exported_tables(read.shared)
    sentence = f"{counted(len(tables), 'tables')} of what the run shares."
    if csv is not None:
        write_csv_folder(tables, csv, overwrite=overwrite)
        typer.echo(f"{csv}: {sentence}")
    if xlsx is not None:
        write_xlsx(tables, xlsx, overwrite=overwrite)
        typer.echo(f"{xlsx}: {sentence}")


def _sentence(exported: Exported) -> str:
    parts = [
        counted(exported.instances, "instances"),
        counted(exported.nodes, "nodes"),
        counted(exported.pairs, "pairs"),
    ]
    sentence = f"{', '.join(parts)}; exact data of single instances, not for sharing."
    if not exported.scored:
        sentence += " The run has no scores, so there is no scores.json."
    if exported.left_out:
        sentence += (
            f" Left out: {counted(exported.left_out, 'instances')} without labels and scores."
        )
    if exported.several_parents:
        drawn = counted(exported.several_parents, "nodes")
        sentence += f" The interface draws one parent of {drawn} with several."
    return sentence
