"""``audit suppress``: which counts of a table must be withheld beside a small one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from audit.base.limits import USUAL, limits
from audit.base.settings import Argument, HierarchyShape, Option
from audit.cli.options import PrintJson
from audit.cli.output import print_json, print_shown, shown_progress
from audit.runs.settings import Limits


@dataclass(frozen=True, kw_only=True)
class CountTable:
    """How a table of counts is read, and what is a small count in it."""

    min_cell: Annotated[int, Option("Smallest count that may be shown.", least=1, most=10**9)] = 11
    node: Annotated[str | None, Option("Column of the node.", metavar="COL")] = None
    count: Annotated[str | None, Option("Column of the count.", metavar="COL")] = None
    period: Annotated[
        str | None,
        Option(
            "Column of the period; small differences between periods are withheld too.",
            metavar="COL",
        ),
    ] = None
    several: Annotated[
        bool, Option("A unit may be counted at several nodes, as patients with several codes are.")
    ] = False


def suppress(
    counts: Annotated[
        str, Argument("Table of counts, a row for each node: CSV, Parquet or a workbook.")
    ],
    hierarchy: Annotated[str, Option("Name of a built-in hierarchy, or a hierarchy file.")],
    shape: HierarchyShape = HierarchyShape(),  # noqa: B008 - frozen
    how: CountTable = CountTable(),
    out: Annotated[
        Path | None,
        Option(
            "CSV or Parquet file of what may be shared; what is withheld has no count.",
            metavar="FILE",
            writes=True,
        ),
    ] = None,
    why: Annotated[
        Path | None,
        Option(
            "CSV or Parquet file of all counts, and why each is withheld; not for sharing.",
            metavar="FILE",
            writes=True,
        ),
    ] = None,
    overwrite: Annotated[bool, Option("Replace earlier files.")] = False,
    as_json: PrintJson = False,
    limit: Limits = USUAL,
) -> None:
    """Tell which counts of a table must be withheld so that nobody can work out a small one."""
    from audit.base.errors import InputError
    from audit.hierarchies.reading import load_hierarchy
    from audit.runs import suppression

    if other := [file for file in (out, why) if file and file.suffix not in (".csv", ".parquet")]:
        raise InputError("a file that ends in .csv or .parquet is required", found=str(other[0]))
    with shown_progress() as progress, limits(**limit):
        progress("reading")
        tree = load_hierarchy(hierarchy, **shape.shape())
        progress("withholding")
        told = suppression.suppress(counts, tree, **vars(how))
    withheld = suppression.withheld(told)
    if as_json:
        print_json({"counts": len(told), "withheld": withheld, "rows": told.to_dicts()})
    else:
        from audit.cli.terminal.listings import suppression_summary

        print_shown(suppression_summary(told, withheld, tree))
    for file, table in ((out, suppression.shareable(told)), (why, told)):
        if file is not None:
            suppression.write_table(table, file, overwrite=overwrite)
            if not as_json:
                typer.echo(f"{'May be shared' if file is out else 'Not for sharing'}: {file}")
