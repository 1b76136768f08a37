"""Statements of a policy other than rules on codes: limits, branches, waivers, days of coding."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import (
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from audit.policy.code_dates import Spell, read_code_dates
from audit.policy.rules import Frozen

ANY_BRANCH = "*"
ANY_CHECK = "*"


class Threshold(Frozen):
    """A limit, with why it is what it is; its unit is given with its default."""

    value: float
    reason: str


class BranchRule(Frozen):
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

    def fits(self, a: str, b: str) -> bool:
        """Whether the rule speaks about these two branches, in either order."""
        return self.fits_in_order(a, b) or self.fits_in_order(b, a)

    def fits_in_order(self, a: str, b: str) -> bool:
        """Whether the rule speaks about these two branches in this order."""
        first, second = self.branches
        return first in (a, ANY_BRANCH) and second in (b, ANY_BRANCH)


Decision: TypeAlias = Literal["waived", "accepted", "to_fix"]
"""What somebody decided on findings: ``waived`` and ``accepted`` (right as they are) do not count;
``to_fix`` ones still do.
"""


class Waiver(Frozen):
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

    @field_validator("added")
    @classmethod
    def _in_order(cls, added: date | None, info: ValidationInfo) -> date | None:
        expires = info.data.get("expires")
        if added is not None and expires is not None and added > expires:
            raise ValueError(f"added {added} must not be after expires {expires}")
        return added

    @model_validator(mode="after")
    def _require_one_place(self) -> Self:
        if len(self.place) > 1:
            raise ValueError(f"one of {', '.join(self.place)} may be given")
        if self.finding is not None and self.finding.split(":")[0] != self.check:
            raise ValueError(f"check must be that of the finding {self.finding}, not {self.check}")
        return self

    @property
    def place(self) -> dict[str, str | tuple[str, str]]:
        """``node``, ``subtree``, ``pair`` or ``finding`` with its value; empty: the whole check."""
        named = {
            "node": self.node, "subtree": self.subtree, "pair": self.pair, "finding": self.finding
        }  # fmt: skip
        return {kind: what for kind, what in named.items() if what is not None}

    @property
    def nodes(self) -> tuple[str, ...]:
        """Every node that the waiver names."""
        return self.pair or tuple(node for node in (self.node, self.subtree) if node is not None)

    def expired(self, today: date) -> bool:
        """Whether the last day of the waiver has passed."""
        return self.expires < today


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
        """The same record with the spells read from its table.

        Raises:
            InputError: If the table cannot be read, or is not as required.
        """
        return self.model_copy(update={"spells": read_code_dates(folder / self.file)})
