"""Counts withheld beside others, worked by hand, and on a hierarchy too wide to see whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.disclosure import (
    Cell,
    Known,
    Release,
    carried,
    differing,
    is_small,
    label_sums,
    labelled_below,
    labels_at,
    only_residual_below,
    only_uninformative,
    protected,
    together,
)
from audit.disclosure.inference import Inference
from audit.disclosure.quantity import possible
from audit.disclosure.told import Told
from audit.hierarchies.hierarchy import Hierarchy
from fixtures.strategies import hierarchies as drawn_hierarchies

MIN_CELL = 11


def release(supports: dict[str, int], labelled: int) -> Release:
    """Instances of leaves ``a, b, ...`` below ``top``, one label each unless supports say more."""
    return Release(
        labelled=labelled,
        assertions=sum(supports.values()),
        parents=dict.fromkeys(supports, ("top",)),
        supports={**supports, "top": labelled},
        labels=dict.fromkeys(supports, 1),
        residual=frozenset(),
    )


def shown(supports: dict[str, int], instances: int) -> dict[str, int | str]:
    counts = {carried(node): support for node, support in supports.items()}
    told = protected(counts, release(supports, instances), MIN_CELL)
    return {cell.meets[0][1]: value for cell, value in told.items()}


def test_with_one_small_sibling_the_next_smallest_goes_too() -> None:
    assert shown({"a": 50, "b": 30, "c": 20, "d": 4}, 104) == {
        "a": 50, "b": 30, "c": ">10", "d": "<11",
    }  # fmt: skip


def test_two_small_siblings_hide_each_other() -> None:
    told = shown({"a": 50, "b": 30, "c": 5, "d": 6}, 91)

    assert told == {"a": 50, "b": 30, "c": "<11", "d": "<11"}


def test_small_siblings_that_nearly_add_up_lose_their_bounds() -> None:
    told = shown({"a": 50, "b": 30, "c": 10, "d": 10}, 100)

    assert told["a"] == 50
    assert {told["c"], told["d"]} != {"<11"} or told["b"] == ">10"


def test_the_last_label_goes_with_another_as_the_release_tells_their_sum() -> None:
    told = shown({"a": 90, "b": 80, "c": 70, "d": 4}, 120)

    assert told == {"a": 90, "b": 80, "c": ">10", "d": "<11"}


def test_a_count_that_just_may_be_shown_is_withheld_as_a_bound_that_may_be() -> None:
    supports = {f"n{number:02}": 50 + number for number in range(30)} | {"n00": 11, "small": 10}

    assert shown(supports, 200)["n00"] == ">10"


def test_the_last_of_many_labels_does_so_too() -> None:
    supports = {f"n{number:02}": 50 + number for number in range(30)} | {"small": 3}
    told = shown(supports, 200)

    assert [node for node, value in told.items() if isinstance(value, str)] == ["n00", "small"]


def test_a_sibling_of_many_is_protected_by_their_sum() -> None:
    supports = {f"n{number:02}": 20 + number for number in range(30)} | {"small": 3}
    total = sum(supports.values())
    counts = {carried(node): support for node, support in supports.items()}
    told = protected({**counts, carried("top"): total}, release(supports, total), MIN_CELL)

    assert told[carried("small")] == "<11"
    assert [cell for cell, value in told.items() if value == ">10"] == [carried("n00")]


def test_siblings_out_of_sight_are_at_most_their_sum() -> None:
    """Labels of a depth of their own each, so that no sum of labels is known: ``top`` tells it."""
    supports = {f"n{number:02}": 20 + number for number in range(30)} | {"small": 3}
    labels = {node: depth for depth, node in enumerate(supports)}
    total = sum(supports.values())
    counts = {carried(node): n for node, n in {**supports, "top": total}.items()}
    told = protected(counts, replace(release(supports, total), labels=labels), MIN_CELL)
    fewer = {cell: n for cell, n in counts.items() if cell != carried("n07")}
    alone = protected(fewer, replace(release(supports, total), labels=labels), MIN_CELL)

    assert [cell for cell, n in told.items() if n != counts[cell]] == [
        carried("n00"), carried("small"),
    ]  # fmt: skip
    assert alone == {**fewer, carried("small"): "<11"}


def test_what_siblings_out_of_sight_leave_of_their_parent_is_inferred() -> None:
    """Beside ``top`` there are 500 instances, so that not all of them have one of its children."""
    supports = {f"n{number:02}": 20 + number for number in range(30)}
    of = replace(
        release({**supports, "small": 3, "else": 500}, sum(supports.values()) + 503),
        parents=dict.fromkeys((*supports, "small"), ("top",)),
    )
    told = {carried(node): n for node, n in supports.items()}
    counts = {**told, carried("small"): 3, carried("top"): sum(supports.values()) + 3}
    small = ((1, carried("small")),)

    def least(values: dict[Cell, int]) -> float:
        inference = Inference.of(small, Told(of, values, ()))
        shown = {**values, carried("small"): "<11"}
        return inference.least(
            small, (1,), 1, lambda cell: possible(shown.get(cell), of.total(cell), MIN_CELL)
        )[0]

    assert least(counts) == pytest.approx(3)
    assert least(dict.fromkeys(told, 0) | {carried("top"): 5}) == pytest.approx(5)


def test_a_small_child_that_nobody_publishes_is_not_what_its_siblings_leave() -> None:
    """Of 58 at or below ``left`` at most 55 have one of two children: the third has three."""
    labels = {f"n{number:02}": 50 for number in range(12)} | {"a": 30, "b": 25, "c1": 2, "c2": 2}
    parents = dict.fromkeys("abc", ("left",)) | dict.fromkeys(("c1", "c2"), ("c",))
    of = replace(
        release(labels, 640),
        parents={**dict.fromkeys((*labels, "left"), ("top",)), **parents},
        supports={**labels, "c": 3, "left": 58},
    )
    counts = {carried("left"): 58, carried("a"): 30, carried("b"): 25}

    assert protected(counts, of, MIN_CELL) != counts


def test_each_union_of_siblings_out_of_sight_is_one_of_its_own() -> None:
    """Of both nodes above ``small`` most children are out of sight: two unions beside the sets."""
    children = {f"{node}{n:02}": node for node in ("left", "right") for n in range(30)}
    supports = {node: 20 + n for n, node in enumerate(children)} | {"small": 3}
    parents = {node: (above,) for node, above in children.items()}
    of = replace(
        release(supports, 2000),
        parents={**parents, "small": ("left", "right"), "left": ("top",), "right": ("top",)},
    )
    counts = {carried(node): support for node, support in supports.items()}
    around = {carried(node): 1000 for node in ("left", "right")}
    inference = Inference.of(((1, carried("small")),), Told(of, counts | around, ()))
    left, right = map(inference.meets, inference.rests)

    assert {cells[0].meets[0][1][:4] for cells in inference.rests} == {"left", "righ"}
    assert {(False, True), (True, False)} <= set(zip(left, right, strict=True))


def test_a_joint_that_both_supports_tell_takes_one_of_them_along() -> None:
    supports = {"a": 60, "b": 45, "c": 15}
    pair = together(carried("a"), carried("b"))
    counts = {carried("a"): 60, carried("b"): 45, pair: 5}
    told = protected(counts, release(supports, 100), MIN_CELL)

    assert told[pair] == "<11"
    assert {told[carried("a")], told[carried("b")]} - {60, 45}


def test_a_side_that_a_pair_fills_tells_what_the_other_side_has_beyond_it() -> None:
    """All 35 with ``c`` have ``a`` too: with that told, five have ``a`` alone."""
    both = together(carried("a"), carried("c"))
    counts = {carried("a"): 40, carried("c"): 35, both: 35}
    supports = {f"n{number:02}": 30 for number in range(12)} | {"a": 40, "c": 35}
    told = protected(counts, release(supports, 100), MIN_CELL)

    assert told == {carried("a"): 40, carried("c"): ">29", both: ">29"}


def test_few_with_neither_of_two_labels_take_one_of_the_counts_along() -> None:
    supports = {f"n{number:02}": 30 for number in range(12)} | {"a": 60, "b": 55}
    both = together(carried("a"), carried("b"))
    few = protected(
        {carried("a"): 60, carried("b"): 55, both: 20}, release(supports, 100), MIN_CELL
    )
    many = {carried("a"): 60, carried("b"): 55, both: 30}

    assert few == {carried("a"): 60, carried("b"): 55, both: ">10"}
    assert protected(many, release(supports, 100), MIN_CELL) == many


def test_few_labels_at_a_node_itself_are_not_told_by_those_below_it() -> None:
    """Of 55 at or below ``left``, 52 have a label below it, 30 each of its children."""
    many = {f"n{number:02}": 50 for number in range(12)}
    of = Release(
        labelled=655,
        assertions=663,
        parents={"a": ("left",), "b": ("left",), **dict.fromkeys([*many, "left"], ("top",))},
        supports={**many, "a": 30, "b": 30, "left": 55, "top": 655},
        labels={"left": 1, "a": 2, "b": 2, **dict.fromkeys(many, 1)},
        residual=frozenset(),
    )
    told = protected({carried("left"): 55, labelled_below("left"): 52}, of, MIN_CELL)

    assert told == {carried("left"): 55, labelled_below("left"): ">10"}


def test_labels_at_a_depth_are_counts_of_the_release(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_sums, "MANY_LABELS", 0)
    supports = {"a": 60, "b": 45, "c": 15}
    told = protected({labels_at(1): 120}, release(supports, 100), MIN_CELL)

    assert told == {labels_at(1): 120}


def test_nothing_published_is_nothing_shown() -> None:
    assert protected(dict[Cell, int](), release({"a": 60}, 60), MIN_CELL) == {}


def test_a_bound_says_no_less_than_a_published_part_of_it() -> None:
    """All of 30 with both are 30; their 34 and 33 are withheld for the few that have one alone."""
    of = Release(
        labelled=100,
        assertions=140,
        parents={"a": ("top",), "b": ("top",), "c": ("top",)},
        supports={"a": 34, "b": 33, "c": 73, "top": 100},
        labels={"a": 1, "b": 1, "c": 1},
        residual=frozenset(),
    )
    both = together(carried("a"), carried("b"))
    told = protected({carried("a"): 34, carried("b"): 33, both: 30}, of, MIN_CELL)
    least = {cell: n if isinstance(n, int) else int(n[1:]) + 1 for cell, n in told.items()}

    assert any(isinstance(n, str) for n in told.values())
    assert least[carried("a")] >= least[both]
    assert least[carried("b")] >= least[both]


def test_a_count_of_all_is_never_told_as_all_but_few() -> None:
    """All 105 have ``b`` and all but three ``a``: what both have bounds ``a``, but not ``b``."""
    of = release({"a": 102, "b": 105, "c": 2}, 105)
    both = together(carried("a"), carried("b"))
    counts = {carried("a"): 102, carried("b"): 105, carried("c"): 2, both: 102}
    told = protected(counts, of, MIN_CELL)

    assert told[both] == ">94"
    for cell, count in counts.items():
        least, most = possible(told[cell], 105, MIN_CELL)
        assert least <= count <= most


def below_two_branches(labelled: int, **supports: int) -> Release:
    """Labels ``a, other`` below ``left`` and ``c`` below ``right``; ``other`` is residual."""
    parents = {"left": ("top",), "right": ("top",), "a": ("left",), "other": ("left",)}
    return Release(
        labelled=labelled,
        assertions=sum(supports[label] for label in ("a", "other", "c")),
        parents={**parents, "c": ("right",)},
        supports={**supports, "top": labelled},
        labels={"a": 2, "other": 2, "c": 2},
        residual=frozenset({"other"}),
    )


def test_a_share_that_is_withheld_tells_neither_of_its_counts() -> None:
    """One instance has ``a`` and ``other``: none has ``other`` alone, which nothing shown says."""
    of = below_two_branches(70, a=30, other=1, left=30, right=40, c=40)
    share = only_residual_below("left"), labelled_below("left")
    counts = {share[0]: 0, share[1]: 30, carried("left"): 30, carried("right"): 40}
    lines = protected(counts, of, MIN_CELL)
    alone = protected(counts, of, MIN_CELL, shares=[share])

    assert sum(isinstance(told, str) for told in alone.values()) <= sum(
        isinstance(told, str) for told in lines.values()
    )
    assert isinstance(alone[share[1]], str)


def test_a_total_written_beside_a_count_is_protected_with_it() -> None:
    supports = {"a": 60, "b": 45, "c": 15}
    both = together(carried("a"), carried("b"))
    far = protected({both: 30}, release(supports, 100), MIN_CELL)
    near = protected({both: 30}, release(supports, 100), MIN_CELL, beside=[(both, {38})])

    assert far == {both: 30}
    assert near == {both: ">27"}


def test_of_two_labels_on_sides_that_share_some_only_that_there_are_any_is_shown() -> None:
    of = Release(
        labelled=100,
        assertions=130,
        parents={"a": ("left",), "both": ("left", "right"), "c": ("right",)},
        supports={"a": 40, "both": 40, "c": 50, "left": 80, "right": 90},
        labels={"a": 1, "both": 1, "c": 1},
        residual=frozenset(),
    )

    assert protected({differing("left", "right"): 30}, of, MIN_CELL) == {
        differing("left", "right"): ">0"
    }
    assert protected({differing("left", "right"): 0}, of, MIN_CELL) == {
        differing("left", "right"): 0
    }


def labelled_inside(below: int) -> tuple[Release, dict[Cell, int]]:
    """One label each: of 55 at or below ``left``, so many have ``a`` and the others ``left``."""
    of = Release(
        labelled=100,
        assertions=100,
        parents={"left": ("top",), "c": ("top",), "a": ("left",), "b": ("left",)},
        supports={"a": below, "c": 45, "left": 55, "top": 100},
        labels={"left": 1, "a": 2, "c": 3},
        residual=frozenset(),
    )
    counts = {carried("left"): 55, carried("c"): 45, only_uninformative("top"): 55 - below}
    return of, counts


def test_instances_with_uninformative_labels_only_tell_those_that_have_others() -> None:
    many, counts = labelled_inside(20)
    few, telling = labelled_inside(3)

    assert many.uninformative == {"left"}
    assert protected(counts, many, MIN_CELL) == counts
    assert ">10" in protected(telling, few, MIN_CELL).values()


@given(drawn_hierarchies(), st.data())
def test_labels_that_say_little_are_those_of_the_hierarchy(
    hierarchy: Hierarchy, data: st.DataObject
) -> None:
    labels = data.draw(st.sets(st.sampled_from(hierarchy.nodes)))
    of = Release(
        labelled=1,
        assertions=1,
        parents={
            node: hierarchy.parents(node) for node in hierarchy.nodes if hierarchy.parents(node)
        },
        supports={},
        labels=dict.fromkeys(sorted(labels), 0),
        residual=frozenset(),
    )
    little = {hierarchy.nodes[node] for node in np.flatnonzero(hierarchy.uninformative)}

    assert of.uninformative == little & labels
    assert of.root == (hierarchy.nodes[hierarchy.root] if len(hierarchy) > 1 else None)


@pytest.mark.parametrize("number", [12, 40])
def test_a_joint_that_its_parent_tells_is_protected_on_a_wide_hierarchy_too(number: int) -> None:
    """All 100 below ``left`` have ``a`` or ``b``: 60, 45 and 100 tell that five have both.

    So does it that these and the others are all 700, and that there are five labels more: one of
    the others is withheld.
    """
    others = {f"n{place}": 50 for place in range(number)}
    of = Release(
        labelled=100 + 50 * number,
        assertions=105 + 50 * number,
        parents={
            "a": ("left",),
            "b": ("left",),
            "left": ("top",),
            **dict.fromkeys(others, ("top",)),
        },
        supports={**others, "a": 60, "b": 45, "left": 100, "top": 100 + 50 * number},
        labels={"a": 2, "b": 2, **dict.fromkeys(others, 1)},
        residual=frozenset(),
    )
    both = together(carried("a"), carried("b"))
    counts = {carried("left"): 100, carried("a"): 60, carried("b"): 45, both: 5}
    far = {carried(node): n for node, n in others.items()}
    told = protected({**counts, **far}, of, MIN_CELL)

    assert told[both] == "<11"
    assert any(told[cell] == ">10" for cell in counts)
    assert sorted(map(str, (told[cell] for cell in far))) == ["50"] * (number - 1) + [">10"]


def test_a_child_that_is_not_published_is_not_told_by_its_siblings() -> None:
    """Of 109 below ``left`` four have neither ``a`` nor ``b``; no depth has two labels."""
    others = {f"n{place}": 50 for place in range(40)}
    below = {"a": 60, "b": 45, "c": 4}
    of = Release(
        labelled=2109,
        assertions=2109,
        parents={**dict.fromkeys(below, ("left",)), **dict.fromkeys([*others, "left"], ("top",))},
        supports={**others, **below, "left": 109},
        labels={node: depth for depth, node in enumerate([*below, *others])},
        residual=frozenset(),
    )
    counts = {carried("a"): 60, carried("b"): 45, carried("left"): 109}

    assert protected(counts, of, MIN_CELL) == {**counts, carried("b"): ">10"}


def test_pairs_of_which_one_side_is_out_of_sight_are_left_out() -> None:
    supports = {f"n{number:02}": 50 for number in range(40)} | {"small": 3}
    pairs = {
        together(carried(one), carried("n00")): 20
        for one in supports
        if one not in ("n00", "small")
    }
    counts = {carried(node): n for node, n in supports.items()}
    told = protected({**counts, **pairs}, release(supports, 1500), MIN_CELL)

    assert told[carried("small")] == "<11"
    assert {told[pair] for pair in pairs} == {20}


def test_labels_of_two_depths_are_not_told_by_their_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_sums, "MANY_LABELS", 0)
    """The sum is known, so that 105 of the one are four of the other."""
    supports = {"a": 60, "b": 45, "c": 4}
    of = replace(release(supports, 109), labels={"a": 1, "b": 1, "c": 2})
    few = protected({labels_at(1): 105, labels_at(2): 4}, of, MIN_CELL)

    assert few == {labels_at(1): ">0", labels_at(2): "<11"}


@pytest.mark.parametrize(
    ("told", "ends"),
    [
        (None, (0, 100)),
        (40, (40, 40)),
        ("<11", (1, 10)),
        (">0", (1, 100)),
        (">88", (89, 100)),
        (">89", (90, 99)),
        (">90", (91, 100)),
    ],
)
def test_what_a_published_value_leaves_possible(
    told: int | str | None, ends: tuple[int, int]
) -> None:
    assert possible(told, 100, MIN_CELL) == ends


def test_a_bound_below_the_smallest_cell_never_reads_as_all_but_few() -> None:
    assert possible(">10", 21, MIN_CELL) == (11, 21)
    assert possible(">11", 22, MIN_CELL) == (12, 21)


@pytest.mark.parametrize(
    ("came", "value"), [(35, ">10"), (30, ">10"), (29, 79), (11, 61), (10, ">10")]
)
def test_a_remainder_that_few_came_to_is_a_bound_where_a_release_is_not_contained(
    came: int, value: int | str
) -> None:
    """Forty came in all and ``gone`` has fewer than before, so that no program sees what came."""
    supports = {f"n{number:02}": 60 for number in range(12)} | {"a": 50 + came, "gone": 30}
    then = {f"n{number:02}": 60 for number in range(12)} | {"a": 50, "gone": 70}
    counted = {carried(node): n for node, n in then.items()}
    earlier = Known(900, 900, counted, {cell: (n, n) for cell, n in counted.items()})
    now = {carried("a"): 50 + came}
    told = protected(now, release(supports, 940), MIN_CELL, Known(earlier=(earlier,)))

    assert told == {carried("a"): value}


@given(st.lists(st.integers(0, 14), min_size=10, max_size=13), st.integers(3, 11))
def test_nodes_within_each_other_tell_no_small_difference(only: list[int], min_cell: int) -> None:
    names = [f"n{place}" for place in range(len(only))]
    carry = {name: sum(only[place:]) for place, name in enumerate(names) if sum(only[place:])}
    used = {name: place for place, name in enumerate(names) if only[place]}
    chain = Release(
        labelled=sum(only) + 50,
        assertions=sum(only) + 50,
        parents={name: (above,) for name, above in zip(names, ["top", *names], strict=False)},
        supports={**carry, "top": sum(only) + 50},
        labels={"top": 0, **{name: 1 + place for name, place in used.items()}},
        residual=frozenset(),
        direct={name: only[place] for name, place in used.items()},
    )
    counts = {carried(name): n for name, n in carry.items()}
    counts |= {labels_at(1 + place): only[place] for place in used.values()}
    told = protected(counts, chain, min_cell)
    nodes = [n for cell in map(carried, carry) if isinstance(n := told[cell], int)]
    depths = [n for cell, n in told.items() if cell.of_labels and isinstance(n, int)]

    assert not any(is_small(abs(a - b), min_cell) for a in nodes for b in nodes)
    assert not any(is_small(n, min_cell) for n in depths)
    if used:
        last = told[labels_at(1 + max(used.values()))]
        ends = [last] if isinstance(last, int) else []
        assert not any(is_small(a - end, min_cell) for a in nodes for end in ends)


def test_depths_of_few_labels_are_withheld_with_others_until_many_are() -> None:
    at = {1: 3, 2: 12, 3: 30, 4: 40}
    labels = {f"l{depth}_{n}": depth for depth, many in at.items() for n in range(many)}
    used = Release(
        labelled=5000,
        assertions=50 * len(labels),
        parents=dict.fromkeys(labels, ("top",)),
        supports=dict.fromkeys(labels, 50),
        labels=labels,
        residual=frozenset(),
    )
    told = protected({labels_at(0): 0} | {labels_at(d): 50 * n for d, n in at.items()}, used, 11)

    assert list(told.values()) == [0, ">0", ">0", ">0", 2000]
