"""Whether two hierarchies are one classification: by the nodes that they share, not by names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from audit.base.dag import SYNTHETIC_ROOT
from audit.base.errors import InputError

_ENOUGH = 0.5
"""Share of the nodes of the smaller hierarchy from which on both are one classification."""


@dataclass(frozen=True, slots=True)
class SharedNodes:
    """How many ids two hierarchies share, of the smaller; one with another title in each is not."""

    shared: int
    of: int

    @property
    def same(self) -> bool:
        """Whether that is enough for them to be one classification."""
        return self.shared >= _ENOUGH * self.of

    def __str__(self) -> str:
        return f"{self.shared:,} of the {self.of:,} nodes of the smaller hierarchy are in both"


def shared_nodes(
    one: Iterable[tuple[str, str | None]], other: Iterable[tuple[str, str | None]]
) -> SharedNodes:
    """How many nodes two hierarchies share, by the id and the title of each, if it has any."""
    titles, others = _titles(one), _titles(other)
    common = titles.keys() & others.keys()
    differ = sum(bool(titles[n] and others[n] and titles[n] != others[n]) for n in common)
    return SharedNodes(len(common) - differ, min(len(titles), len(others)))


def refuse_other(shared: SharedNodes, names: tuple[str, str], required: str) -> None:
    """Raise InputError, which says what is required, unless they are one classification."""
    if not shared.same:
        raise InputError(
            required,
            found=f"{names[0]!r} and {names[1]!r}: {shared}",
            hint="counts can be compared only within one classification",
        )


def _titles(nodes: Iterable[tuple[str, str | None]]) -> Mapping[str, str]:
    return {
        node: " ".join((title or "").casefold().split())
        for node, title in nodes
        if node != SYNTHETIC_ROOT
    }
