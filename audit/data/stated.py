"""What is stated of columns, in the names of a table."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import zip_longest

from audit.base.errors import InputError, first_cases
from audit.base.readings import as_typed
from audit.base.table import Table
from audit.data.asking.seen import family
from audit.data.columns import ROW, Columns
from audit.data.layout import matching


def as_written(table: Table, stated: Columns) -> Columns:
    """What is stated, with columns as the table writes them; patterns of labels stay."""
    return replace(
        stated,
        id=tuple(_present(table, name, "--id") for name in stated.id),
        group=stated.group and _present(table, stated.group, "--group"),
        split=stated.split and _present(table, stated.split, "--split"),
        strata=tuple(_present(table, name, "--strata") for name in stated.strata),
    )


def _present(table: Table, name: str, option: str) -> str:
    """The column that a user names; InputError if there is none."""
    if (column := table.column(name)) is not None:
        return column
    if name == ROW and option == "--id":
        return ROW
    hint = f"name another with {option}"
    if "*" in name and option == "--label":
        wanted = re.compile(re.escape(name).replace(r"\*", ".*"), re.IGNORECASE)
        like = [one for one in table.schema if wanted.fullmatch(one.strip())]
        hint = f"# stands for digits, * for nothing: it would take {first_cases(like)}; "
        hint += as_typed({"label": tuple(dict.fromkeys(map(family, like)))})
    found = f"the columns {first_cases(table.schema)}"
    raise InputError(f"a column named {name!r} is required", found=found, where=table, hint=hint)


def taking(table: Table, columns: Columns) -> Columns:
    """Columns with those that patterns of labels take, in which ``#`` stands for digits."""
    found = dict[str, str | None]()
    for pattern, of in zip_longest(columns.label, columns.sets):
        some = matching(table, pattern) if "#" in pattern else []
        found |= dict.fromkeys(some or [_present(table, pattern, "--label")], of)
    return replace(columns, label=tuple(found), sets=tuple(found.values()))
