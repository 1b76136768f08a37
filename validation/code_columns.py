"""How columns of codes are read: drawn from each code set, in each way of writing.

    python -m validation.code_columns [SEEDS]

Prints, by code set and way of writing, in how many columns a row is read as a wrong code in
silence, how many are asked about, which share of rows is left undecided, and how long it takes.
"""

from __future__ import annotations

import sys
import time

import polars as pl

from audit.hierarchies.icd.built_in import SAID
from audit.hierarchies.icd.column_readings import column_readings
from audit.hierarchies.icd.writers import WRITERS
from fixtures.code_columns import CodeColumn, code_columns

SIZES = (3, 10, 30, 30, 100, 100, 300, 300)


def measured(column: CodeColumn) -> dict[str, float | str]:
    """What became of a column; it is asked about where readings of other sets are as likely."""
    began = time.perf_counter()
    found = column_readings(column.labels, list(SAID))
    seconds = time.perf_counter() - began
    sets = {one.sets for one in found}
    asked = len(sets) > 1 or sets == {()}
    wrong = column.misread(found)
    rows = int(found[0].rows) if found and not asked else 0
    return {
        "table": column.table,
        "writer": WRITERS[column.writer].said,
        "columns": 1,
        "asked": float(asked),
        "unread": float(not found),
        "wrong": float(wrong > 0),
        "wrong_rows": wrong,
        "undecided": 0.0 if asked or not found else 1 - rows / len(column.rows),
        "seconds": seconds,
    }


def main(seeds: int) -> None:
    """Print the table, and its sums."""
    columns = (one for seed in range(seeds) for one in code_columns(SIZES, seed))
    rows = pl.DataFrame([measured(column) for column in columns])
    sums = pl.col("columns", "asked", "unread", "wrong").sum()
    means = pl.col("wrong_rows", "undecided", "seconds").mean()
    with pl.Config(tbl_rows=-1, tbl_cols=-1, fmt_str_lengths=60):
        print(rows.group_by("table", "writer", maintain_order=True).agg(sums, means))
        print(rows.select(sums, means))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
