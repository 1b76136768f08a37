"""Scenes of persons who come again, and of coders with habits."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import polars as pl
from numpy.random import Generator

from audit import Hierarchy, Policy
from audit.policy.statements import Lifelong
from validation.scene import Drawn, Fact, dataset, tree, zipf

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


SITES = 4
RATES = {"children": (40.0, 25.0, 20.0, 15.0), "sites": (0.4, 0.3, 0.2, 0.1)}
"""Mean use of the four leaves of a parent, in parts, and the size of the four sites."""


def habits_of_sites(
    rng: Generator,
    moved: float,
    records: int = 10_000,
    repeated: int = 1,
    apart: bool = False,
    told: bool = True,
) -> Drawn:
    """Records of four sites below 60 parents in a long tail; one site writes a label as another.

    Args:
        rng: Where chance comes from.
        moved: Share of the first label of the most frequent parent that the second site writes as
            the second label of it.
        records: How many there are.
        repeated: Records of a person, all of one site; labels come back on four in five of them.
        apart: Whether the sites see the parents at rates of their own.
        told: Whether the persons are told as groups.
    """
    hierarchy = tree(1, 60, 4)
    parents = [node for node in hierarchy.nodes if node.count(".") == 1]
    order = rng.permutation(len(parents))
    use = 1 / (np.arange(len(parents)) + 5.0)
    seen = [use * rng.lognormal(0, 0.5, len(parents)) if apart else use for _ in range(SITES)]
    mix = rng.dirichlet(RATES["children"], len(parents))
    site = rng.choice(SITES, records // repeated, p=RATES["sites"])
    person = np.repeat(np.arange(len(site)), repeated)
    record = np.repeat(np.arange(len(person)), 1 + rng.poisson(2, len(person)))
    place = site[person][record]
    parent = np.empty(len(record), np.int64)
    for one, weights in enumerate(seen):
        there = place == one
        parent[there] = rng.choice(len(parents), there.sum(), p=weights / weights.sum())
    child = (rng.random((len(record), 1)) > np.cumsum(mix, axis=1)[parent, :3]).sum(axis=1)
    child[(parent + child == 0) & (place == 1) & (rng.random(len(record)) < moved)] = 1
    drawn, first = [set[str]() for _ in person], parents[order[0]]
    stays = np.minimum(rng.geometric(0.2, len(record)), repeated - record % repeated)
    each = zip(*(one.tolist() for one in (record, stays, order[parent], child)), strict=True)
    for start, length, where, leaf in each:
        for own in drawn[start : start + length]:
            own.add(f"{parents[where]}.l{leaf}")
    columns = {"site": [f"site {one}" for one in site[person].tolist()]}
    if told:
        columns["group"] = [f"p{one}" for one in person.tolist()]
    fact = Fact(frozenset({f"{first}.l0", f"{first}.l1", "site 1", first}))
    release = dataset(hierarchy, [*map(sorted, drawn)], strata=("site",), **columns)
    return Drawn(release, [fact] if moved else [], Policy(coding_columns=("site",)))


def copied(
    rng: Generator,
    copies: int,
    usual: float = 0.0,
    fixed: bool = False,
    templates: int = 0,
    records: int = 6000,
) -> Drawn:
    """Records of a long tail of 600 labels, some of them again under other ids.

    Args:
        rng: Where chance comes from.
        copies: How many stand again.
        usual: Share of the records that begin with six usual labels, each ticked on nine in ten.
        fixed: Whether each record has five of 20 labels.
        templates: How many are one of four templates that nobody edits.
        records: How many there are before.
    """
    hierarchy = tree(6, 5, 20)
    leaves = [node for node in hierarchy.nodes if node.count(".") == 2]
    drawn = zipf(rng, leaves[:20] if fixed else leaves, records, 5.0 if fixed else 8.0)
    if fixed:
        drawn = [rng.choice(leaves[:20], 5, replace=False).tolist() for _ in drawn]
    for own in drawn[: int(usual * records)]:
        ticked = [label for label in leaves[-6:] if rng.random() < 0.9]
        own[:] = dict.fromkeys([*ticked, *own[: rng.poisson(0.5)]])
    forms = [sorted(rng.choice(leaves, 7, replace=False)) for _ in range(4)]
    drawn += [forms[int(rng.integers(4))] for _ in range(templates)]
    long = [own for own in drawn if len(own) >= 5]
    again = [long[i] for i in rng.choice(len(long), copies, replace=False)]
    told = [Fact(frozenset({"sets"}))] if copies else []
    return Drawn(dataset(hierarchy, [*drawn, *again]), told)


def open_labels(
    rng: Generator, hurried: float, longer: bool = False, site: bool = False, persons: int = 1_500
) -> Drawn:
    """Records of persons below 60 headings, each with three specific labels and a catch-all.

    Args:
        rng: Where chance comes from.
        hurried: Share of the persons on whose records half of the specific labels are written as
            catch-alls.
        longer: Whether they are on the longer records of all instead.
        site: Whether these persons are those of one site, and the site is told as a stratum.
        persons: How many there are; each has three records, half of whose labels come back.
    """
    plain = tree(6, 10, 4)
    titles = ["Other" if node.endswith(".l3") else None for node in plain.nodes]
    nodes = plain.node_frame().select("node", title=pl.Series(titles, dtype=pl.String))
    hierarchy = Hierarchy.build(plain.edge_frame(), nodes, name="a tree with catch-alls")
    leaves = [node for node in plain.nodes if node.count(".") == 2]
    is_hurried = np.repeat(rng.random(persons) < hurried, 3)
    records, last = list[list[str]](), list[str]()
    for number, labels in enumerate(zipf(rng, leaves, 3 * persons, 6.0)):
        own = labels + [one for one in last if number % 3 and rng.random() < 0.5]
        vague = 0.05 * len(own) * longer if longer else 0.5 * is_hurried[number]
        last = [f"{one[:-2]}l3" if rng.random() < vague else one for one in dict.fromkeys(own)]
        records.append(list(dict.fromkeys(last)))
    several = sum(
        len({one.rsplit(".", 1)[0] for one in own if one.endswith(".l3")}) > 1 for own in records
    )
    columns = {"group": [f"p{number // 3}" for number in range(len(records))]}
    if site:
        columns["site"] = [f"site {int(one)}" for one in is_hurried]
    strata = ("site",) if site else ()
    release = dataset(hierarchy, records, strata=strata, **columns)
    told = hurried and not site
    fact = Fact(frozenset({"records"}), {"instances": several})
    return Drawn(release, [fact] if told else [], Policy(strata=strata))
