"""The tree of an instance in a terminal: its bars, its marks, and what stands in for blocks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.cli.terminal.instance import bar, instance_lines
from audit.data.weighted_dag import InstanceTree, WeightedDag
from fixtures.labelled import tree

SHARES, WIDTHS = st.floats(0, 1), st.integers(1, 40)


def length(drawn: str) -> int:
    """The length of a bar in eighths of a column, read off its characters."""
    return sum({"█": 8, "#": 8}.get(c, 8 - (ord(c) - ord("█"))) for c in drawn.strip())


@given(SHARES, WIDTHS, st.booleans())
def test_a_bar_is_as_long_as_its_share(share: float, width: int, unicode: bool) -> None:
    drawn = bar(share, width, unicode=unicode)
    step = 1 if unicode else 8

    assert len(drawn) == width
    assert abs(length(drawn) - 8 * share * width) <= step
    assert bool(drawn.strip()) == (share > 0)


@given(SHARES, SHARES, WIDTHS, st.booleans())
def test_a_larger_share_has_no_shorter_bar(a: float, b: float, width: int, unicode: bool) -> None:
    low, high = (length(bar(s, width, unicode=unicode)) for s in sorted((a, b)))

    assert low <= high


@pytest.fixture
def instance() -> InstanceTree:
    pets = tree("dog cow < mammal", "dog < pet", "mammal pet tool < thing")
    return InstanceTree(
        WeightedDag(pets, {"cow": 1, "tool": 1}),
        WeightedDag(pets, {"dog": 0.6, "cow": 0.3, "mammal": 0.1}),
    )


def drawn(instance: InstanceTree, *, columns: int = 80, encoding: str = "utf-8") -> list[str]:
    lines = instance_lines(instance, 0.0, columns=columns, encoding=encoding)
    return [line.rstrip() for line in lines]


def test_one_tree_tells_hits_misses_and_what_is_false(instance: InstanceTree) -> None:
    assert drawn(instance)[-8:] == [
        "mark   label           score           node",
        "hit      2 ██████████    1 ██████████  thing",
        "hit      1 █████         1 ██████████  ├─ mammal  (own score 0.1)",
        "false                  0.6 ██████      │  ├─ dog  (also below pet)",
        "miss     1 █████       0.3 ███         │  └─ cow",
        "false                  0.6 ██████      ├─ pet",
        "false                  0.6 ██████      │  └─ dog  (also below mammal)",
        "miss     1 █████                       └─ tool",
    ]


def test_ascii_stands_in_where_the_terminal_has_no_blocks(instance: InstanceTree) -> None:
    shown = drawn(instance, encoding="ascii")

    assert shown[-4] == "miss     1 #####       0.3 ###         |  `- cow"
    assert all(line.isascii() for line in shown)


def test_bars_are_as_wide_as_the_terminal_lets_them(instance: InstanceTree) -> None:
    widths = [
        max(line.count("█") for line in drawn(instance, columns=columns)) // 2
        for columns in (20, 80, 120, 500)
    ]

    assert widths == [4, 10, 15, 20]


@pytest.mark.parametrize("mark", ["hit", "miss", "false"])
def test_the_marks_are_explained(instance: InstanceTree, mark: str) -> None:
    assert any(line.startswith(f"{mark} ") and "label" in line for line in drawn(instance)[:3])


def test_an_inner_node_met_again_says_where_its_parts_stand() -> None:
    diamond = tree("b c < a", "d < b", "d < c", "e < d")
    shown = drawn(InstanceTree(WeightedDag(diamond, {"e": 1})))

    assert shown[-1].endswith("└─ d  (also below b; its parts are shown above)")
    assert sum("─ e" in line for line in shown) == 1


def test_a_title_runs_nothing_in_a_terminal() -> None:
    evil = tree("b < a", titles={"b": "\x1b[2J"})
    shown = "".join(drawn(InstanceTree(WeightedDag(evil, {"b": 1}))))

    assert "\x1b" not in shown
    assert "\\x1b[2J" in shown
