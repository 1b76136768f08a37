"""Rules in a policy's tables on codes, and what it asks of a model."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from datetime import date
from itertools import combinations
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

Severity: TypeAlias = Literal["error", "warning", "note"]


def _several(stated: Any) -> Any:
    """A text alone as a tuple of it; anything else as it is."""
    return (stated,) if isinstance(stated, str) else stated


_Texts: TypeAlias = Annotated[tuple[str, ...], Field(strict=False)]
_OneText: TypeAlias = Annotated[_Texts, Field(min_length=1)]
AnyNodes: TypeAlias = Annotated[
    _Texts, BeforeValidator(_several, json_schema_input_type=str | _Texts)
]
"""Texts, such as ids of nodes, of which one may be stated without a list."""
Nodes: TypeAlias = Annotated[
    _OneText, BeforeValidator(_several, json_schema_input_type=str | _OneText)
]
"""The same, at least one."""


class Frozen(BaseModel):
    """A record of a policy: it never changes, and holds nothing but its keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, serialize_by_alias=True)


class OnNodes(Frozen):
    """A record that names nodes."""

    @property
    def nodes_named(self) -> tuple[str, ...]:
        """Every node that the record names."""
        named: tuple[str, ...] = getattr(self, "nodes", ())
        return named


class Exclusive(OnNodes):
    """Nodes of which an instance should carry at most one.

    Args:
        sides: ``nodes`` in a policy file: two or more, each a node with all below it, or a list of
            such nodes.
        reason: Why, as the report prints it.
        severity: Of the finding.
    """

    sides: tuple[Nodes, ...] = Field(alias="nodes", strict=False, min_length=2)
    reason: str
    severity: Severity = "warning"

    @field_validator("sides")
    @classmethod
    def _each_on_one_side(cls, sides: tuple[Nodes, ...]) -> tuple[Nodes, ...]:
        if twice := {node for a, b in combinations(sides, 2) for node in {*a} & {*b}}:
            raise ValueError(f"{', '.join(sorted(twice))} must be on one side only")
        return sides

    @property
    def nodes_named(self) -> tuple[str, ...]:
        """Every node that the rule names."""
        return tuple(node for side in self.sides for node in side)

    @property
    def key(self) -> tuple[str, ...]:
        """Identity among rules: the nodes of each side."""
        return tuple(sorted(",".join(sorted(nodes)) for nodes in self.sides))


class Expected(OnNodes):
    """An association that is known: pairs of nodes at or below its two nodes are not reported.

    Args:
        nodes: Two nodes, neither above the other.
        source: Where it is known from, as the report prints it.
    """

    nodes: tuple[str, str] = Field(strict=False)
    source: str = Field(min_length=1)

    @property
    def sides(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The nodes on either side of the association."""
        return (self.nodes[0],), (self.nodes[1],)


class Companion(OnNodes):
    """A node that asks for another one beside it, each with all below it.

    Args:
        asking: The nodes that ask; ``if`` in a policy file.
        needed: What they ask for, of which one is enough; ``needs`` there.
        excusing: Nodes beside which nothing is asked for; ``unless`` there.
        position: Where the companion stands among an instance's labels: before the first one that
            asks, after it, or anywhere.
        if_title: What the nodes that ask are, where they are many; empty: the first is named.
        needs_title: The same of what they ask for.
        valid_from: The first day on which the rule holds; None: it always did.
        valid_to: The last day on which it holds; None: it still does.
        source: What the rule says and where it stands, as the report prints it.
        severity: Of the finding.
    """

    asking: Nodes = Field(alias="if")
    needed: Nodes = Field(alias="needs")
    excusing: AnyNodes = Field(default=(), alias="unless")
    position: Literal["any", "before", "after"] = "any"
    if_title: str = ""
    needs_title: str = ""
    valid_from: date | None = None
    valid_to: date | None = None
    source: str = Field(min_length=1)
    severity: Severity = "warning"

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for (one, own), (other, theirs) in combinations(self._named.items(), 2):
            if both := {*own} & {*theirs}:
                raise ValueError(f"{', '.join(sorted(both))} of {one} must not be in {other}")
        if (self.valid_to or date.max) < (self.valid_from or date.min):
            raise ValueError(
                f"valid_to {self.valid_to} must not be before valid_from {self.valid_from}"
            )
        return self

    @property
    def _named(self) -> dict[str, tuple[str, ...]]:
        """The nodes of the rule by their key in a policy file."""
        return {"if": self.asking, "needs": self.needed, "unless": self.excusing}

    @property
    def sides(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The nodes on the two sides of the association that follows from the rule."""
        return self.asking, self.needed

    @property
    def nodes_named(self) -> tuple[str, ...]:
        """Every node that the rule names."""
        return (*self.asking, *self.needed, *self.excusing)

    @property
    def begins_or_ends(self) -> bool:
        """Whether the rule has a first or a last day."""
        return self.valid_from is not None or self.valid_to is not None

    @property
    def key(self) -> tuple[str, str]:
        """Identity among rules: a node that requires a companion, and a digest of the rule."""
        nodes = [sorted(nodes) for nodes in self._named.values()]
        said = (nodes, self.position, str(self.valid_from), str(self.valid_to))
        return self.asking[0], hashlib.sha256(repr(said).encode()).hexdigest()[:8]


class Person(Frozen):
    """The columns of the instances with the sex and the age of the person.

    Args:
        sex: Column of the sex; empty: it is not known.
        female: Values of it that mean female, one or a list.
        male: Values of it that mean male, one or a list.
        age: Column of the age in years, where a part of a year counts as none; empty: it is not
            known.
    """

    sex: str = ""
    female: AnyNodes = ()
    male: AnyNodes = ()
    age: str = ""

    @model_validator(mode="after")
    def _require_fitting_columns(self) -> Self:
        """Raise ValueError unless sex or age is named, and sex with values of female and male."""
        if not self.columns:
            raise ValueError("a column of the sex or of the age must be named")
        if len({bool(one) for one in (self.sex, *self.values.values())}) > 1:
            raise ValueError("sex, and the values of it that mean female and male, go together")
        if both := {*self.values["female"]} & {*self.values["male"]}:
            raise ValueError(f"{', '.join(sorted(both))} must mean female or male, not both")
        return self

    @property
    def values(self) -> dict[str, tuple[str, ...]]:
        """The values in the column of the sex, by their meaning ``female`` or ``male``."""
        return {"female": self.female, "male": self.male}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of sex and age, each once."""
        return tuple(dict.fromkeys(name for name in (self.sex, self.age) if name))


class PersonRule(OnNodes):
    """Nodes that belong to persons of one sex, or of some ages.

    Args:
        nodes: The nodes, one or a list, each with all below it.
        sex: The only sex of a person with one of them.
        age_from: The least age in whole years of such a person.
        age_to: The greatest.
        source: What the rule says and where it stands, as the report prints it.
        severity: Of the finding.
    """

    nodes: Nodes
    sex: Literal["female", "male"] | None = None
    age_from: int | None = Field(default=None, ge=0)
    age_to: int | None = Field(default=None, ge=0)
    source: str = Field(min_length=1)
    severity: Severity = "warning"

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        """ValueError for both or neither of sex and ages, or for ages from high to low."""
        aged = self.age_from is not None or self.age_to is not None
        if aged == (self.sex is not None):
            raise ValueError("a rule must state a sex, or ages: two rules state both")
        if self.ages[1] < self.ages[0]:
            raise ValueError(f"age_to {self.age_to} must not be less than age_from {self.age_from}")
        return self

    @property
    def ages(self) -> tuple[float, float]:
        """The least age, 0 where none is stated, and the greatest, infinite where none is."""
        return self.age_from or 0, math.inf if self.age_to is None else self.age_to

    def contradicts(self, other: PersonRule) -> bool:
        """Whether no person satisfies both rules."""
        if self.sex is not None and other.sex is not None:
            return self.sex != other.sex
        return max(self.ages[0], other.ages[0]) > min(self.ages[1], other.ages[1])

    @property
    def key(self) -> tuple[str, str]:
        """Identity among rules: its first node, and a digest of the rule."""
        said = (sorted(self.nodes_named), self.sex, self.age_from, self.age_to)
        return self.nodes_named[0], hashlib.sha256(repr(said).encode()).hexdigest()[:8]


Name: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_ -]*$")]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Counts: TypeAlias = Annotated[tuple[int, int], Field(strict=False)]
Shares: TypeAlias = Annotated[tuple[Share, Share], Field(strict=False)]


class Subgraph(OnNodes):
    """A named part of the hierarchy, for equation 3.

    Args:
        name: What the report calls it.
        nodes: Its nodes.
        below: Whether everything below them belongs to it too.
    """

    name: Name
    nodes: Nodes
    below: bool = True


class BehaviourQuery(Frozen):
    """A kind of behaviour, by how many nodes a model considers and how large the largest is.

    A name alone, without a condition, means the query of `PUBLISHED` with that name.

    Args:
        name: What the report calls it.
        at_least: Share of an instance's mass from which a node counts.
        leaves: Least and greatest number of leaves that count; one number means exactly so many.
        nodes: The same for the nodes at `depth`.
        depth: Depth of those nodes; the root has 0.
        largest_leaf: Least and greatest share of the largest leaf.
        largest_node: Least and greatest share of the largest node at `depth`.
    """

    name: Name
    at_least: float = Field(default=0.01, gt=0, le=1)
    leaves: int | Counts | None = None
    nodes: int | Counts | None = None
    depth: int = Field(default=1, ge=0)
    largest_leaf: Shares | None = None
    largest_node: Shares | None = None

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        """ValueError without a condition, unless published, or for a range from high to low."""
        if self.conditions == {} and self.name not in PUBLISHED:
            known = ", ".join(PUBLISHED)
            raise ValueError(f"{self.name} must state a condition, or be one of {known}")
        for name, (low, high) in self.conditions.items():
            if low > high:
                raise ValueError(f"{name} must not end at {high:g}, before it begins at {low:g}")
        return self

    @property
    def conditions(self) -> dict[str, tuple[float, float]]:
        """Least and greatest value of each condition that is stated, by name."""
        names = ("leaves", "nodes", "largest_leaf", "largest_node")
        stated = ((name, getattr(self, name)) for name in names)
        return {
            name: (value, value) if isinstance(value, int) else value
            for name, value in stated
            if value is not None
        }

    @property
    def as_published(self) -> BehaviourQuery:
        """The published query that the name alone stands for; else this one."""
        return PUBLISHED[self.name] if self.conditions == {} else self


MANY = 10**9
"""The greatest number of leaves or nodes where there is no limit."""

PUBLISHED: Mapping[str, BehaviourQuery] = {
    "confident": BehaviourQuery(name="confident", leaves=1),
    "split": BehaviourQuery(
        name="split", leaves=2, nodes=2, largest_leaf=(0.45, 0.55), largest_node=(0.45, 0.55)
    ),
    "contained": BehaviourQuery(name="contained", leaves=(2, MANY), nodes=1),
    "spread": BehaviourQuery(name="spread", nodes=(4, MANY)),
}
"""The queries of the notebook released with *Abstraction Alignment*, whose superclasses are the
children of the root, and the other two kinds of figure 2 read at its threshold: confusion within
one superclass, and over more than three."""
