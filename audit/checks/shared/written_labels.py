"""Labels as written: why each may be no code of its table, the codes that it may stand for, and
the nodes whose rows may be other codes, as zeros were lost."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import polars as pl

from audit.base.declared import schema
from audit.base.errors import first_cases
from audit.hierarchies.coding import VERSIONS, Integrity
from audit.measure.measure import Measurements, once
from audit.results.finding_lines import line_count
from audit.results.findings import Finding, Part, times_limit

LOST, WRONG = "lost_zero", "wrong_table"
"""Faults that explain why a label is no code of its table: the checks that find them."""

_OF_TEXT = ("unknown_code", "retired_code", "malformed_code", "no_place")
"""Reasons to refuse a label for its text; for any other the text was not examined."""
_NUMBER = re.compile(r"([0-9]+)(?:\.([0-9]+))?")
_HAS_ITS_ZERO = re.compile(r"0[0-9]")
_HAS_DECIMALS = re.compile(r"\.[0-9]*[1-9]")
_WITHOUT_DOT = re.compile(r"[0-9]{4,}(?:\.0)?")
_LONGEST_WHOLE = 3
"""Largest number of digits before the dot of a code."""
_CODES = schema(
    ("with_zeros elsewhere other_sets", pl.List(pl.String)),
    ("code_set", pl.String),
    ("stands several_sets is_code may_be_valid", pl.Boolean),
)

READ = pl.col("node").is_not_null() | pl.col("reason").is_in(_OF_TEXT)
"""Expression on `written_labels`: the text of the label was looked at."""
LOST_ZERO = pl.col("fault") == LOST
"""Expression on `written_labels`: the label is a code of its table only with zeros put back."""
MAYBE_LOST_ZERO = (pl.col("with_zeros").list.len() > 0) & ~LOST_ZERO
"""Expression on `written_labels`: a code with zeros put back, but with other readings too."""
_DIGITS = pl.col("label").str.strip_chars().str.replace(r"\.0$", "")
ZEROS_BEFORE = pl.any_horizontal(
    pl.col("with_zeros")
    .list.eval(pl.element().str.replace_all(".", "", literal=True))
    .list.contains(zeros + _DIGITS.str.replace_all(".", "", literal=True))
    for zeros in ("0", "00")
)
"""Expression on `written_labels`: no code as it stands, but one with a zero or two before it."""
MOSTLY = 0.5
"""Share of damaged rows at or below a node above which the node counts as damaged."""
PLAIN = 0.01
"""Share of the rows of a code set that are codes only with zeros put back, from which its zeros are
lost, if no row begins with 0."""
LEAST_HEADINGS = 0.1
"""Share of the rows of a code set that are codes only with a zero or two before them, or headings
that may be, from which its zeros are lost, if no row begins with 0 and they are as many as must
begin so (`leading_zero_rows` of the policy)."""
UNEXPLAINED = pl.col("added") & (pl.col("fault") == "")
"""Expression on `written_labels`: kept although the hierarchy lacks it, and no fault says why."""
_NO_RULES = Integrity(lambda _: None, lambda _, __: ())


def integrity_of(measured: Measurements) -> Integrity:
    """The integrity rules of the hierarchy's codes; those that know no code where it has none."""
    return measured.hierarchy.integrity or _NO_RULES


@once
def written_labels(measured: Measurements) -> pl.DataFrame:
    """One row per label as written, with its rows, its reason and the codes that it may be.

    Columns ``line`` (as in `LabelDataset.written`), ``label, table`` (null where a row says its
    version alone), ``stated`` (the table as given), ``node, added, reason`` (why it is refused),
    ``rows, instances``; and of labels whose text was looked at:

    - ``with_zeros, elsewhere``: the valid codes that it is with zeros put back, and in another
      table; none of a label that is valid as it stands. A code is valid if it is assignable and no
      label or class added it, or if a dictionary lists it. Of a heading beside which a code with
      zeros stands in the column, which ``stands`` says, that code alone. ``other_sets``: code sets
      of all other codes that it may be.
    - ``code_set``: that of its table, else of the codes with zeros, else of its node;
      ``several_sets``: no table is known, and the codes with zeros are of several.
    - ``is_code``: it is a code, or a heading that may have been one: not one beside which the code
      with zeros stands. ``may_be_valid``: valid, or in a code set without a complete list.
    - ``fault``: `LOST` or `WRONG`, what explains why it is no code; of two the one that alone
      explains more rows of its code set; empty for neither.
    """
    kept, refused = measured.counts.mappings, measured.counts.refusals
    found = pl.concat([kept, refused], how="diagonal").with_row_index("line")
    of_version = pl.col("table").is_in([*VERSIONS.values()])
    every = found.with_columns(
        pl.col("added").fill_null(value=False),
        stated="table",
        table=pl.when(~of_version).then("table"),
    )
    read = _Reader(measured, every.filter(READ))
    codes = read.labels.select("line").hstack(read.codes_of_labels())
    return every.join(codes, on="line", how="left", maintain_order="left").with_columns(_fault())


def _fault() -> pl.Expr:
    """The column ``fault`` of `written_labels`."""
    zeros, other = (pl.col(name).list.len() > 0 for name in ("with_zeros", "elsewhere"))
    no_code = ~pl.col("is_code")
    lost, wrong = (
        pl.col("rows").filter(no_code & one & ~two).sum().over("code_set")
        for one, two in ((zeros, other), (other, zeros))
    )
    return (
        pl.when(no_code & zeros & (~other | (lost > wrong)))
        .then(pl.lit(LOST))
        .when(no_code & other & (~zeros | (wrong > lost)))
        .then(pl.lit(WRONG))
        .otherwise(pl.lit(""))
        .alias("fault")
    )


class _Reader:
    """Reads the labels of a release as codes, as they stand and with zeros put back.

    A number without its zeros is a code of the same value in a column with dots, elsewhere one of
    the same digits but for zeros before them. One that begins with a zero was read as text.
    """

    def __init__(self, measured: Measurements, labels: pl.DataFrame) -> None:
        hierarchy = measured.hierarchy
        self.labels = labels.with_columns(pl.col("label").str.strip_chars())
        self.integrity, self.complete = integrity_of(measured), hierarchy.complete_tables
        added = set(self.labels.filter("added")["node"])
        if measured.model is not None:
            added |= set(measured.model.predictions.ledger.hung_classes.values())
        places = np.flatnonzero(hierarchy.assignable).tolist()
        self.codes = {hierarchy.nodes[place] for place in places} - added
        self.dots, self.floats = dict[str | None, bool](), dict[str | None, bool]()
        for table, own in self.labels.group_by("table").agg("label").rows():
            numbers = [found for label in own if (found := _NUMBER.fullmatch(label))]
            dotted = any(map(_HAS_DECIMALS.search, own))
            self.dots[table] = dotted or not any(map(_WITHOUT_DOT.fullmatch, own))
            self.floats[table] = bool(numbers) and all(found[2] for found in numbers)
        self.rows = [
            (label, self._without_decimals(label, table), table, node)
            for label, table, node in self.labels.select("label", "table", "node").iter_rows()
        ]
        listed = self.codes.union(hierarchy.further_titles)
        readings = self.integrity.readings
        self.own = [listed.intersection(readings(text, table)) for _, text, table, _ in self.rows]
        shown = (
            {*map(self.integrity.table_of, own)}
            for own, row in zip(self.own, self.rows, strict=True)
            if row[2] is None
        )
        sure = set[str | None]().union(*(one for one in shown if len(one) == 1)) - {None}
        self.zero_sets = sure or {*self.integrity.zero_tables}
        self.by_number = defaultdict[tuple[bool, str | None, float], set[str]](set)
        for code in self.codes if self.integrity.zero_tables else ():
            if _NUMBER.fullmatch(code):
                code_set = self.integrity.table_of(code)
                self.by_number[True, code_set, float(code)].add(code)
                self.by_number[False, code_set, int(code.replace(".", ""))].add(code)

    def _keeps_dot(self, whole: str, table: str | None) -> bool:
        """Whether a table writes dots, and a code may have so many digits before its own."""
        return self.dots[table] and len(whole) <= _LONGEST_WHOLE

    def _without_decimals(self, label: str, table: str | None) -> str:
        """A label without the ``.0`` that a number format added to a whole number."""
        whole, _, decimals = label.partition(".")
        made = decimals == "0" and whole.isdecimal() and not self._keeps_dot(whole, table)
        return whole if made else label

    def with_zeros(self, label: str, table: str | None, *, dots: bool = True) -> set[str]:
        """The valid codes that a label is with zeros put back, in its dots unless said otherwise.

        Only where every number has decimals was a ``.0`` added to a whole one.
        """
        found = _NUMBER.fullmatch(label)
        if found is None or _HAS_ITS_ZERO.match(label):
            return set()
        whole, decimals = found[1], found[2] or ""
        dots = dots and self._keeps_dot(whole, table)
        if decimals.strip("0") and not dots:
            return set()
        sets = self.zero_sets if table is None else {*self.integrity.zero_tables} & {table}
        number = float(label) if dots else int(whole)
        codes = {code for one in sets for code in self.by_number.get((dots, one, number), ())}
        as_written = dots and decimals and not self.floats[table]
        return {code for code in codes if "." in code} if as_written else codes

    def codes_of_labels(self) -> pl.DataFrame:
        """`_CODES` of each label."""
        table_of, tables, readings = (
            self.integrity.table_of,
            self.integrity.tables,
            self.integrity.readings,
        )
        never = self.integrity.never_a_code or (lambda _: False)
        every = self.codes.union(self.integrity.years or ())
        begun = {
            (table, text): node
            for _, text, table, node in self.rows
            if text.startswith("0") and node in every
        }
        found = list[tuple[object, ...]]()
        for (label, text, table, node), own, added in zip(
            self.rows, self.own, self.labels["added"], strict=True
        ):
            beside = {begun[at] for zeros in ("0", "00") if (at := (table, zeros + text)) in begun}
            restored = self.with_zeros(label, table)
            sure = node is not None and not added and len(beside) == 1
            zeros = [] if own else sorted(beside if sure else beside | restored)
            others = [one for one in tables if one != table] if table in tables and not own else ()
            elsewhere = self.codes.intersection(*([c for t in others for c in readings(text, t)],))
            sets = {*map(table_of, zeros)}
            told = zeros[0] if zeros and (node is None or len(sets) == 1) else node
            code_set = table or (told and table_of(told))
            heading = not (node is None or never(node) or added or beside or text != label)
            found.append(
                (
                    zeros,
                    sorted(elsewhere),
                    [*{table_of(one) for one in self._may_be(label, text, table) - {node}}],
                    code_set,
                    sure and not own,
                    table is None and len(sets) > 1,
                    bool(own) or heading,
                    bool(own) or (node is not None and code_set not in self.complete),
                )
            )
        return pl.DataFrame(found, _CODES, orient="row")

    def _may_be(self, label: str, text: str, table: str | None) -> set[str]:
        """Every valid code that a label may be, in a column with dots wherever its dot was."""
        codes = self.codes.intersection(self.integrity.readings(text, table))
        codes |= self.with_zeros(label, table)
        if self.dots[table] and table is None:
            bare = {label, label.replace(".", "")}
            codes = codes.union(*(self.with_zeros(one, table, dots=False) for one in bare))
        return codes


def rows_of(labels: pl.DataFrame) -> int:
    """How many rows some labels have."""
    return int(labels["rows"].sum())


def zeros_are_lost(measured: Measurements) -> bool:
    """Whether labels lost zeros in half or more of the rows that are no code: few may be slips."""
    labels = written_labels(measured).filter(~pl.col("is_code"))
    return 0 < rows_of(labels) <= 2 * rows_of(labels.filter(LOST_ZERO))


def none_left(measured: Measurements, labels: pl.DataFrame) -> tuple[int, float]:
    """Whether no told row of a code set begins with 0 though some should.

    Returns:
        In any case the rows that should, by `leading_zero_share` of the policy; and how many times
        its limit the set's rows are beyond, 0 where some row begins with 0 or too few should.
    """
    policy, bins, read = measured.policy, measured.rounding.bins("rows"), rows_of(labels)
    zeros = rows_of(labels.filter(pl.col("label").str.strip_chars_start().str.starts_with("0")))
    told, most = bins.at_worst(read, zeros)
    expected, least = policy.leading_zero_share.value * told, policy.leading_zero_rows.value
    few, of = bins.at_worst(rows_of(labels.filter(ZEROS_BEFORE)), read)
    many = expected - most >= least or few >= max(least, LEAST_HEADINGS * of)
    if zeros > bins.width or not many:
        return int(expected), 0.0
    ends = times_limit(int(expected), least), times_limit(few / of, LEAST_HEADINGS)
    return int(expected), max(ends)


@once
def damaged_nodes(measured: Measurements) -> frozenset[str]:
    """Nodes of which more than half of the rows at or below may be other codes, as zeros were lost.

    These are rows that `lost_zero` reports; and where a code set has lost its zeros, all rows of
    each label that may be another code of the set.
    """
    integrity, hierarchy = integrity_of(measured), measured.hierarchy
    if not integrity.zero_tables:
        return frozenset()
    labels, sets = written_labels(measured).filter(READ), list[str]()
    for table in integrity.zero_tables:
        own = labels.filter((pl.col("code_set") == table) & ~pl.col("several_sets"))
        begun = own["label"].str.contains(r"^\s*0[0-9]").any()
        plain = rows_of(own.filter(LOST_ZERO)) >= PLAIN * rows_of(own)
        if not begun and len(own) and (plain or none_left(measured, own)[1]):
            sets.append(table)
    others = pl.col("other_sets").list.set_intersection(sets).list.len() > 0
    known = labels.with_columns(damaged=others | LOST_ZERO).drop_nulls("node")
    places = [hierarchy.index(node) for node in known["node"]]
    rows, n = known["rows"].to_numpy(), len(hierarchy)
    lost = hierarchy.below @ np.bincount(places, rows * known["damaged"].to_numpy(), n)
    mostly = lost > MOSTLY * (hierarchy.below @ np.bincount(places, rows, n))
    return frozenset(hierarchy.nodes[node] for node in np.flatnonzero(mostly).tolist())


def with_damage_named(measured: Measurements, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings, with those that name a damaged node marked as such and, where most of what they
    count is damaged, ranked below all others."""
    findings = tuple(findings)
    if all(finding.check == LOST for finding in findings):
        return findings
    damaged = damaged_nodes(measured)
    return tuple(_with_damage(finding, damaged) for finding in findings) if damaged else findings


def _with_damage(finding: Finding, damaged: frozenset[str]) -> Finding:
    """The finding with the remark, if its nodes, or most of its parts, are damaged."""
    parts = [part for part in finding.parts if damaged.intersection(part.nodes)]
    most = _sum_of_counts(parts) > MOSTLY * _sum_of_counts(finding.parts)
    listed = {part.nodes[0] for part in finding.parts}.issuperset(finding.nodes)
    named = finding.nodes if damaged.intersection(finding.nodes) else ()
    for part in parts if most and not named else ():
        named = (*named, *part.nodes)
    said = sorted(damaged.intersection(named), key=named.index)
    if not said:
        return finding
    remark = f" Most rows of {first_cases(said)} may be other codes, since zeros were lost"
    statement = f"{finding.statement}{remark}: read the findings of {LOST} first."
    return replace(finding, statement=statement, aside=most if listed else True)


def _sum_of_counts(parts: Iterable[Part]) -> int:
    return sum(int(line_count(part.evidence) or 0) for part in parts)
