"""Labels as written, and what explains those that are no code where they were found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import polars as pl

from audit.checks.shared.read_as_numbers import all_with_decimals, as_written, restored, with_dots
from audit.hierarchies.integrity import Integrity
from audit.measure.measure import Measurements

_OF_TEXT = ("unknown_code", "malformed_code", "no_place")
"""Reasons of the ledger that speak about the text of a label."""

_OF_NO_LIST = ("other_version", "no_hierarchy")
"""Reasons of the ledger that speak about the code set of a row: its text was not looked at."""

_CODES = pl.List(pl.String)

_IS_CODE = pl.col("is_code")
_IS_WITH_ZEROS = pl.col("with_zeros").list.len() > 0
_IS_ELSEWHERE = pl.col("elsewhere").list.len() > 0
_ONLY_LOST_ZERO = ~_IS_CODE & _IS_WITH_ZEROS & ~_IS_ELSEWHERE
_ONLY_WRONG_TABLE = ~_IS_CODE & _IS_ELSEWHERE & ~_IS_WITH_ZEROS
_EITHER = ~_IS_CODE & _IS_WITH_ZEROS & _IS_ELSEWHERE
_SURELY_LOST_ZERO = pl.col("rows").filter(_ONLY_LOST_ZERO).sum().over("code_set")
_SURELY_WRONG_TABLE = pl.col("rows").filter(_ONLY_WRONG_TABLE).sum().over("code_set")

LOST_ZERO = _ONLY_LOST_ZERO | (_EITHER & (_SURELY_LOST_ZERO > _SURELY_WRONG_TABLE))
"""Of labels `read_again`: lost zeros explain why it is no code where it stands.

Where the wrong table explains it as well, the fault that is alone in explaining more rows of the
code set does; neither at a tie.
"""
WRONG_TABLE = _ONLY_WRONG_TABLE | (_EITHER & (_SURELY_WRONG_TABLE > _SURELY_LOST_ZERO))
"""Of labels `read_again`: the wrong table explains why it is no code where it stands."""
MAYBE_LOST_ZERO = _IS_WITH_ZEROS & ~LOST_ZERO
"""With a 0 put back it is a code, but it can be read otherwise too."""
FITS_ELSEWHERE_ALONE = ~pl.col("may_be_valid") & _IS_ELSEWHERE
"""It is a valid code of another table and none of its own."""


def integrity_of(measured: Measurements) -> Integrity | None:
    """What can be asked of the codes of the hierarchy; None: nothing."""
    coding = measured.hierarchy.coding
    return None if coding is None else coding.integrity


def written(measured: Measurements) -> pl.DataFrame:
    """``line, label, table, node, added, rows, instances``: labels with a text, a row a label.

    ``line`` numbers them as `LabelDataset.written` does; ``node`` is null and ``added`` False
    where the label was refused for its text.
    """
    refused = refused_for(measured, *_OF_TEXT).with_columns(
        node=pl.lit(None, pl.String), added=pl.lit(False)
    )
    columns = ("line", "label", "table", "node", "added", "rows", "instances")
    return pl.concat([mapped(measured).select(columns), refused.select(columns)])


def mapped(measured: Measurements) -> pl.DataFrame:
    """`LabelDataset.mappings` with its ``line``."""
    return measured.counts.mappings.with_row_index("line")


def refused_for(measured: Measurements, *reasons: str) -> pl.DataFrame:
    """`LabelDataset.refusals` for some reasons, each with its ``line``."""
    numbered = measured.counts.refusals.with_row_index("line", len(measured.counts.mappings))
    return numbered.filter(pl.col("reason").is_in(reasons))


@dataclass(frozen=True)
class LookedAt:
    """How many rows the codes at hand could be asked about, and how many not.

    Args:
        rows: Rows read, without those beside.
        beside: Rows refused because they belong to another version or classification.
    """

    rows: int
    beside: int

    @property
    def unit(self) -> str:
        """What is counted, for the denominator of a check."""
        return f"rows; {self._beside}" if self.beside else "rows"

    @property
    def why_not(self) -> str:
        """Why a check of rows does not apply; empty where it does."""
        if self.rows:
            return ""
        return self._beside if self.beside else "no row was read"

    @property
    def _beside(self) -> str:
        return f"{self.beside:,} could not be looked at, for no list of their codes is at hand"


def looked_at(measured: Measurements) -> LookedAt:
    """The rows whose codes could be looked up."""
    read, refused = measured.ledger.rows_read, measured.ledger.refused
    beside = sum(refused.get(reason, 0) for reason in _OF_NO_LIST)
    return LookedAt(read - beside, beside)


_READ = WeakKeyDictionary[Measurements, pl.DataFrame]()
"""Labels `read_again`, by their measurements."""


def read_again(measured: Measurements, integrity: Integrity) -> pl.DataFrame:
    """Labels as `written`, with the valid codes that they may be if they were damaged.

    Further columns: ``codes``, those that it is as it stands; ``with_zeros``, those that it is with
    lost zeros put back; ``elsewhere``, those that it is in another table; ``code_set``, where it
    was found, else that of its node, or of the first code with zeros; ``several_sets``: whether no
    table was known and the codes with zeros are of several code sets; ``may_be_valid`` as it
    stands, also where no complete list could tell; ``is_code``: whether it is a code, or a heading
    that may have been one.

    A code is valid where it is assignable and the hierarchy did not get it from a label or a class
    alone, or
    where a dictionary lists it. What is valid as it stands is not read otherwise. Where no table is
    known, codes of the code sets are taken that labels of the release are valid codes of.

    Read once: several checks ask for it, and get the same frame while the measurements live.

    Args:
        measured: The measurements.
        integrity: That of its hierarchy.
    """
    if measured not in _READ:
        _READ[measured] = _read(measured, integrity)
    return _READ[measured]


def _read(measured: Measurements, integrity: Integrity) -> pl.DataFrame:
    codes, labels = _valid_codes(measured), written(measured)
    rows = _as_numbers(labels)
    nodes = labels["node"].to_list()
    listed = codes.union(measured.hierarchy.further_titles)
    own = [listed.intersection(integrity.readings(row.text, row.table)) for row in rows]
    shown = _code_sets_shown(integrity, rows, own)
    zeros = [
        [] if valid else sorted(codes & _with_zeros(integrity, row, shown))
        for row, valid in zip(rows, own, strict=True)
    ]
    elsewhere = [
        [] if valid else sorted(codes & _elsewhere(integrity, row.text, row.table))
        for row, valid in zip(rows, own, strict=True)
    ]
    sets = [_code_set(integrity, node, found) for node, found in zip(nodes, zeros, strict=True)]
    never = integrity.never_a_code or (lambda _: False)
    headings = [node is not None and not never(node) for node in nodes]
    valid = pl.Series([bool(found) for found in own], dtype=pl.Boolean)
    changed = pl.Series([row.text != row.label for row in rows], dtype=pl.Boolean)
    listed_completely = pl.col("code_set").is_in(measured.hierarchy.complete_tables)
    return labels.with_columns(
        pl.Series("codes", [sorted(found) for found in own], _CODES),
        pl.Series("with_zeros", zeros, _CODES),
        pl.Series("elsewhere", elsewhere, _CODES),
        pl.coalesce("table", pl.Series(sets, dtype=pl.String)).alias("code_set"),
        several_sets=pl.col("table").is_null()
        & pl.Series(
            [len({*map(integrity.table_of, found)}) > 1 for found in zeros], dtype=pl.Boolean
        ),
    ).with_columns(
        may_be_valid=valid | (pl.col("node").is_not_null() & ~listed_completely),
        is_code=valid | (pl.Series(headings, dtype=pl.Boolean) & ~pl.col("added") & ~changed),
    )


def unexplained(measured: Measurements) -> pl.DataFrame:
    """Codes kept though the hierarchy lacks them, where neither fault explains it.

    Columns ``line, label`` (the code as it is spelled), ``rows, instances, edition``: that of the
    list, null where it is not known.
    """
    integrity = integrity_of(measured)
    if integrity is None:
        labels, editions = written(measured).clear(), list[str | None]()
    else:
        again = read_again(measured, integrity)
        labels = again.filter(pl.col("added") & ~LOST_ZERO & ~WRONG_TABLE)
        editions = [integrity.editions.get(code_set) for code_set in labels["code_set"]]
    return labels.select(
        "line", "rows", "instances", label="node", edition=pl.Series(editions, dtype=pl.String)
    )


def explained(measured: Measurements) -> set[str]:
    """Nodes of labels that a lost 0 or the wrong table explains: other checks tell of these."""
    integrity = integrity_of(measured)
    if integrity is None:
        return set()
    labels = read_again(measured, integrity).filter(LOST_ZERO | WRONG_TABLE)
    return set(labels["node"].drop_nulls())


def lines(measured: Measurements, labels: pl.DataFrame, codes: str) -> pl.DataFrame:
    """``line, label, rows, instances, may_stand_for`` of labels, the last from some codes."""
    hierarchy = measured.hierarchy
    told = [
        " or ".join(hierarchy.describe(hierarchy.index(code)) for code in found)
        for found in labels[codes].to_list()
    ]
    may_stand_for = pl.Series("may_stand_for", told, dtype=pl.String)
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
    integrity: Integrity, rows: Iterable[_Row], own: Iterable[set[str]]
) -> set[str]:
    """Code sets that labels without a table are valid codes of; all where there are none."""
    sets = [
        {integrity.table_of(code) for code in codes}
        for row, codes in zip(rows, own, strict=True)
        if row.table is None
    ]
    surely = {one for found in sets if len(found) == 1 for one in found if one is not None}
    return surely or set(integrity.zero_tables)


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
