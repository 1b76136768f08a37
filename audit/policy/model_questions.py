"""What a policy asks of a model: named parts of the hierarchy, and kinds of behaviour."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Self, TypeAlias

from pydantic import Field, ValidationError, model_validator

from audit.base.errors import InputError
from audit.policy.rules import Frozen, Nodes

Name: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_ -]*$")]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Counts: TypeAlias = Annotated[tuple[int, int], Field(strict=False)]
Shares: TypeAlias = Annotated[tuple[Share, Share], Field(strict=False)]


class Subgraph(Frozen):
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
        if self.conditions == {} and self.name not in PUBLISHED_NAMES:
            known = ", ".join(PUBLISHED_NAMES)
            raise ValueError(f"{self.name} must state a condition, or be one of {known}")
        for name, (low, high) in self.conditions.items():
            if low > high:
                raise ValueError(f"{name} must not end at {high:g}, before it begins at {low:g}")
        return self

    @property
    def conditions(self) -> dict[str, tuple[float, float]]:
        """Least and greatest value of each condition that is stated, by name."""
        stated = {name: getattr(self, name) for name in CONDITIONS}
        return {
            name: (value, value) if isinstance(value, int) else value
            for name, value in stated.items()
            if value is not None
        }

    @property
    def as_published(self) -> BehaviourQuery:
        """The published query that the name alone stands for; else this one."""
        return PUBLISHED[self.name] if self.conditions == {} else self


CONDITIONS = ("leaves", "nodes", "largest_leaf", "largest_node")
PUBLISHED_NAMES = ("confident", "split")

PUBLISHED: Mapping[str, BehaviourQuery] = {
    "confident": BehaviourQuery(name="confident", leaves=1),
    "split": BehaviourQuery(
        name="split", leaves=2, nodes=2, largest_leaf=(0.45, 0.55), largest_node=(0.45, 0.55)
    ),
}
"""The queries of the notebook released with *Abstraction Alignment*, whose superclasses are the
children of the root."""


def subgraph_of(text: str) -> Subgraph:
    """Parse a subgraph as an option states it: ``NAME=node,node``, with all below the nodes.

    Raises:
        InputError: If the text is not so.
    """
    name, given, nodes = text.partition("=")
    stated = [node.strip() for node in nodes.split(",")]
    try:
        if not given or "" in stated:
            raise ValueError
        return Subgraph(name=name.strip(), nodes=tuple(stated))
    except ValueError:
        raise InputError(
            "a subgraph must be stated as NAME=node,node, the name in letters and digits",
            found=repr(text),
            hint="the policy states those whose ids have a comma, under [[subgraphs]]",
        ) from None


def query_of(text: str) -> BehaviourQuery:
    """Parse a query as an option states it: a published name, or ``NAME=condition:value,...``.

    A value is a number, or ``least..greatest``.

    Raises:
        InputError: If the text is not so.

    >>> query_of("torn=leaves:2,largest_leaf:0.45..0.55").conditions
    {'leaves': (2, 2), 'largest_leaf': (0.45, 0.55)}
    """
    name, _, conditions = text.partition("=")
    try:
        parts = [part.split(":") for part in conditions.split(",") if part.strip()]
        stated = {key.strip(): _value(value) for key, value in parts}
        return BehaviourQuery(name=name.strip(), **stated)
    except ValueError as error:
        said = [e["msg"] for e in error.errors()] if isinstance(error, ValidationError) else []
        raise InputError(
            "a query must be one of those published, or NAME=condition:value,...",
            found=f"{text!r}" + "".join(f"; {one.removeprefix('Value error, ')}" for one in said),
            hint=f"published are {', '.join(PUBLISHED_NAMES)}; conditions are "
            f"{', '.join(CONDITIONS)}, at_least and depth; a value may be a range such as "
            "0.45..0.55",
        ) from None


def _value(text: str) -> Any:
    numbers = [float(part) for part in text.split("..")]
    whole = [int(n) if re.fullmatch(r"\s*\d+\s*", part) else n
             for n, part in zip(numbers, text.split(".."), strict=True)]  # fmt: skip
    return whole[0] if len(whole) == 1 else tuple(whole)
