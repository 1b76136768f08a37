"""The tree of the hierarchy: its address says what is open, and says it in one way alone."""

from __future__ import annotations

from collections.abc import Sequence
from html import unescape
from urllib.parse import parse_qs, unquote, urlsplit

from hypothesis import given
from hypothesis import strategies as st

from audit.explorer.run.paged_tables import Row
from audit.explorer.views.hierarchy import MOST_BELOW, MOST_LINES, Twig, open_ways, stated, tree
from audit.hierarchies.hierarchy import Hierarchy
from fixtures.strategies import hierarchies

WAYS = st.lists(st.lists(st.text(min_size=1, max_size=3), min_size=1, max_size=4).map(tuple))


def children_of(hierarchy: Hierarchy, node: str) -> Sequence[Row]:
    return [
        {"node": child, "below": len(hierarchy.children(child)), "support": 1}
        for child in hierarchy.children(node)
    ]


def asked_by(address: str) -> list[str]:
    return parse_qs(urlsplit(unescape(address)).query).get("open", [])


def drawn(hierarchy: Hierarchy, top: str, asked: Sequence[str]) -> list[Twig]:
    lines, cut = tree(top, asked, lambda node: children_of(hierarchy, node))
    assert not cut
    return lines


@given(WAYS)
def test_what_is_stated_is_read_again(ways: list[tuple[str, ...]]) -> None:
    every = frozenset(way[:end] for way in ways for end in range(1, len(way) + 1))

    assert open_ways(stated(every)) == every
    assert stated(open_ways(stated(every))) == stated(every)


@given(hierarchies(), st.data())
def test_a_toggle_opens_and_the_next_one_closes_again(
    hierarchy: Hierarchy, data: st.DataObject
) -> None:
    top = hierarchy.nodes[hierarchy.root]
    asked: list[str] = []
    for _ in range(4):
        lines = drawn(hierarchy, top, asked)
        closed = [line for line in lines if line.toggle and not line.opened]
        for line in lines:
            assert bool(line.toggle) == bool(hierarchy.children(line.way[-1]))
        if not closed:
            break
        chosen = data.draw(st.sampled_from(closed))
        then = asked_by(chosen.toggle)
        after = {line.way: line for line in drawn(hierarchy, top, then)}
        below = [way[-1] for way in after if way[:-1] == chosen.way]

        assert after[chosen.way].opened
        assert sorted(below) == sorted(hierarchy.children(chosen.way[-1]))
        assert {line.way for line in lines} <= after.keys()
        assert asked_by(after[chosen.way].toggle) == stated(open_ways(asked))
        assert unquote(urlsplit(chosen.toggle).fragment) == chosen.anchor
        asked = then


@given(hierarchies())
def test_what_closes_takes_all_below_with_it(hierarchy: Hierarchy) -> None:
    top = hierarchy.nodes[hierarchy.root]
    asked: list[str] = []
    while closed := [x for x in drawn(hierarchy, top, asked) if x.toggle and not x.opened][:1]:
        asked = asked_by(closed[0].toggle)
    lines = drawn(hierarchy, top, asked)

    assert sum(line.opens for line in lines) == sum(line.closes for line in lines)
    assert len({line.anchor for line in lines}) == len(lines)
    for opened in (line for line in lines if line.opened):
        after = drawn(hierarchy, top, asked_by(opened.toggle))
        left = {line.way for line in lines if line.way[: len(opened.way)] != opened.way}
        assert {line.way for line in after} == left | {opened.way}


def test_what_the_hierarchy_lacks_is_left_out_of_every_address() -> None:
    rows = {"": [{"node": "a", "below": 1}, {"node": "b", "below": 1}], "a": [], "b": []}
    lines, _ = tree("", ["nowhere/a", "", "a/x", "%00"], lambda node: rows.get(node, []))

    assert [line.opened for line in lines] == [True, False]
    assert asked_by(lines[1].toggle) == ["a", "b"]


def test_many_children_and_long_trees_are_cut_and_say_so() -> None:
    def children(node: str) -> Sequence[Row]:
        return [{"node": f"{node}{place:02}", "below": 30} for place in range(30)]

    lines, cut = tree("", [], children)
    assert [line.more for line in lines] == [0] * MOST_BELOW + [30 - MOST_BELOW]
    assert not cut

    lines, cut = tree("", [f"{place:02}" for place in range(MOST_BELOW)], children)
    assert (len(lines), cut) == (MOST_LINES, True)
    assert sum(line.opens for line in lines) == sum(line.closes for line in lines)
