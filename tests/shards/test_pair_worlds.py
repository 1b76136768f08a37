"""The worlds of pairs say what is true of them, and the score says what a finding is worth."""

from __future__ import annotations

import pytest

from validation.pair_scores import outcome
from validation.pair_worlds import World, quick_worlds, release


def test_the_same_number_gives_the_same_release() -> None:
    for one in quick_worlds():
        first, again, other = release(one, 0), release(one, 0), release(one, 1)
        assert first.rows.equals(again.rows)
        assert first.planted == again.planted
        assert not first.rows.equals(other.rows)


@pytest.mark.slow
@pytest.mark.parametrize("one", quick_worlds(), ids=lambda one: one.name)
def test_no_finding_is_false_and_null_releases_have_none(one: World) -> None:
    for number in range(2):
        told = outcome(one.name, number)

        assert not [finding for finding in told.told if finding.false]
        if one.null:
            assert not told.told
        else:
            assert any(told.found)
