"""The worlds of pairs say what is true of them, and the score says what a finding is worth."""

from __future__ import annotations

import pytest

from audit.measure import pair_excess
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


def test_what_is_found_among_siblings_is_not_expected_of_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Fifteen pairs of six siblings are a good part of the label pairs of their branch."""
    name = "siblings that attract each other"
    several = outcome(name, 0)
    monkeypatch.setattr(pair_excess, "MOST_ROUNDS", 1)
    once = outcome(name, 0)

    assert sum(once.found) < 8
    assert sum(several.found) > 11
    assert not any(told.false for told in several.told)
    assert len(several.told) < len(once.told)
