"""Several columns of labels: one row per instance, with a label in each of DX1, DX2 ... DX20."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.base.files import called
from audit.base.readings import Reading
from audit.data.column_names import PROCEDURE, says
from audit.data.known_nodes import LEAST_SHARE, sign_between
from audit.data.label_format import Chosen, Columns
from audit.data.label_formats import tables
from audit.data.records import UnclearColumnsError, column_for, fitting
from audit.data.sources import Source

_NUMBER = re.compile(r"[0-9]+")
_VERSION = re.compile(r"(?:^|[^a-z])(?:icd|i)[\W_]*#", re.IGNORECASE)
_NEARLY_BEST = 0.75
"""Share of nodes, of that of the best family, below which one holds something else."""


def families(names: Iterable[str]) -> dict[str, list[str]]:
    """Names that differ in one number, by pattern, in the order of the names.

    9 and 10 behind ``icd`` or ``I`` are versions.

    >>> families(["id", "DX1", "DX3", "dx1_code", "dx2_code", "icd9", "icd10"])
    {'DX#': ['DX1', 'DX3'], 'dx#_code': ['dx1_code', 'dx2_code']}
    """
    found: dict[str, dict[str, str]] = {}
    names = [*names]
    for name in names:
        for number in _NUMBER.finditer(name):
            pattern = f"{name[: number.start()]}#{name[number.end() :]}"
            found.setdefault(pattern, {})[number[0]] = name
    return {
        pattern: list(members.values())
        for pattern, members in found.items()
        if pattern.strip() != "#" and len(members) > 1
        if not (_VERSION.search(pattern) and set(members) <= {"9", "10"})
    } | _lettered(names)


def _lettered(names: Sequence[str]) -> dict[str, list[str]]:
    """Names that differ in a last letter, from A on without a gap; names that were made are none.

    >>> _lettered(["LINEA", "LINEB", "LINEC", "AREA", "lineb"])
    {'LINEA,LINEB,LINEC': ['LINEA', 'LINEB', 'LINEC']}
    >>> _lettered(["column A", "column B", "column C"])
    {}
    """
    stems = dict[str, list[str]]()
    for name in sorted(
        name for name in names if re.fullmatch(r"(?!column [A-Z]$).*([A-Z]|[_ -][a-z])", name)
    ):
        stems.setdefault(name[:-1], []).append(name)
    runs = [own for own in stems.values() if len(own) > 2]
    first = [[one[-1].upper() for one in own] for own in runs]
    letters = [[chr(ord("A") + n) for n in range(len(own))] for own in runs]
    return {",".join(o): o for o, a, b in zip(runs, first, letters, strict=True) if a == b}


def families_of(source: Source) -> dict[str, list[str]]:
    """The families of a table's columns that hold labels, the largest first, by pattern.

    Where nodes are known, cells of each column are nodes, or all of them blank; the pattern fits
    these columns and no other one. Else, or where no cells are nodes, the numbers run from 0 or 1
    without a gap.
    """
    names, shares = list(source.schema), dict[str, float]()
    of_nodes: dict[str, list[str]] = {}
    for pattern, members in families(names).items() if source.nodes else ():
        told = {name: source.share_of_nodes(name) for name in members}
        best = max(filter(None, told.values()), default=0.0)
        least = min(LEAST_SHARE, _NEARLY_BEST * best) if best >= LEAST_SHARE else LEAST_SHARE
        held = [name for name, share in told.items() if share is None or share >= least]
        found = [share for name in held if (share := told[name]) is not None]
        if found and len(held) > 1:
            exact = pattern if held == fitting(pattern, names) else ",".join(held)
            of_nodes[exact], shares[exact] = held, sum(found) / len(found)
    if of_nodes:
        least = _NEARLY_BEST * max(shares.values())
        kept = [one for one in of_nodes if shares[one] >= least]
        return {
            one: of_nodes[one]
            for one in sorted(kept, key=lambda one: -shares[one] * len(of_nodes[one]))
        }
    known = families(names).items()
    return {one: members for one, members in known if "#" in one and _runs(one, members)}


def code_sets_of(source: Source, patterns: Iterable[str]) -> dict[str, str | None]:
    """The only code set that the cells of the columns of each pattern are of, None if unclear.

    Where cells do not say it, and most may be procedures, the name of the columns does.
    """
    every = {one: _code_sets(source, [one], named=True) for one in patterns if source.nodes}
    return {one: sets[0] if sets else None for one, sets in every.items()}


def _code_sets(source: Source, patterns: Iterable[str], *, named: bool) -> list[str]:
    names = [name for one in patterns for name in fitting(one, source.schema)]
    cells = [cell for name in names for cell in source.first_cells(name)]
    called = "procedures" if named and all(says(one, PROCEDURE) for one in names) else None
    return source.nodes.code_sets(cells, called) if source.nodes and cells else []


def named_procedures(source: Source, columns: Columns) -> tuple[Columns, tuple[Reading, ...]]:
    """The columns with the code set of those of labels that are named as procedures, and hold such,
    beside others, or where their cells do not say it; and what is told of them."""
    every = (columns.label or "").split(",")
    coded = source.nodes and source.nodes.coded and not columns.codes
    named = [one for one in every if says(one, PROCEDURE)] if coded else []
    sets = _code_sets(source, named, named=True)
    if sets[:1] != ["procedures"] or (
        named == every and _code_sets(source, named, named=False) == sets
    ):
        return columns, ()
    option = " ".join(f"--codes '{one}=as-written'" for one in named)
    said, why = (
        f"{first_cases(named)} hold procedures",
        "the name says so, and most cells may be such",
    )
    told = Reading(said, why, len(named), option, "columns")
    return replace(columns, codes=dict.fromkeys(named, sets[0])), (told,)


def stating(source: Source, patterns: Iterable[str]) -> str:
    """Options that name the columns of several patterns, and their code sets where these differ."""
    every = list(dict.fromkeys(one for some in patterns for one in some.split(",")))
    sets = code_sets_of(source, every)
    several = len({*sets.values()} - {None}) > 1
    said = {one: table.split("-")[0] for one, table in sets.items() if several and table}
    codes = [f" --codes '{one}={word}'" for one, word in said.items()]
    return f"--label '{','.join(every)}'" + "".join(codes)


def _left_out(source: Source, labels: Sequence[str], pattern: str, rows: Source) -> list[Reading]:
    """What is told of families of columns that hold nodes and are none of the labels."""
    known = families_of(source) if source.nodes else {}
    left = {one: names for one, names in known.items() if not {*names} & {*labels}}
    left = {o: names for o, names in left.items() if any(map(source.share_of_nodes, names))}
    if not left:
        return []
    names = [name for members in left.values() for name in members]
    filled = pl.any_horizontal(pl.col(names).cast(pl.String).str.strip_chars() != "").sum()
    frames = rows.frames(names, tables.AT_ONCE)
    touched = sum(int(frame.select(filled).item()) for frame in frames)
    said = f"columns that are not named are left out: {', '.join(left)}"
    option = stating(source, [pattern, *left])
    return [Reading(said, "most of their cells are nodes too", touched, option)]


def _runs(pattern: str, members: Sequence[str]) -> bool:
    stem, _, end = pattern.partition("#")
    numbers = sorted(int(name[len(stem) : len(name) - len(end)]) for name in members)
    return numbers[0] in (0, 1) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def refuse_one_of_several(column: str, source: Source) -> None:
    """Refuse one of numbered columns, whose siblings would be left out in silence."""
    for pattern, members in families_of(source).items():
        if column in members:
            alone = f"{column[:-1]}[{column[-1]}]"
            raise SchemaError(
                "the columns of all labels must be named",
                found=f"{column!r} alone, of the {len(members)} columns {first_cases(members)}",
                where=source,
                hint=f"--label {pattern!r} names them all, --label {alone!r} this one alone",
            )


def is_pattern(name: str | None, names: Iterable[str] = ()) -> bool:
    """Whether a name is a pattern of names: with ``#``, ``*``, ``?``, ``[...]`` or a comma.

    It is none where one of ``names`` is written like it.

    >>> is_pattern("DX#"), is_pattern("label"), is_pattern("DX[1]"), is_pattern("No #", ["No #"])
    (True, False, True, False)
    """
    pattern = name is not None and bool(re.search(r"[#*?,]|\[.+\]", name))
    return pattern and not called(names, [name or ""])


def choose(source: Source, columns: Columns, rows: Source) -> Chosen:
    """The columns of labels that fit a pattern, and of the id, as `audit.data.label_format.Choose`.

    A blank is not a label; the position of one is that of its column among them, from 1.
    """
    labels = label_columns(source, columns.label)
    cells = [cell for name in labels for cell in source.first_cells(name)]
    sign, by_nodes = sign_between(cells, source.nodes)
    sign = sign if by_nodes else None
    chosen = tables.chosen_rows(source, columns, rows, labels, each=True, sign=sign)
    told = _left_out(source, labels, columns.label, rows) if columns.label else []
    told += tables.told_of_parts(sign, labels, rows, by_nodes=True) if sign else []
    return replace(chosen, readings=(*chosen.readings, *told))


def label_columns(source: Source, pattern: str | None) -> list[str]:
    """The columns of labels: those that fit a pattern, else those of the only family."""
    names = list(source.schema)
    if pattern is not None and not is_pattern(pattern, names):
        found = [column_for("label", pattern, names, source)]
        refuse_one_of_several(found[0], source)
        return found
    lost = [one for one in (pattern or "").split(",") if one and not fitting(one, names)]
    known = families_of(source)
    of_all = next(iter(known.values()), []) if len(known) == 1 else []
    if (found := fitting(pattern, names) if pattern else of_all) and not lost:
        return found
    hint = f"--label {next(iter(known))!r} names some" if known else "name them with --label"
    raise (SchemaError if pattern else UnclearColumnsError)(
        f"columns that fit {(lost or [pattern])[0]!r} are required"
        if pattern
        else "one family of numbered columns, as DX1, DX2, DX3, is required",
        found=f"the columns {first_cases(names)}" if names else "no columns",
        where=source,
        hint=hint,
    )


def matches(source: Source) -> bool:
    """Whether the only numbered columns are named as those of diagnoses or codes are."""
    known = list(families_of(source))
    stem = known[0].partition("#")[0] if len(known) == 1 else ""
    return stem.strip("_ -.").lower() in _STEMS


_STEMS = ("dx", "diag", "diagnosis", "icd", "icd9", "icd10", "code", "label", "icd_code")

FORMAT = tables.table_format(
    name="several",
    title="CSV, TSV or Parquet with several columns of labels, as DX1 to DX20: --label 'DX#'",
    matches=matches,
    choose=choose,
)
