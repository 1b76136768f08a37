"""Raw labels, and likely causes for those that are not valid codes in their table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import polars as pl

from audit.hierarchies.coding import VERSIONS, Integrity
from audit.measure.measure import Measurements, once

FIRST = ("", "0", "00", "000")
"""Prefixes that may have been lost."""
LAST = ("", "0", "00")
"""Suffixes after a dot that may have been lost."""

_NUMBER = re.compile(r"([0-9]+)(?:\.([0-9]+))?")
_HAS_ITS_ZERO = re.compile(r"0[0-9]")
_HAS_DECIMALS = re.compile(r"\.[0-9]*[1-9]")
_WITHOUT_DOT = re.compile(r"[0-9]{4,}(?:\.0)?")
_LONGEST_WHOLE = 3
"""Largest number of digits before the dot of a code."""


def with_dots(labels: Iterable[str]) -> bool:
    """Whether the labels of a table are written with dots; True if there is no evidence.

    >>> with_dots(["401.9", "250.0", "042"]), with_dots(["4019", "250", "42.0"])
    (True, False)
    """
    labels = list(labels)
    dotted = any(_HAS_DECIMALS.search(label) for label in labels)
    return dotted or not any(_WITHOUT_DOT.fullmatch(label) for label in labels)


def as_written(label: str, dotted: bool) -> str:
    """A label without the ``.0`` that a number format added to a whole number.

    >>> as_written("4019.0", False), as_written("401.0", True)
    ('4019', '401.0')
    """
    whole, _, decimals = label.partition(".")
    made = decimals == "0" and whole.isdecimal()
    return whole if made and not _keeps_dot(whole, dotted) else label


def all_with_decimals(labels: Iterable[str]) -> bool:
    """Whether every number among the labels has decimals, as in a column of floating-point numbers.

    >>> all_with_decimals(["401.9", "486.0", "V30"]), all_with_decimals(["401.9", "486"])
    (True, False)
    """
    numbers = [found for label in labels if (found := _NUMBER.fullmatch(label))]
    return bool(numbers) and all(found[2] for found in numbers)


def restored(label: str, dotted: bool, decimals_everywhere: bool = True) -> set[str]:
    """Texts that are the same number, with zeros restored at either end; without the label itself.

    Trailing zeros are lost only after a dot. A label with a leading zero was read as text, and has
    no such texts. A ``.0`` was added to a whole number only if every number of its table has
    decimals.

    >>> sorted(restored("40.0", False)), sorted(restored("0040", False))
    (['00040', '0040', '040', '40'], [])
    >>> "354" in restored("354.0", True), "354" in restored("354.0", True, False)
    (True, False)
    >>> sorted(restored("38", True))
    ['00038.0', '00038.00', '0038.0', '0038.00', '038', '038.0', '038.00', '38.0', '38.00']
    """
    found = _NUMBER.fullmatch(label)
    if found is None or _HAS_ITS_ZERO.match(label):
        return set()
    whole, decimals = found[1], found[2] or ""
    starts = [zeros + whole for zeros in FIRST]
    if not _keeps_dot(whole, dotted):
        return set() if decimals.strip("0") else {*starts} - {label}
    ends = [decimals + zeros for zeros in LAST if decimals + zeros]
    forms = {f"{start}.{end}" for start in starts for end in ends}
    if not decimals or (decimals_everywhere and not decimals.strip("0")):
        forms |= {start for start in starts if len(start) <= _LONGEST_WHOLE}
    return forms - {label}


def _keeps_dot(whole: str, dotted: bool) -> bool:
    return dotted and len(whole) <= _LONGEST_WHOLE


_OF_TEXT = ("unknown_code", "retired_code", "malformed_code", "no_place")
"""Ledger reasons that concern the text of a label."""

_OF_NO_LIST = ("other_version", "no_hierarchy")
"""Ledger reasons that concern the code set of a row; the text of its label was not examined."""

_IS_CODE = pl.col("is_code")
_IS_WITH_ZEROS = pl.col("with_zeros").list.len() > 0
_IS_ELSEWHERE = pl.col("elsewhere").list.len() > 0
_ONLY_LOST_ZERO = ~_IS_CODE & _IS_WITH_ZEROS & ~_IS_ELSEWHERE
_ONLY_WRONG_TABLE = ~_IS_CODE & _IS_ELSEWHERE & ~_IS_WITH_ZEROS
_EITHER = ~_IS_CODE & _IS_WITH_ZEROS & _IS_ELSEWHERE
_SURELY_LOST_ZERO = pl.col("rows").filter(_ONLY_LOST_ZERO).sum().over("code_set")
_SURELY_WRONG_TABLE = pl.col("rows").filter(_ONLY_WRONG_TABLE).sum().over("code_set")

LOST_ZERO = _ONLY_LOST_ZERO | (_EITHER & (_SURELY_LOST_ZERO > _SURELY_WRONG_TABLE))
"""Expression on `read_again`: lost zeros explain why a label is not a code of its table.

If the wrong table is an explanation too, the fault that is the only explanation of more rows of
the code set is chosen; neither at a tie.
"""
WRONG_TABLE = _ONLY_WRONG_TABLE | (_EITHER & (_SURELY_WRONG_TABLE > _SURELY_LOST_ZERO))
"""Expression on `read_again`: the wrong table explains why a label is not a code of its table."""
MAYBE_LOST_ZERO = _IS_WITH_ZEROS & ~LOST_ZERO
"""Expression on `read_again`: a code with zeros restored, but with other readings too."""
FITS_ELSEWHERE_ALONE = ~pl.col("may_be_valid") & _IS_ELSEWHERE
"""Expression on `read_again`: a valid code of another table and not of its own."""


def written(measured: Measurements) -> pl.DataFrame:
    """``line, label, table, node, added, rows, instances``: one row per raw label with a text.

    ``line`` numbers them as `LabelDataset.written` does; ``node`` is null and ``added`` is False
    for labels refused for their text; ``table`` is null where a row says its version alone.
    """
    refused = refused_for(measured, *_OF_TEXT).with_columns(
        node=pl.lit(None, pl.String), added=pl.lit(False)
    )
    columns = ("line", "label", "table", "node", "added", "rows", "instances")
    every = pl.concat([mapped(measured).select(columns), refused.select(columns)])
    of_version = pl.col("table").is_in([*VERSIONS.values()])
    return every.with_columns(table=pl.when(~of_version).then("table"))


def mapped(measured: Measurements) -> pl.DataFrame:
    """`LabelDataset.mappings` with ``line``."""
    return measured.counts.mappings.with_row_index("line")


def refused_for(measured: Measurements, *reasons: str) -> pl.DataFrame:
    """`LabelDataset.refusals` for the given reasons, if any are, with ``line``."""
    numbered = measured.counts.refusals.with_row_index("line", len(measured.counts.mappings))
    return numbered.filter(pl.col("reason").is_in(reasons)) if reasons else numbered


LOOKED_UP = "rows whose codes can be looked up"


def looked_at(measured: Measurements) -> int:
    """Number of rows whose codes can be looked up: neither version nor hierarchy is another one."""
    read, refused = measured.ledger.rows_read, measured.ledger.refused
    return read - sum(refused.get(reason, 0) for reason in _OF_NO_LIST)


def integrity_of(measured: Measurements) -> Integrity:
    """Integrity rules of the hierarchy's codes, which some hierarchies lack."""
    integrity = measured.hierarchy.integrity
    assert integrity is not None, "codes without rules are not read again"
    return integrity


@once
def read_again(measured: Measurements) -> pl.DataFrame:
    """Raw labels as in `written`, with the valid codes that they may stand for if damaged.

    Further columns: ``codes``, the codes that the label is as written; ``with_zeros``, those with
    lost zeros restored; ``elsewhere``, those of another table; ``code_set``, that of its table,
    else of its node, or of the first code with zeros; ``several_sets``, whether the table is
    unknown and the codes with zeros are of several code sets; ``may_be_valid``, whether it may be
    valid as written, also if there is no complete list to tell; ``is_code``, whether it is a code,
    or a heading that may have been one: not one beside which the code with zeros stands.

    A code is valid if it is assignable and is in the hierarchy not only because of a label or a
    model class, or if a dictionary lists it. A label that is valid as written gets no other
    reading. If the table is unknown, codes are taken from the code sets that have valid labels in
    the release.
    """
    integrity = integrity_of(measured)
    codes, labels = _valid_codes(measured), written(measured)
    rows = _as_numbers(labels)
    nodes = labels["node"].to_list()
    listed = codes.union(measured.hierarchy.further_titles)
    lost = [_read_with_zeros(integrity, row, node) for row, node in zip(rows, nodes, strict=True)]
    own = [
        listed.intersection(_as_it_stands(integrity, row, node) if with_zeros is None else ())
        for row, node, with_zeros in zip(rows, nodes, lost, strict=True)
    ]
    shown = _code_sets_shown(integrity, rows, own)
    beside = list(_with_zeros_beside(integrity, rows, nodes, codes))
    zeros = [
        []
        if valid
        else sorted(more | codes & ({code} if code else _with_zeros(integrity, row, shown)))
        for row, valid, code, more in zip(rows, own, lost, beside, strict=True)
    ]
    elsewhere = [
        [] if valid else sorted(codes & _elsewhere(integrity, row.text, row.table))
        for row, valid in zip(rows, own, strict=True)
    ]
    sets = [_code_set(integrity, node, found) for node, found in zip(nodes, zeros, strict=True)]
    never = integrity.never_a_code or (lambda _: False)
    headings = [
        node is not None and code is None and not never(node)
        for node, code in zip(nodes, lost, strict=True)
    ]
    named = pl.Series([bool(found) for found in beside], dtype=pl.Boolean)
    valid = pl.Series([bool(found) for found in own], dtype=pl.Boolean)
    changed = pl.Series([row.text != row.label for row in rows], dtype=pl.Boolean)
    listed_completely = pl.col("code_set").is_in(measured.hierarchy.complete_tables)
    return labels.with_columns(
        pl.coalesce("table", pl.Series(sets, dtype=pl.String)).alias("code_set"),
        codes=_lists(map(sorted, own)),
        with_zeros=_lists(zeros),
        elsewhere=_lists(elsewhere),
        several_sets=pl.col("table").is_null()
        & pl.Series(
            [len({*map(integrity.table_of, found)}) > 1 for found in zeros], dtype=pl.Boolean
        ),
    ).with_columns(
        may_be_valid=valid | (pl.col("node").is_not_null() & ~listed_completely),
        is_code=valid
        | (pl.Series(headings, dtype=pl.Boolean) & ~pl.col("added") & ~changed & ~named),
    )


def read_otherwise(measured: Measurements) -> Iterator[set[str]]:
    """Every valid code, but its node, that each label of `read_again` may be: as it stands or with
    zeros restored, in a column with dots wherever its own dot was."""
    integrity = integrity_of(measured)
    labels, codes = read_again(measured), _valid_codes(measured)
    rows = _as_numbers(labels)
    shown = _code_sets_shown(integrity, rows, labels["codes"])
    for row, node in zip(rows, labels["node"], strict=True):
        forms = [row]
        if row.dotted and not row.table:
            whole = row.label.replace(".", "")
            forms += [replace(row, label=label, dotted=False) for label in (row.label, whole)]
        restored = {code for one in forms for code in _with_zeros(integrity, one, shown)}
        yield codes & restored.union(integrity.readings(row.text, row.table)) - {node}


def zeros_are_lost(measured: Measurements) -> bool:
    """Whether labels lost zeros, in as many rows as are no code otherwise: else a slip looks so."""
    labels = read_again(measured).filter(~_IS_CODE)
    return bool(0 < labels["rows"].sum() <= 2 * labels.filter(LOST_ZERO)["rows"].sum())


def _with_zeros_beside(
    integrity: Integrity, rows: Sequence[_Row], nodes: Iterable[str | None], codes: set[str]
) -> Iterator[set[str]]:
    """Of each label the codes, of any edition, that stand in its table with a zero or two more."""
    every = codes.union(integrity.years or ())
    begun = {
        (row.table, row.text): node
        for row, node in zip(rows, nodes, strict=True)
        if row.text.startswith("0") and node in every
    }
    for row in rows:
        texts = ((row.table, zeros + row.text) for zeros in ("0", "00"))
        yield {begun[one] for one in texts if one in begun}


def _lists(found: Iterable[Iterable[str]]) -> pl.Series:
    """A column of lists of codes; given as lists, Polars would make a column of each first."""
    joined = pl.Series(["\x1f".join(one) for one in found], dtype=pl.String)
    return joined.str.extract_all(r"[^\x1f]+")


def unexplained(measured: Measurements) -> pl.DataFrame:
    """Labels kept although the hierarchy lacks their code, and that neither fault explains.

    Columns ``line, label`` (the code, normalised), ``rows, instances, edition`` (that of the code
    list, null if unknown).
    """
    integrity = measured.hierarchy.integrity
    if integrity is None:
        labels, editions = written(measured).clear(), list[str | None]()
    else:
        labels = read_again(measured).filter(pl.col("added") & ~LOST_ZERO & ~WRONG_TABLE)
        editions = [integrity.editions.get(code_set) for code_set in labels["code_set"]]
    return labels.select(
        "line", "rows", "instances", label="node", edition=pl.Series(editions, dtype=pl.String)
    )


def explained(measured: Measurements) -> set[str]:
    """Nodes of labels that a lost zero or the wrong table explains; left to other checks."""
    if measured.hierarchy.integrity is None:
        return set()
    labels = read_again(measured).filter(LOST_ZERO | WRONG_TABLE)
    return set(labels["node"].drop_nulls())


def lines(measured: Measurements, labels: pl.DataFrame, codes: str) -> pl.DataFrame:
    """``line, label, rows, instances, may_stand_for``, the last from the column ``codes``."""
    hierarchy = measured.hierarchy
    meanings = [
        " or ".join(hierarchy.describe(hierarchy.index(code)) for code in found)
        for found in labels[codes].to_list()
    ]
    may_stand_for = pl.Series("may_stand_for", meanings, dtype=pl.String)
    return labels.select("line", "label", "rows", "instances", may_stand_for)


@dataclass(frozen=True)
class _Row:
    """A label, the text that it is without the ``.0`` of a number, and how its table is written:
    with dots, and with decimals in every number."""

    label: str
    text: str
    table: str | None
    dotted: bool
    decimals_everywhere: bool


def _as_numbers(labels: pl.DataFrame) -> list[_Row]:
    read = [(label.strip(), table) for label, table in labels.select("label", "table").iter_rows()]
    by_table: dict[str | None, list[str]] = {}
    for label, table in read:
        by_table.setdefault(table, []).append(label)
    made = {table: (with_dots(own), all_with_decimals(own)) for table, own in by_table.items()}
    return [
        _Row(label, as_written(label, made[table][0]), table, *made[table]) for label, table in read
    ]


def _code_sets_shown(
    integrity: Integrity, rows: Iterable[_Row], own: Iterable[Iterable[str]]
) -> set[str]:
    """Code sets that labels without a table are valid codes of; all where there are none."""
    sets = [
        {integrity.table_of(code) for code in codes}
        for row, codes in zip(rows, own, strict=True)
        if row.table is None
    ]
    surely = {one for found in sets if len(found) == 1 for one in found if one is not None}
    return surely or set(integrity.zero_tables)


def _as_it_stands(integrity: Integrity, row: _Row, node: str | None) -> Iterable[str]:
    """The codes that a label may be as it stands; the one that its column was read as, if other."""
    codes = integrity.readings(row.text, row.table)
    known = (*codes, *integrity.readings(row.label, row.table))
    if node is None or node in known or integrity.table_of(node) is None:
        return codes
    return [node]


def _read_with_zeros(integrity: Integrity, row: _Row, node: str | None) -> str | None:
    """The code that a number was read as with zeros put back; None if it was not."""
    if node is None or node in integrity.readings(row.label, row.table):
        return None
    digits, number = node.replace(".", ""), row.label.replace(".", "", 1)
    return node if number.isdecimal() and digits.isdecimal() and number != digits else None


def _with_zeros(integrity: Integrity, row: _Row, shown: set[str]) -> set[str]:
    forms = restored(row.label, row.dotted, row.decimals_everywhere)
    codes = {code for form in forms for code in integrity.readings(form, row.table)}
    known = integrity.zero_tables if row.table else shown
    return {code for code in codes if integrity.table_of(code) in known}


def _code_set(integrity: Integrity, node: str | None, zeros: Sequence[str]) -> str | None:
    """That of all codes with zeros, where they agree, else of the node, else of the first code."""
    sets = [integrity.table_of(code) for code in zeros]
    if node is None or len(set(sets)) == 1:
        return next(iter(sets), None if node is None else integrity.table_of(node))
    return integrity.table_of(node)


def _elsewhere(integrity: Integrity, label: str, table: str | None) -> set[str]:
    if table not in integrity.tables:
        return set()
    others = (other for other in integrity.tables if other != table)
    return {code for other in others for code in integrity.readings(label, other)}


def _valid_codes(measured: Measurements) -> set[str]:
    hierarchy, mappings = measured.hierarchy, measured.counts.mappings
    added = set(mappings.filter("added")["node"])
    if measured.model is not None:
        added |= set(measured.model.predictions.ledger.hung_classes.values())
    assignable = zip(hierarchy.nodes, hierarchy.assignable.tolist(), strict=True)
    return {node for node, may in assignable if may} - added
