"""Scenes of persons who come again, and of coders with habits."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
from numpy.random import Generator

from audit import Policy
from audit.policy.statements import Lifelong
from benchmarks.scene import Drawn, Fact, dataset, tree, zipf

CHRONIC = "b0.p0"
"""The lifelong condition; its labels are the leaves below it."""


def vanishing(rng: Generator, missed: float, by_mistake: float = 0.0, persons: int = 120) -> Drawn:
    """Stays of persons with a condition that coders leave out, of each person at a rate of its own.

    Args:
        rng: Where chance comes from.
        missed: Mean share of the stays without it; rates of persons have a correlation of .2.
        by_mistake: Share of the stays of as many others that carry it by mistake.
        persons: How many persons have it. Stays are 2 and a geometric number more, 6 on average.
    """
    hierarchy = tree(4, 5, 6)
    leaves = [node for node in hierarchy.nodes if node.count(".") == 2]
    others = [leaf for leaf in leaves if not leaf.startswith(CHRONIC)]
    own = [leaf for leaf in leaves if leaf.startswith(CHRONIC)]
    records, group, day = list[list[str]](), list[str](), list[str]()
    for number in range(2 * persons):
        has = number < persons
        rate = rng.beta(4 * missed, 4 * (1 - missed)) if has else 1 - by_mistake
        stays = 1 + int(rng.geometric(0.2))
        label = own[int(rng.integers(len(own)))]
        for stay, labels in enumerate(zipf(rng, others, stays, 4.0)):
            records.append([*labels, label] if rng.random() >= rate else labels)
            group.append(f"p{number}")
            day.append(str(date(2020, 1, 1) + timedelta(days=40 * stay + int(rng.integers(30)))))
    order = rng.permutation(len(records))
    release = dataset(
        hierarchy,
        [records[i] for i in order],
        strata=("day",),
        group=np.array(group)[order].tolist(),
        day=np.array(day)[order].tolist(),
    )
    condition = Lifelong(condition="the condition", nodes=CHRONIC)
    told = [Fact(frozenset({CHRONIC}))] if missed > 0.4 else []
    return Drawn(release, told, Policy(day="day", lifelong=(condition,)))
