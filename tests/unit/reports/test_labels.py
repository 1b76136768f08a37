"""Labels of pictures: never wider than their room, and saying what fits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from audit._reports.words.words import PAIR_SIDE, columns_of, node_label, pair_label

ids = st.text("0123456789.-/mE", min_size=1, max_size=30)
titles = st.none() | st.text(max_size=60)


@given(ids, titles, st.integers(2, 50))
def test_a_label_is_no_wider_than_its_room(node: str, title: str | None, width: int) -> None:
    assert columns_of(node_label(node, title, width)) <= width


@given(ids, titles)
def test_a_label_with_room_says_all(node: str, title: str | None) -> None:
    assert node_label(node, title, 200) == f"{node} {title or ''}".strip()


def test_a_pair_is_two_labels() -> None:
    pair = {"a": "401.9", "title_a": "Unspecified essential hypertension", "b": "7", "title_b": ""}
    first, second = pair_label(pair).split(" × ")
    assert first.startswith("401.9 Unspecified")
    assert columns_of(first) <= PAIR_SIDE
    assert second == "7"
