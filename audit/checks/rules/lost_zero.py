"""lost_zero: codes that were read as numbers and lost leading or trailing zeros."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import polars as pl

from audit.base.declared import Columns, chance, count
from audit.checks.check import first_unmet
from audit.checks.rows import Row, Rows
from audit.checks.shared.carriers import written_with
from audit.checks.shared.evidence import OF_SOME_ROWS
from audit.checks.shared.label_findings import (
    check_of_labels,
    label_parts,
    of_labels,
    with_meanings,
)
from audit.checks.shared.proposals import by_candidates, near_codes
from audit.checks.shared.written_labels import (
    LEAST_HEADINGS,
    LOST_ZERO,
    MAYBE_LOST_ZERO,
    READ,
    ZEROS_BEFORE,
    integrity_of,
    rows_of,
    written_labels,
    zeros_are_lost,
)
from audit.measure.measure import Measurements
from audit.results.findings import times_limit

_CURATOR = "Export the codes again as text: somewhere on the way they were read as numbers."
_DATA_USER = (
    "Until this is corrected, do not count codes that would be other codes with zeros at their "
    "ends."
)


def _lost(measured: Measurements) -> Rows:
    """Report labels that are a code only with zeros restored, or a code set without a leading 0."""
    read, known = measured.ledger.rows_read, "no code of this hierarchy is known to start with 0"
    why_not = first_unmet(
        (integrity_of(measured).zero_tables or measured.hierarchy.two_titles, known)
    )
    return Rows(read, "rows", _findings(measured) if read else (), why_not)


def _findings(measured: Measurements) -> Iterator[Row]:
    labels = written_labels(measured).filter(READ)
    for table in integrity_of(measured).zero_tables:
        own = labels.filter((pl.col("code_set") == table) & ~pl.col("several_sets"))
        yield from _of_code_set(measured, table, own)
    several, read = labels.filter("several_sets"), rows_of(labels.filter(pl.col("table").is_null()))
    yield from _rows(measured, "several", several, read, named="no known table")
    if measured.hierarchy.two_titles:
        yield from _two_titles(measured, measured.hierarchy.two_titles)


def _two_titles(measured: Measurements, titles: Mapping[str, tuple[str, ...]]) -> Iterator[Row]:
    """A row on the codes for which a dictionary has several titles, carried or not."""
    named = [" or ".join(several) for several in titles.values()]
    codes = pl.DataFrame({"code": [*titles], "may_stand_for": named})
    as_written = pl.when(pl.col("node").is_in([*titles])).then("node").otherwise("label")
    read = written_labels(measured).filter(READ).with_columns(code=as_written)
    labels = codes.join(read, on="code", how="left").with_columns(
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


def _of_code_set(measured: Measurements, table: str, labels: pl.DataFrame) -> Iterator[Row]:
    """A row on a code set of which no row starts with 0 though some should, else on its labels."""
    policy, bins, read = measured.policy, measured.rounding.bins("rows"), rows_of(labels)
    zeros = rows_of(labels.filter(pl.col("label").str.strip_chars_start().str.starts_with("0")))
    told, most = bins.at_worst(read, zeros)
    expected = policy.leading_zero_share.value * told
    few, of = bins.at_worst(rows_of(labels.filter(ZEROS_BEFORE)), read)
    least = policy.leading_zero_rows.value
    many = expected - most >= least or few >= max(least, LEAST_HEADINGS * of)
    if zeros > bins.width or not many:
        yield from _rows(measured, table, labels, read, named=table)
    else:
        beyond = times_limit(int(expected), least)
        headings = times_limit(few / of, LEAST_HEADINGS)
        yield _none_left(measured, table, labels, int(expected), max(beyond, headings))


def _rows(
    measured: Measurements, key: str, labels: pl.DataFrame, read: int, *, named: str
) -> Iterator[Row]:
    """A row on the labels that are a code only with zeros put back; none without such."""
    lost = labels.filter(LOST_ZERO)
    yield from of_labels(
        measured,
        with_meanings(measured, lost, "with_zeros"),
        key=key,
        severity="warning",
        sentence=f"{{rows}} of {{of}} rows of {named} ({{share}}) "
        "{rows|has a label that is a code|have labels that are codes} only with zeros put back "
        "({labels} labels); {ambiguous} more {ambiguous|has|have} other readings too and "
        "{ambiguous|is|are} not counted.",
        curator=_CURATOR,
        data_user=_DATA_USER,
        of=read,
        more={"ambiguous": rows_of(labels.filter(MAYBE_LOST_ZERO))},
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


def _none_left(
    measured: Measurements, table: str, labels: pl.DataFrame, expected: int, beyond: float
) -> Row:
    """That no told row of a code set starts with 0, with the labels that could.

    Its cases are the instances with such a label; none if the rows that should start with 0 are
    missing from the data.
    """
    could = labels.filter(LOST_ZERO | MAYBE_LOST_ZERO)
    parts = label_parts(with_meanings(measured, could, "with_zeros"))
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
            "of": rows_of(labels),
            "expected_rows": expected,
            "rows": rows_of(labels.filter(LOST_ZERO)),
            "ambiguous": rows_of(labels.filter(MAYBE_LOST_ZERO)),
        },
        curator=_CURATOR,
        data_user=_DATA_USER,
        touched=rows_of(labels),
        beyond=beyond,
        parts=parts,
        key=(table, "all"),
        cases=partial(written_with, measured, could),
        proposes=partial(_with_zeros, measured, labels.filter(LOST_ZERO)),
    )


CHECK = check_of_labels(
    "lost_zero",
    "Did codes lose leading or trailing zeros?",
    _lost,
    counts_with=("leading_zero_share", "leading_zero_rows"),
    evidence=Columns(OF_SOME_ROWS, count("ambiguous", of="rows"), chance("expected_rows")),
)
