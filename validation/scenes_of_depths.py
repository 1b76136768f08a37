"""Scenes of labels that lie deeper or less deep than those of a reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl
from numpy.random import Generator

from audit import Hierarchy, Policy
from audit.policy.statements import Threshold
from validation.scene import Drawn, Fact, Records, dataset

DEEP, FLAT = "abcd", "e"
"""Branches of four parents with four leaves each, and one whose 16 leaves lie directly below it."""


def cut(rng: Generator, share: float) -> Drawn:
    """Labels of two of the four branches, so many of them cut to their parents since then."""
    before = [_record(rng, 0.0) for _ in range(600)]
    return _held_against(before, [_record(rng, share) for _ in range(600)], told=share > 0.5)


def mixed(rng: Generator, then: float, now: float) -> Drawn:
    """So many of the records are of the flat branch, then and now; no label is cut."""
    before, after = (
        [_flat(rng) if rng.random() < share else _record(rng, 0.0) for _ in range(600)]
        for share in (then, now)
    )
    return _held_against(before, after)


def habits(rng: Generator) -> Drawn:
    """12 persons of 40 stays each; every other one, by chance, has branches for labels.

    The policy tells any loss, so that chance alone decides.
    """
    persons = [f"p{n // 40}" for n in range(480)]
    before, after = (_stays(rng) for _ in range(2))
    drawn = _held_against(before, after, group=persons)
    return replace(drawn, policy=Policy(depth_loss=Threshold(value=0, reason="Any.")))


def _stays(rng: Generator) -> Records:
    """Stays of persons all of whose labels are leaves, or all branches."""
    stays = []
    for open_ in (rng.random(12) < 0.5).tolist():
        for _ in range(40):
            own = _record(rng, 0.0)
            stays.append(sorted({label[0] for label in own}) if open_ else own)
    return stays


def _record(rng: Generator, share: float) -> list[str]:
    """One to four labels; one in ten is a parent, and of the first two branches more are."""
    labels = set()
    for _ in range(rng.integers(1, 5)):
        branch, parent = DEEP[rng.integers(4)], rng.integers(4)
        open_ = rng.random() < 0.1 or (branch in "ab" and rng.random() < share)
        labels.add(f"{branch}{parent}" if open_ else f"{branch}{parent}.{rng.integers(4)}")
    return sorted(labels)


def _flat(rng: Generator) -> list[str]:
    return sorted({f"{FLAT}{rng.integers(16)}" for _ in range(rng.integers(1, 5))})


def _hierarchy() -> Hierarchy:
    """Branches such as ``a``, parents such as ``a1``, leaves such as ``a1.2`` or ``e12``."""
    edges = [(branch, "top") for branch in (*DEEP, FLAT)]
    edges += [(f"{branch}{n}", branch) for branch in DEEP for n in range(4)]
    edges += [(f"{b}{n}.{leaf}", f"{b}{n}") for b in DEEP for n in range(4) for leaf in range(4)]
    edges += [(f"{FLAT}{n}", FLAT) for n in range(16)]
    frame = pl.DataFrame(edges, schema=["child", "parent"], orient="row")
    return Hierarchy.build(frame, name="four deep branches and a flat one")


def _held_against(
    before: Records, after: Records, told: bool = False, **columns: Sequence[str]
) -> Drawn:
    """A release and its reference, and that labels lie less deep, where this is to be told."""
    hierarchy = _hierarchy()
    fact = Fact(
        frozenset({"shallower"}),
        {"depth": _mean_depth(after), "depth_before": _mean_depth(before)},
        frozenset({"top"}),
    )
    return Drawn(
        dataset(hierarchy, after, **columns),
        [fact] if told else (),
        reference=dataset(hierarchy, before, **columns),
    )


def _mean_depth(records: Records) -> float:
    """By the names: a branch has one letter, a leaf of a deep branch a dot."""
    depths = [1 + (len(label) > 1) + ("." in label) for record in records for label in record]
    return sum(depths) / len(depths)


def sites(
    rng: Generator,
    share: float = 0.0,
    flat: Sequence[float] = (0.1, 0.1, 0.1, 0.1),
    longer: int = 0,
    persons: int = 0,
) -> Drawn:
    """2,000 records of four sites, of which the second may cut labels or give more of them.

    Args:
        rng: Where chance comes from.
        share: Share of the labels of two of the four deep branches that it cuts to their parents.
        flat: Share of each site's records that are of the flat branch.
        longer: Labels that it adds to a record, at most.
        persons: How many persons there are, each of one site, whose labels are all leaves or all
            branches by the toss of a coin; none: every record is of another.
    """
    who = [n % persons if persons else n for n in range(2000)]
    habit = (rng.random(max(who) + 1) < 0.5).tolist()
    site = rng.choice(4, max(who) + 1, p=(0.4, 0.3, 0.2, 0.1))[who].tolist()
    records = list[list[str]]()
    for person, place in zip(who, site, strict=True):
        own = _flat(rng) if rng.random() < flat[place] else _record(rng, share * (place == 1))
        for _ in range(longer * (place == 1)):
            own = sorted({*own, *_record(rng, 0.0)[:1]})
        records.append(sorted({label[0] for label in own}) if persons and habit[person] else own)
    told = {"depth": share > 0.5, "length": longer > 0}
    columns = {"group": [f"p{one}" for one in who]} if persons else {}
    release = dataset(
        _hierarchy(), records, ("site",), site=[f"site {one}" for one in site], **columns
    )
    facts = [Fact(frozenset({"site 1", what})) for what, planted in told.items() if planted]
    return Drawn(release, facts, Policy(coding_columns=("site",)))
