"""Labels as written, and what explains those that are no code where they were found."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from audit.integrity import Integrity
from audit.measure import Counted

LOST_ZEROS = ("0", "00")
"""What a code may have lost in front when it was read as a number."""

_OF_TEXT = ("unknown_code", "malformed_code", "no_place")
"""Reasons of the ledger that speak about the text of a label."""

_OF_NO_LIST = ("other_version", "no_hierarchy")
"""Reasons of the ledger that speak about the code set of a row: its text was not looked at."""

_CODES = pl.List(pl.String)

_IS_CODE = pl.col("node").is_not_null() & ~pl.col("added")
_IS_WITH_ZEROS = pl.col("with_zeros").list.len() > 0
_IS_ELSEWHERE = pl.col("elsewhere").list.len() > 0
_ONLY_LOST_ZERO = ~_IS_CODE & _IS_WITH_ZEROS & ~_IS_ELSEWHERE
_ONLY_WRONG_TABLE = ~_IS_CODE & _IS_ELSEWHERE & ~_IS_WITH_ZEROS
_EITHER = ~_IS_CODE & _IS_WITH_ZEROS & _IS_ELSEWHERE
_SURELY_LOST_ZERO = pl.col("rows").filter(_ONLY_LOST_ZERO).sum().over("code_set")
_SURELY_WRONG_TABLE = pl.col("rows").filter(_ONLY_WRONG_TABLE).sum().over("code_set")

LOST_ZERO = _ONLY_LOST_ZERO | (_EITHER & (_SURELY_LOST_ZERO > _SURELY_WRONG_TABLE))
"""Of labels `read_again`: a lost 0 explains why it is no code where it stands.

Where the wrong table explains it as well, the fault that is alone in explaining more rows of the
code set does; neither at a tie.
"""
WRONG_TABLE = _ONLY_WRONG_TABLE | (_EITHER & (_SURELY_WRONG_TABLE > _SURELY_LOST_ZERO))
"""Of labels `read_again`: the wrong table explains why it is no code where it stands."""
MAYBE_LOST_ZERO = _IS_WITH_ZEROS & ~LOST_ZERO
"""With a 0 put back it is a code, but it can be read otherwise too."""
FITS_ELSEWHERE_ALONE = ~pl.col("may_be_valid") & _IS_ELSEWHERE
"""It is a valid code of another table and none of its own."""


def integrity_of(measured: Counted) -> Integrity | None:
    """What can be asked of the codes of the hierarchy; None: nothing."""
    coding = measured.hierarchy.coding
    return None if coding is None else coding.integrity


def written(measured: Counted) -> pl.DataFrame:
    """``line, label, table, node, added, rows, instances``: labels with a text, a row a label.

    ``line`` numbers them as `LabelDataset.written` does; ``node`` is null and ``added`` False
    where the label was refused for its text.
    """
    refused = refused_for(measured, *_OF_TEXT).with_columns(
        node=pl.lit(None, pl.String), added=pl.lit(False)
    )
    columns = ("line", "label", "table", "node", "added", "rows", "instances")
    return pl.concat([mapped(measured).select(columns), refused.select(columns)])


def mapped(measured: Counted) -> pl.DataFrame:
    """`LabelDataset.mappings` with its ``line``."""
    return measured.mappings.with_row_index("line")


def refused_for(measured: Counted, *reasons: str) -> pl.DataFrame:
    """`LabelDataset.refusals` for some reasons, each with its ``line``."""
    numbered = measured.refusals.with_row_index("line", len(measured.mappings))
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


def looked_at(measured: Counted) -> LookedAt:
    """The rows whose codes could be looked up."""
    read, refused = measured.ledger.rows_read, measured.ledger.refused
    beside = sum(refused.get(reason, 0) for reason in _OF_NO_LIST)
    return LookedAt(read - beside, beside)


def read_again(measured: Counted, integrity: Integrity) -> pl.DataFrame:
    """Labels as `written`, with the valid codes that they would be if they had been damaged.

    Further columns: ``with_zeros``, the codes that it is with a lost 0 put back; ``elsewhere``,
    those that it is in another table; ``code_set``, where it was found, else what its node, or the
    first code with a 0, belongs to; ``may_be_valid`` as it stands, also where no complete list
    could tell.

    A code is valid where it is assignable and the hierarchy did not get it from a label alone.
    """
    codes, labels = _valid_codes(measured), written(measured)
    read = [(label.strip(), table) for label, table in labels.select("label", "table").iter_rows()]
    zeros = [sorted(codes & _with_zeros(integrity, *one)) for one in read]
    elsewhere = [sorted(codes & _elsewhere(integrity, *one)) for one in read]
    nodes = labels["node"].to_list()
    shaped = [node or next(iter(codes), None) for node, codes in zip(nodes, zeros, strict=True)]
    code_sets = [None if code is None else integrity.table_of(code) for code in shaped]
    listed = pl.col("code_set").is_in(measured.hierarchy.complete_tables)
    valid = pl.Series([node in codes for node in nodes], dtype=pl.Boolean)
    return labels.with_columns(
        pl.Series("with_zeros", zeros, _CODES),
        pl.Series("elsewhere", elsewhere, _CODES),
        pl.coalesce("table", pl.Series(code_sets, dtype=pl.String)).alias("code_set"),
    ).with_columns(may_be_valid=valid | (pl.col("node").is_not_null() & ~listed))


def unexplained(measured: Counted) -> pl.DataFrame:
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


def explained(measured: Counted) -> set[str]:
    """Nodes of labels that a lost 0 or the wrong table explains: other checks tell of these."""
    integrity = integrity_of(measured)
    if integrity is None:
        return set()
    labels = read_again(measured, integrity).filter(LOST_ZERO | WRONG_TABLE)
    return set(labels["node"].drop_nulls())


def lines(measured: Counted, labels: pl.DataFrame, codes: str) -> pl.DataFrame:
    """``line, label, rows, instances, stands_for`` of labels, the last from a column of codes."""
    hierarchy = measured.hierarchy
    told = [
        " or ".join(hierarchy.describe(hierarchy.index(code)) for code in found)
        for found in labels[codes].to_list()
    ]
    stands_for = pl.Series("stands_for", told, dtype=pl.String)
    return labels.select("line", "label", "rows", "instances", stands_for)


def _with_zeros(integrity: Integrity, label: str, table: str | None) -> set[str]:
    if label.startswith("0"):
        return set()
    codes = {code for zeros in LOST_ZEROS for code in integrity.readings(zeros + label, table)}
    return {code for code in codes if integrity.table_of(code) in integrity.zero_tables}


def _elsewhere(integrity: Integrity, label: str, table: str | None) -> set[str]:
    if table not in integrity.tables:
        return set()
    others = (other for other in integrity.tables if other != table)
    return {code for other in others for code in integrity.readings(label, other)}


def _valid_codes(measured: Counted) -> set[str]:
    hierarchy, mappings = measured.hierarchy, measured.mappings
    from_labels = set(mappings.filter("added")["node"])
    assignable = zip(hierarchy.nodes, hierarchy.assignable.tolist(), strict=True)
    return {node for node, may in assignable if may} - from_labels
