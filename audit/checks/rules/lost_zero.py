"""lost_zero: codes that were read as numbers and lost leading or trailing zeros."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import polars as pl

from audit.base.declared import Columns, chance, count
from audit.checks.rows import Row, Rows
from audit.checks.shared.label_findings import (
    OF_SOME_ROWS,
    check_of_labels,
    label_parts,
    of_labels,
    refused_in,
    with_meanings,
    written_with,
)
from audit.checks.shared.proposals import by_candidates, near_codes
from audit.checks.shared.written_labels import (
    LOST_ZERO,
    MAYBE_LOST_ZERO,
    READ,
    integrity_of,
    none_left,
    rows_of,
    written_labels,
    zeros_are_lost,
)
from audit.measure.measure import Measurements

_ADVICE = {
    "curator": "Export the codes again as text: somewhere on the way they were read as numbers.",
    "data_user": "Until this is corrected, do not count codes that would be other codes with zeros "
    "at their ends.",
}


def _lost(measured: Measurements) -> Rows:
    """Labels that are a code only with zeros restored, or a code set without a leading 0.

    A code read as a number loses zeros: in front (`0389` becomes `389`) and behind a dot (`250.00`
    becomes `250.0`). A row counts where its label is *not a code as written* but *may be what is
    left of an assignable code* of its table's code set, or of those that the release has; all such
    codes are named. Without dots, zeros are put back only in front. A heading may have been a code,
    so its rows are `ambiguous` and no finding, unless the code with its zeros stands in other rows
    of the table.

    - *A whole release.* One finding takes the place of these where no row of a code set starts with
      0 although `leading_zero_share` x rows is at least `leading_zero_rows` (0.02 and 20), or where
      at least `leading_zero_rows` rows, and one in ten, are headings or no codes that are codes
      with one or two zeros before them; of persons' records, where fewer than 11 start with 0 and
      ten more would be expected.
    - *Dictionaries* with several titles for a code are a finding of their own: 07.44 and 74.4 both
      became 744.
    - *Damaged nodes.* More than half of a node's rows are told here, or may be another code in a
      set that lost all its zeros. Findings of other checks that name one say so, and rank below
      others of their check and severity.

    **Severity.** Warning; error for a code with several titles that rows carry. Refused rows are
    errors of `unknown_code` or `malformed_code`; kept ones are left out of `retired_code`.
    **Limits.** Many codes that lose a zero become another valid code and cannot show (`04111`,
    `411.1`). A release of some diagnoses may truly have no code with 0: set `leading_zero_share`.
    """
    read, known = measured.ledger.rows_read, "no code of this hierarchy is known to start with 0"
    why_not = "" if integrity_of(measured).zero_tables or measured.hierarchy.two_titles else known
    return Rows(read, "rows", _findings(measured) if read else (), why_not)


def _findings(measured: Measurements) -> Iterator[Row]:
    labels = written_labels(measured).filter(READ)
    for table in integrity_of(measured).zero_tables:
        own = labels.filter((pl.col("code_set") == table) & ~pl.col("several_sets"))
        expected, beyond = none_left(measured, own)
        if beyond:
            yield _none_left(measured, table, own, expected, beyond)
        else:
            yield from _rows(measured, table, own, rows_of(own), table)
    several, read = labels.filter("several_sets"), rows_of(labels.filter(pl.col("table").is_null()))
    yield from _rows(measured, "several", several, read, "no known table")
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
        severity="error" if rows_of(labels) else "warning",
        sentence="A dictionary has several titles for {labels} {labels|code|codes}, as where two "
        "codes became one that lost their zeros; {rows} of {of} rows ({share}) "
        "{rows|carries|carry} {labels|it|one of them}.",
        curator="Give a dictionary in which each code has one title, with its codes as text, and "
        "check whether the data lost zeros in the same way.",
        data_user="Do not trust these codes: rows of two diseases may be counted as one.",
    )


def _rows(
    measured: Measurements, key: str, labels: pl.DataFrame, read: int, named: str
) -> Iterator[Row]:
    """A row on labels that are a code only with zeros before or behind; ``named``: their table."""
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
        of=read,
        more={"ambiguous": rows_of(labels.filter(MAYBE_LOST_ZERO))},
        proposes=partial(_with_zeros, measured, lost),
        **_ADVICE,
    )


def _with_zeros(measured: Measurements, lost: pl.DataFrame) -> pl.DataFrame:
    """Proposals: codes with zeros before or behind, if these are surely lost, else near codes."""
    sure = pl.col("stands") | zeros_are_lost(measured)
    found = by_candidates(
        measured,
        lost.filter(sure).with_columns(candidates="with_zeros"),
        "it is a code only with zeros that were lost, and may be one of several",
        of_one="it is a code only with the zeros that were lost, and only this one",
    )
    return pl.concat([found, near_codes(measured, lost.filter(~sure))])


def _none_left(
    measured: Measurements, table: str, labels: pl.DataFrame, expected: int, beyond: float
) -> Row:
    """The row that says that no told row of a code set starts with 0, with labels that could."""
    lost, could = (labels.filter(some) for some in (LOST_ZERO, LOST_ZERO | MAYBE_LOST_ZERO))
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
            "rows": rows_of(lost),
            "ambiguous": rows_of(could) - rows_of(lost),
        },
        touched=rows_of(labels),
        beyond=beyond,
        parts=parts,
        key=(table, "all"),
        cases=partial(written_with, measured, could),
        written=refused_in(could, parts),
        proposes=partial(_with_zeros, measured, lost),
        **_ADVICE,
    )


CHECK = check_of_labels(
    "lost_zero",
    "Did codes lose leading or trailing zeros?",
    _lost,
    evidence=Columns(OF_SOME_ROWS, count("ambiguous", of="rows"), chance("expected_rows")),
)
