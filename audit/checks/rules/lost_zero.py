"""lost_zero: codes that were read as numbers and lost leading or trailing zeros."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import FloatArray, IntArray, Sparse
from audit.base.declared import NONE, Columns, chance, count
from audit.checks.check import first_unmet
from audit.checks.rows import Row, Rows, check_of_rows
from audit.checks.shared.carriers import written_with
from audit.checks.shared.evidence import LABEL_PARTS, OF_SOME_ROWS
from audit.checks.shared.label_findings import label_parts, of_labels
from audit.checks.shared.labels_as_written import (
    LOST_ZERO,
    MAYBE_LOST_ZERO,
    lines,
    read_again,
    written,
    zeros_are_lost,
)
from audit.checks.shared.proposals import by_candidates, near_codes
from audit.engine.statistics.association import log_lift
from audit.hierarchies.coding import Integrity
from audit.measure.measure import Measurements
from audit.results.findings import times_limit

_CURATOR = "Export the codes again as text: somewhere on the way they were read as numbers."
_DATA_USER = (
    "Until this is corrected, do not count codes that would be other codes with zeros at their "
    "ends."
)
CLEARLY = math.log(2)
"""Least difference of log evidence between the best reading and any other in a record."""

_FITTING = {"line": pl.UInt32, "fits_best": pl.String, "fitting": pl.Int64}


def _lost(measured: Measurements) -> Rows:
    """Report labels that are a code only with zeros restored, or a code set without a leading 0.

    For labels with several readings, the finding says which one fits the other codes of the
    records; with counts only, no reading is preferred.
    """
    integrity, read = measured.hierarchy.integrity, measured.ledger.rows_read
    lose = integrity is not None and bool(integrity.zero_tables)
    return Rows(
        read,
        "rows",
        _findings(measured, integrity if lose else None) if read else (),
        first_unmet(
            (
                lose or measured.hierarchy.two_titles,
                "no code of this hierarchy is known to start with 0",
            )
        ),
    )


def _findings(measured: Measurements, integrity: Integrity | None) -> Iterator[Row]:
    if integrity is not None:
        labels, fits = read_again(measured), None
        if measured.instances is not None:
            fits = fits_best(measured, labels, labels.filter(LOST_ZERO))
        for table in integrity.zero_tables:
            own = labels.filter((pl.col("code_set") == table) & ~pl.col("several_sets"))
            yield from _of_code_set(measured, table, own, fits)
        several, read = labels.filter("several_sets"), labels.filter(pl.col("table").is_null())
        rows = int(read["rows"].sum())
        yield from _rows(measured, "several", several, rows, fits, named="no known table")
    if measured.hierarchy.two_titles:
        yield from _two_titles(measured, measured.hierarchy.two_titles)


def _two_titles(measured: Measurements, titles: Mapping[str, tuple[str, ...]]) -> Iterator[Row]:
    """A row on the codes for which a dictionary has several titles, carried or not."""
    named = [" or ".join(several) for several in titles.values()]
    codes = pl.DataFrame({"code": [*titles], "may_stand_for": named})
    as_written = pl.when(pl.col("node").is_in([*titles])).then("node").otherwise("label")
    found = codes.join(written(measured).with_columns(code=as_written), on="code", how="left")
    labels = found.with_columns(
        pl.coalesce("label", "code").alias("label"), pl.col("rows", "instances").fill_null(0)
    )
    yield from of_labels(
        measured,
        labels,
        key="dictionary",
        severity="error" if labels["rows"].sum() else "warning",
        sentence="A dictionary has several titles for {labels} {labels|code|codes}, as where two "
        "codes became one that lost their zeros; {rows} of {of} rows ({share}) "
        "{rows|carries|carry} {labels|it|one of them}.",
        curator="Give a dictionary in which each code has one title, with its codes as text, and "
        "check whether the data lost zeros in the same way.",
        data_user="Do not trust these codes: rows of two diseases may be counted as one.",
    )


def _of_code_set(
    measured: Measurements, table: str, labels: pl.DataFrame, fits: pl.DataFrame | None
) -> Iterator[Row]:
    read, bins = int(labels["rows"].sum()), measured.rounding.bins("rows")
    zeros = _rows_of(labels, pl.col("label").str.strip_chars_start().str.starts_with("0"))
    told, most = bins.at_worst(read, zeros)
    expected = measured.policy.leading_zero_share.value * told
    if zeros > bins.width or expected - most < measured.policy.leading_zero_rows.value:
        yield from _rows(measured, table, labels, read, fits, named=table)
    else:
        yield _none_left(measured, table, labels, read, int(expected))


def _rows(
    measured: Measurements,
    key: str,
    labels: pl.DataFrame,
    read: int,
    fits: pl.DataFrame | None,
    *,
    named: str,
) -> Iterator[Row]:
    """A row on the labels that are a code only with zeros put back; none without such."""
    lost = labels.filter(LOST_ZERO)
    written = lines(measured, lost, "with_zeros")
    sentence, several = _several(lost, fits)
    yield from of_labels(
        measured,
        written if fits is None else written.join(fits, on="line", how="left"),
        key=key,
        severity="warning",
        sentence=f"{{rows}} of {{of}} rows of {named} ({{share}}) "
        "{rows|has a label that is a code|have labels that are codes} only with zeros put back "
        "({labels} labels); {ambiguous} more {ambiguous|has|have} other readings too and "
        f"{{ambiguous|is|are}} not counted.{sentence}",
        curator=_CURATOR,
        data_user=_DATA_USER,
        of=read,
        more={"ambiguous": _rows_of(labels, MAYBE_LOST_ZERO), **several},
        proposes=partial(_with_zeros, measured, lost),
    )


def _with_zeros(measured: Measurements, lost: pl.DataFrame) -> pl.DataFrame:
    """The code with its zeros, for labels that are a code only with them."""
    if not zeros_are_lost(measured):
        return near_codes(measured, lost)
    return by_candidates(
        measured,
        lost.with_columns(candidates="with_zeros"),
        "it is a code only with zeros that were lost, and may be one of several",
        of_one="it is a code only with the zeros that were lost, and only this one",
    )


def _several(lost: pl.DataFrame, fits: pl.DataFrame | None) -> tuple[str, dict[str, int]]:
    """A sentence on the labels with several readings, and its evidence; nothing without such."""
    several = lost.filter(pl.col("with_zeros").list.len() > 1)
    if several.is_empty():
        return "", {}
    can, number = " {several} labels can be read in several ways", {"several": len(several)}
    if fits is None:
        return (
            f"{can}, and none is preferred, since counts do not keep the other codes of a record.",
            number,
        )
    fitted = len(several.join(fits, on="line", how="semi"))
    return (
        f"{can}[; one reading fits the other codes of most records best for {{fitted}} labels].",
        {**number, "fitted": fitted},
    )


def _none_left(
    measured: Measurements, table: str, labels: pl.DataFrame, read: int, expected: int
) -> Row:
    """That no told row of a code set starts with 0, with the labels that could.

    Its cases are the instances with such a label; none if the rows that should start with 0 are
    missing from the data.
    """
    could = labels.filter(LOST_ZERO | MAYBE_LOST_ZERO)
    parts = label_parts(lines(measured, could, "with_zeros"))
    width, rows = measured.rounding.width, f"of {{of}} rows of {table}"
    none = f"Fewer than {width + 1} {rows} start" if width else f"None {rows} starts"
    return Row(
        severity="warning",
        nodes=tuple(part.nodes[0] for part in parts),
        sentence=f"{none} with 0[, where at least "
        "{expected_rows} would be expected]; {rows} rows {rows|has a label that is a code|have "
        "labels that are codes} only with zeros put back, and {ambiguous} more "
        "{ambiguous|has|have} other readings too.",
        evidence={
            "of": read,
            "expected_rows": expected,
            "rows": _rows_of(labels, LOST_ZERO),
            "ambiguous": _rows_of(labels, MAYBE_LOST_ZERO),
        },
        curator=_CURATOR,
        data_user=_DATA_USER,
        touched=read,
        beyond=times_limit(expected, measured.policy.leading_zero_rows.value),
        parts=parts,
        key=(table, "all"),
        cases=partial(written_with, measured, could),
        proposes=partial(_with_zeros, measured, labels.filter(LOST_ZERO)),
    )


def _rows_of(labels: pl.DataFrame, which: pl.Expr) -> int:
    return int(labels.filter(which)["rows"].sum())


def fits_best(measured: Measurements, labels: pl.DataFrame, asked: pl.DataFrame) -> pl.DataFrame:
    """``line, fits_best, fitting`` of labels with one reading that fits better than all others.

    The evidence of a record for a reading is the sum, over its undamaged labels, of how much more
    often than by chance they occur beside that code in undamaged rows (`log_lift`). A record fits
    a reading if the evidence exceeds that of any other reading by `CLEARLY`. A reading is returned
    if more than half of the records with the label fit it; ``fitting`` is their number.

    Args:
        labels: All labels, as returned by `read_again`.
        asked: The labels in question; those with a single code ``with_zeros`` are skipped.
    """
    asked = asked.filter(pl.col("with_zeros").list.len() > 1)
    if asked.is_empty():
        return pl.DataFrame(schema=_FITTING)
    undamaged = labels.filter(pl.col("may_be_valid") & (pl.col("with_zeros").list.len() == 0))
    readings = asked["with_zeros"].explode().unique().sort().to_list()
    beside = _carried(measured, undamaged)
    spoken = csr_array(beside @ log_lift(beside, _unambiguous_codes(undamaged, readings)))
    instances = dict(_instances(measured, asked).group_by("line").agg("instance").iter_rows())
    place = {code: column for column, code in enumerate(readings)}
    bins, found = measured.rounding.bins("instances"), []
    for line, codes in asked.select("line", "with_zeros").iter_rows():
        of_line = np.array(sorted(instances.get(line, [])), np.int64)
        fitting = _fitting(spoken[of_line][:, [place[code] for code in codes]].toarray())
        best = int(fitting.argmax())
        told, of = bins.at_worst(fitting[best], len(of_line))
        if 2 * told > of:
            found.append((line, codes[best], int(fitting[best])))
    return pl.DataFrame(found, _FITTING, orient="row")


def _instances(measured: Measurements, labels: pl.DataFrame) -> pl.DataFrame:
    """``instance, line`` of labels, a row each time that an instance has one."""
    return measured.loaded.dataset.written.filter(pl.col("line").is_in(labels["line"].implode()))


def _carried(measured: Measurements, labels: pl.DataFrame) -> Sparse:
    """Labels of instances, 0 or 1, shape (n_instances, n_labels), canonical CSR."""
    places = labels.select("line").with_row_index("place")
    rows = _instances(measured, labels).join(places, on="line").sort("instance", "place")
    at = rows["instance"].to_numpy(), rows["place"].to_numpy()
    shape = (measured.n_instances, len(labels))
    return csr_array((np.ones(len(rows), np.int64), at), shape=shape)


def _unambiguous_codes(labels: pl.DataFrame, readings: list[str]) -> Sparse:
    """1 where a label can be one code alone as it stands, shape (n_labels, n_readings)."""
    codes = pl.DataFrame({"code": readings}, {"code": pl.String}).with_row_index("reading")
    alone = labels.with_row_index("place").filter(pl.col("codes").list.len() == 1)
    named = alone.select("place", code=pl.col("codes").list.first()).join(codes, on="code")
    at = named["place"].to_numpy(), named["reading"].to_numpy()
    return csr_array((np.ones(len(named), np.int64), at), shape=(len(labels), len(readings)))


def _fitting(spoken: FloatArray) -> IntArray:
    """How many records fit each reading, of what they speak for each, (n_records, n_readings)."""
    first_two = -np.sort(-spoken, axis=1)[:, :2]
    clear = first_two[:, 0] - first_two[:, 1] >= CLEARLY
    return np.bincount(spoken[clear].argmax(axis=1), minlength=spoken.shape[1]).astype(np.int64)


CHECK = check_of_rows(
    "lost_zero",
    "Did codes lose leading or trailing zeros?",
    _lost,
    counts_with=("leading_zero_share", "leading_zero_rows"),
    evidence=Columns(
        OF_SOME_ROWS,
        count("ambiguous", of="rows"),
        count("several fitted", of=NONE),
        chance("expected_rows"),
    ),
    of_parts=LABEL_PARTS,
    denominator="rows",
    proposes=True,
)
