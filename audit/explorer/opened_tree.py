"""The indented tree of a hierarchy: which nodes are open is said by the address alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias
from urllib.parse import quote, unquote, urlencode

from audit.explorer.run.vocabulary import Row

Way: TypeAlias = tuple[str, ...]
"""Ids from below the top of a tree down to a node, which may be reached on several ways."""
MOST_BELOW, MOST_LINES = 24, 600
"""Nodes drawn below one, and lines of a tree, at most."""


@dataclass(frozen=True, slots=True)
class Twig:
    """A line of the tree.

    Args:
        way: How it is reached; its last id is the node.
        row: As the children of `NodePlaces`; None for a line that tells
            how many of a node's children are not drawn.
        toggle: Address of the page where it is opened, or closed; empty if nothing is below it.
        opened: Whether it is open.
        opens: Whether the nodes below it follow.
        closes: How many levels end behind it.
        more: Number of children that are not drawn, where the line says that.
    """

    way: Way
    row: Row | None = None
    toggle: str = ""
    opened: bool = False
    opens: bool = False
    closes: int = 0
    more: int = 0

    @property
    def anchor(self) -> str:
        """Its name on the page."""
        return f"at-{_in_address(self.way)}"


def open_ways(asked: Iterable[str]) -> frozenset[Way]:
    """The ways to open nodes that an address states; all nodes on a way are open."""
    ways = (tuple(unquote(id) for id in text.split("/")) for text in asked)
    return frozenset(way[:end] for way in ways for end in range(1, len(way) + 1))


def stated(ways: Iterable[Way]) -> list[str]:
    """What an address states of open nodes: each way that leads on to no other."""
    known = sorted(ways)
    passed = {way[:-1] for way in known}
    return [_in_address(way) for way in known if way not in passed]


def toggled(ways: frozenset[Way], way: Way) -> frozenset[Way]:
    """The same with one node opened; or closed, with all below it."""
    if way in ways:
        return frozenset(one for one in ways if one[: len(way)] != way)
    return ways | {way}


def tree(
    top: str, asked: Iterable[str], children: Callable[[str], Sequence[Row]]
) -> tuple[list[Twig], bool]:
    """The lines of the tree below a node, and whether it was cut for its length.

    Args:
        top: The node whose children are its first lines.
        asked: What the address states of open nodes; what there is no line of is left out.
        children: Gives the children of a node.
    """
    wanted, there = open_ways(asked), set[Way]()
    lines = list[Twig]()
    waiting: list[Twig] = _below((), children(top))[::-1]
    while waiting and len(lines) < MOST_LINES:
        twig = waiting.pop()
        if twig.row and twig.row["below"] and twig.way in wanted:
            there.add(twig.way)
            twig = replace(twig, opened=True)
            waiting += _below(twig.way, children(twig.way[-1]))[::-1]
        lines.append(twig)
    levels = [*(len(line.way) for line in lines), 1]
    ways = frozenset(there)
    return [
        replace(
            line,
            toggle=_toggle(top, line, ways),
            opens=after > level,
            closes=max(level - after, 0),
        )
        for line, (level, after) in zip(lines, pairwise(levels), strict=True)
    ], bool(waiting)


def _below(way: Way, rows: Sequence[Row]) -> list[Twig]:
    twigs = [Twig((*way, row["node"]), row) for row in rows[:MOST_BELOW]]
    more = len(rows) - MOST_BELOW
    return twigs if more <= 0 else [*twigs, Twig((*way, ""), more=more)]


def _toggle(top: str, line: Twig, ways: frozenset[Way]) -> str:
    if line.row is None or not line.row["below"]:
        return ""
    asked = {"id": top, "open": stated(toggled(ways, line.way))}
    return f"/hierarchy?{urlencode(asked, doseq=True, safe='/')}#{quote(line.anchor)}"


def _in_address(way: Way) -> str:
    return "/".join(quote(id, safe="") for id in way)
