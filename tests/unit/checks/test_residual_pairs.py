"""residual_pairs: against sums over every two labels, and on releases of known habits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from audit.checks.rules.habits.residual_pairs import CHECK, Choices, choices
from audit.measure.measure import measure
from audit.policy.policy import Policy
from audit.results.findings import CheckResult, values_of
from audit.runs.audit import run_audit
from fixtures.attack import attack
from fixtures.labelled import labelled, repeated, tree

PARTS = ("lung", "heart", "skin")
BODY = tree(
    *(f"known_{part} other_{part} < {part}" for part in PARTS),
    "vague_lung < lung",
    f"{' '.join(PARTS)} < body",
    "saw hammer < tool",
    "body tool < all",
    titles={"vague_lung": "Unspecified", **{f"other_{part}": "Other" for part in PARTS}},
)


def found(counts: list[tuple[int, list[str]]], sites: Sequence[int] = ()) -> CheckResult:
    labels = repeated(counts)
    site = dict(zip(labels, map(str, sites), strict=bool(sites)))
    policy = Policy(strata=("site",) if sites else ())
    return CHECK.run(measure(labelled(BODY, labels, strata={"site": site}), policy))


def side(vague: int, part: str) -> str:
    return f"{'other' if vague else 'known'}_{part}"


def halves(together: int, apart: int) -> list[tuple[int, list[str]]]:
    """Records of two headings, both vague or both clear, and as many with one of each."""
    sides = [(together, (0, 0)), (together, (1, 1)), (apart, (0, 1)), (apart, (1, 0))]
    return [(n, [side(a, "lung"), side(b, "heart"), "saw"]) for n, (a, b) in sides]


def mostly(share: float) -> list[tuple[int, list[str]]]:
    """500 records of two independent choices, so many of them vague."""
    sides = [(a, b) for a in (0, 1) for b in (0, 1)]
    chance = [(share if a else 1 - share) * (share if b else 1 - share) for a, b in sides]
    each = zip(chance, sides, strict=True)
    return [(round(500 * p), [side(a, "lung"), side(b, "heart")]) for p, (a, b) in each]


def test_catch_alls_that_attract_each_other_are_told_with_their_pairs() -> None:
    (finding,) = found(halves(60, 20)).findings
    told = values_of(finding.evidence)

    assert (told["instances"], told["of"], told["times"]) == (60, 160, 60 / 40)
    assert 1.1 < told["times_low"] < told["times"] < told["times_high"]
    (part,) = finding.parts
    assert (part.nodes, part.evidence["instances"].value) == (("other_heart", "other_lung"), 60)
    beside = found([*halves(60, 20), (30, ["other_lung", "vague_lung", "known_heart"])])
    assert [part.nodes for part in beside.findings[0].parts] == [part.nodes]


@pytest.mark.parametrize(
    "counts",
    [
        halves(40, 40),
        halves(20, 60),
        halves(46, 34),
        halves(29, 0),
        [(50, [side(1, part) for part in PARTS])],
        [*mostly(0.2), *((n, [*own, "saw", "hammer"]) for n, own in mostly(0.8))],
    ],
    ids=[
        "by chance",
        "that avoid each other",
        "hardly more",
        "too few",
        "nothing but them",
        "in long records",
    ],
)
def test_others_are_not_told(counts: list[tuple[int, list[str]]]) -> None:
    assert found(counts).findings == ()


@pytest.mark.parametrize("seed", range(3))
def test_few_pairs_give_no_small_cell_away(seed: int) -> None:
    draw = np.random.default_rng(seed)
    sides = [(side(a, "lung"), side(b, "heart")) for a, b in ((1, 1), (0, 0), (0, 1), (1, 0))]
    sets = [*sides, *((one,) for one in chain(*sides[:2])), ()]
    times = [60 + int(draw.integers(20)) for _ in sides[:2]]
    times += draw.choice([0, 1, 3, 7, 12], len(sets) - 2).tolist()
    labels = repeated([(n, list(own)) for n, own in zip(times, sets, strict=True)])
    result = run_audit(labelled(BODY, labels), Policy(min_cell=11))
    truth = {frozenset(own): n for own, n in zip(sets, times, strict=True)}

    assert any(f.check == "residual_pairs" for check in result.checks for f in check.findings)
    assert list(attack(BODY, truth, result).broken(11)) == []


def test_a_site_that_leaves_labels_open_is_told_unless_it_is_a_stratum() -> None:
    counts = [*mostly(0.2), *mostly(0.8)]
    assert len(found(counts).findings) == 1
    assert found(counts, [0] * 500 + [1] * 500).findings == ()


def test_it_says_why_it_does_not_apply() -> None:
    few = "too few instances have labels below two headings that have catch-alls"

    assert found([(90, ["other_lung", "saw"])]).not_applicable == few
    assert found(halves(40, 40)).status == "pass"


@given(
    st.lists(
        st.tuples(
            st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=2, max_size=3),
            st.integers(0, 3),
        ),
        min_size=2,
        max_size=12,
    )
)
def test_it_is_the_sum_over_every_two_choices(
    drawn: list[tuple[list[tuple[int, bool]], int]],
) -> None:
    lines = [(i, h, int(vague), who) for i, (own, who) in enumerate(drawn) for h, vague in own]
    instance, heading, vague, group = np.array(lines, np.int64).T
    zero = np.zeros(len(drawn), np.int64)[instance]
    share = [float(np.mean(vague[heading == h])) for h in heading]
    left = vague - np.array(share)
    spread = [s * (1 - s) for s in share]
    left = left - np.array(spread) * (left.sum() / sum(spread) if sum(spread) else 0)
    by_group = dict.fromkeys(range(4), 0.0)
    both = 0
    for i, j in combinations(range(len(lines)), 2):
        if instance[i] == instance[j]:
            both += int(vague[i] * vague[j])
            by_group[lines[i][3]] += left[i] * left[j]
    made = Choices(instance, heading, vague, zero, group)

    observed, expected, reach = made.pairs
    assert observed == both
    assert observed - expected == pytest.approx(sum(by_group.values()), abs=1e-9)
    error = np.sqrt(sum(n**2 for n in by_group.values()))
    wide = t.ppf(0.975, max(len(set(group.tolist())) - 1, 1))
    assert reach == pytest.approx(wide * error, abs=1e-9)


@given(
    st.lists(
        st.sets(st.sampled_from([side(vague, part) for vague in (0, 1) for part in PARTS])),
        min_size=1,
    )
)
def test_each_heading_of_an_instance_is_one_choice(records: list[set[str]]) -> None:
    labels = {f"i{number:04}": sorted(one) for number, one in enumerate(records)}
    made = choices(measure(labelled(BODY, labels), Policy()))
    expected = []
    for i, own in enumerate(records):
        met = [part for part in sorted(PARTS) if own & {side(0, part), side(1, part)}]
        expected += [(i, part, int(side(1, part) in own)) for part in met if len(met) > 1]

    names = [BODY.nodes[node] for node in made.heading]
    assert list(zip(made.instance, names, made.vague, strict=True)) == expected
