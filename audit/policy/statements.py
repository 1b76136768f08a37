"""Statements of a policy: limits, branches, waivers, lifelong conditions, and periods of codes."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self, TypeAlias

import polars as pl
from pydantic import Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from audit.base.errors import SchemaError, first_cases
from audit.base.table import name_among
from audit.base.tables import open_table
from audit.policy.rules import AnyNodes, Frozen, Nodes, OnNodes

_COLUMNS = ("code", "first", "last")
_DAY = r"^(\d{4}-\d{2}-\d{2})(?:[ T].*)?$"


class Spell(NamedTuple):
    """A period in which a code could be assigned, both days included; None: open on that side."""

    code: str
    first: date | None
    last: date | None


def as_days(written: pl.Series) -> pl.Series:
    """Parse texts that begin with ``YYYY-MM-DD`` as days; a time after the day is ignored.

    Null if the text is null or not a day.
    """
    return written.str.extract(_DAY).str.to_date("%Y-%m-%d", strict=False)


def read_code_dates(path: Path) -> tuple[Spell, ...]:
    """Read the spells of a CSV or Parquet table with columns ``code, first, last``.

    An empty first or last day leaves the spell open on that side. A code with several periods has
    several rows. The result is sorted by code and first day.

    Raises:
        InputError: If the file cannot be read.
        SchemaError: If a column is missing, there is no row, a row has no code, a day cannot be
            read or lies before the first, or two spells of a code as written share a day.
    """
    table = open_table(path).frame()
    hint = f"a table of code dates has the columns {', '.join(_COLUMNS)}"
    found = {name: table[name_among(table.columns, name, path, hint)] for name in _COLUMNS}
    if found["code"].dtype != pl.String:
        required = "codes must be text, so that no leading zero is lost"
        raise SchemaError(required, found=str(found["code"].dtype), where=path)
    text = pl.all().cast(pl.String).str.strip_chars().replace("", None)
    rows = pl.DataFrame(found).select(text).filter(~pl.all_horizontal(pl.all().is_null()))
    if rows.is_empty():
        raise SchemaError("a table of at least one code is required", found="no row", where=path)
    rows = rows.with_columns(begins=as_days(rows["first"]), ends=as_days(rows["last"]))
    rows = rows.sort("code", "begins", nulls_last=False)
    begins, ends = pl.col("begins"), pl.col("ends")
    unread = (begins.is_null() & pl.col("first").is_not_null()) | (
        ends.is_null() & pl.col("last").is_not_null()
    )
    before = ends.fill_null(date.max).shift().over("code")
    for wrong, required in (
        (pl.col("code").is_null(), "every row must have a code"),
        (unread, "first and last day must be written as YYYY-MM-DD, or be empty"),
        (ends < begins, "the last day of a code must not be before its first"),
        (begins.fill_null(date.min) <= before, "the periods of a code must not share a day"),
    ):
        written = pl.format(
            "{}: {} to {}", *(pl.col(name).fill_null("(none)") for name in _COLUMNS)
        )
        if cases := rows.filter(wrong).select(written).to_series().to_list():
            raise SchemaError(required, found=first_cases(cases), where=path)
    return tuple(Spell(*spell) for spell in rows.select("code", "begins", "ends").iter_rows())


ANY_BRANCH = "*"
ANY_CHECK = "*"


class Threshold(Frozen):
    """A limit, with why it is what it is; its unit is given with its default."""

    value: float
    reason: str


class BranchRule(OnNodes):
    """What it means that instances carry nodes of two branches.

    Args:
        branches: Two branch ids; ``*`` stands for any other branch.
        rule: ``expected`` is silent, ``watch`` is reported once, ``disjoint`` is a fault.
        reason: Why, as the report prints it.
        alone_or_first: Nodes that should stand alone or in first place on such an instance.
        break_down_depth: Depth of the nodes of the first branch that the finding is broken down
            by; None: it is broken down by pairs of labels.
    """

    branches: tuple[str, str] = Field(strict=False)
    rule: Literal["expected", "watch", "disjoint"]
    reason: str
    alone_or_first: tuple[str, ...] = Field(default=(), strict=False)
    break_down_depth: int | None = None

    @property
    def nodes_named(self) -> tuple[str, ...]:
        """Every node that the rule names."""
        return tuple(n for n in (*self.branches, *self.alone_or_first) if n != ANY_BRANCH)

    def fits(self, a: str, b: str) -> bool:
        """Whether the rule speaks about these two branches, in either order."""
        return self.fits_in_order(a, b) or self.fits_in_order(b, a)

    def fits_in_order(self, a: str, b: str) -> bool:
        """Whether the rule speaks about these two branches in this order."""
        first, second = self.branches
        return first in (a, ANY_BRANCH) and second in (b, ANY_BRANCH)


Decision: TypeAlias = Literal["waived", "accepted", "to_fix"]
"""What somebody decided on findings: ``waived`` and ``accepted`` (right as they are) do not count;
``to_fix`` ones still do."""


class Waiver(OnNodes):
    """Findings that somebody answers for until a day: reported, and counted only if to be fixed.

    Args:
        check: The check whose findings are waived; ``*`` stands for any.
        node: Only findings about this node.
        subtree: Only findings about nodes at or below this one.
        pair: Only the finding about these two nodes, in either order.
        finding: Only the finding with this id; such a waiver goes before those that name more.
        decision: What was decided on them.
        owner: Who answers for it.
        reason: Why, as the report prints it.
        expires: The last day on which it holds.
        added: The day on which it was agreed.
    """

    check: str
    node: str | None = None
    subtree: str | None = None
    pair: Annotated[tuple[str, str], Field(strict=False)] | None = None
    finding: str | None = None
    decision: Decision = "waived"
    owner: str = Field(min_length=1)
    reason: str = Field(min_length=1)
    expires: date
    added: date | None = None

    @model_validator(mode="after")
    def _require_fields_that_fit(self) -> Self:
        """ValueError for several places, another check's finding, or added after it expires."""
        if len(self.place) > 1:
            raise ValueError(f"only one of {', '.join(self.place)} may be given")
        if self.finding is not None and self.finding.split(":")[0] != self.check:
            raise ValueError(f"check must be that of the finding {self.finding}, not {self.check}")
        if self.added is not None and self.added > self.expires:
            raise ValueError(f"added {self.added} must not be after expires {self.expires}")
        return self

    @property
    def place(self) -> dict[str, str | tuple[str, str]]:
        """``node``, ``subtree``, ``pair`` or ``finding`` with its value; empty: the whole check."""
        kinds = ("node", "subtree", "pair", "finding")
        return {kind: what for kind in kinds if (what := getattr(self, kind)) is not None}

    @property
    def key(self) -> tuple[str, dict[str, str | tuple[str, str]]]:
        """Identity among waivers."""
        return self.check, self.place

    @property
    def nodes(self) -> tuple[str, ...]:
        """Every node that the waiver names."""
        return self.pair or tuple(node for node in (self.node, self.subtree) if node is not None)

    def expired(self, today: date) -> bool:
        """Whether the last day of the waiver has passed."""
        return self.expires < today


class Lifelong(OnNodes):
    """A condition that a person does not lose again.

    Args:
        condition: What it is called.
        carrying: Nodes that carry it, each with all below it; ``nodes`` in a policy file.
        still: Further nodes beside which it counts as still there.
        sure: Whether it is as surely lifelong as a condition can be.
    """

    condition: str = Field(min_length=1)
    carrying: Nodes = Field(alias="nodes")
    still: AnyNodes = ()
    sure: bool = True

    @property
    def nodes_named(self) -> tuple[str, ...]:
        """Every node beside which it is there."""
        return (*self.carrying, *self.still)


class CodeDates(Frozen):
    """When each code could be assigned, and which column says when it was.

    Args:
        column: Column of the instances that holds the true day of coding, as the user states.
        file: Table of ``code, first, last``; its place is seen from the policy file.
        spells: What the table says. A policy file cannot state them: they are read.
    """

    column: str = Field(min_length=1)
    file: str = Field(min_length=1)
    spells: SkipJsonSchema[tuple[Spell, ...]] = ()

    def read(self, folder: Path) -> Self:
        """The same record with the spells read from its table."""
        return self.model_copy(update={"spells": read_code_dates(folder / self.file)})
