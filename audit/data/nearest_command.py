"""What to add to a command so that a table that no format recognises can be read."""

from __future__ import annotations

import re

from audit.data.label_formats.joined import cells_of, hold_several
from audit.data.numbered_columns import families
from audit.data.records import ID_NAMES
from audit.data.sources import Source

_ID = re.compile(r"(^|_|\b)(id|key|no|nr)$|^(patient|subject|record|case|stay|admission|instance)")
_PERSON = re.compile(r"patient|subject|person")
_LABEL = re.compile(r"label|code|diag|dx|icd|class|term|concept|tag|categor")


def nearest_command(source: Source) -> str:
    """Options that name the columns of ids and labels, as the names and cells suggest them.

    Returns:
        A hint; empty where the source is not a table with two columns.
    """
    names = [name for name in source.schema if name.strip()]
    if len(names) < 2:
        return ""
    pattern, numbered = next(iter(families(names).items()), (None, []))
    id_ = _best(names, _ID, but=numbered) or names[0]
    others = [name for name in names if name != id_]
    label = pattern or _best(others, _LABEL) or _coded(source, others) or others[0]
    free = [name for name in others if name != label and name not in numbered]
    finer = _finer(source, id_, free, label) if _PERSON.search(id_.strip().lower()) else None
    ids = f"{_quoted(finer)} --group {_quoted(id_)}" if finer else _quoted(id_)
    return (
        f"name the columns of ids and labels, perhaps: --id {ids} --label {_quoted(label)}"
        "; audit list formats lists what is read without that"
    )


def _finer(source: Source, person: str, names: list[str], label: str) -> str | None:
    """The first column with more values than that of the persons, as of their stays.

    Where labels stand one a row, a column with another value in each row numbers the rows.
    """
    persons, rows = set(cells_of(source, person)), len(cells_of(source, person))
    most = rows if hold_several(cells_of(source, label)) else rows - 1
    return next(
        (name for name in names if len(persons) < len(set(cells_of(source, name))) <= most), None
    )


def _best(names: list[str], pattern: re.Pattern[str], but: list[str] | None = None) -> str | None:
    free = [name for name in names if name not in (but or [])]
    usual = [name for name in free if name.strip().lower() in ID_NAMES] if pattern is _ID else []
    fitting = [name for name in free if pattern.search(name.strip().lower())]
    return next(iter(usual or fitting), None)


def _coded(source: Source, names: list[str]) -> str | None:
    """The first column most of whose first cells have a digit and a letter or a dot."""
    for name in names:
        cells = [cell for cell in cells_of(source, name) if cell.strip()]
        coded = [cell for cell in cells if re.search(r"\d", cell) and re.search(r"[A-Za-z.]", cell)]
        if 2 * len(coded) > len(cells):
            return name
    return None


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[\w.-]+", name) else "'" + name.replace("'", "'\\''") + "'"
