"""The scenes: how the release of each is drawn, and what is planted in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
from numpy.random import Generator

import audit
from audit import Hierarchy, Policy
from audit.hierarchy import Unlisted
from audit.policy import Companion, Exclusive
from benchmarks.scene import (
    Drawn,
    Fact,
    Scene,
    Seen,
    as_written,
    dataset,
    in_order,
    predicted,
    tree,
    zipf,
)

SEED = 13
DIAGNOSES, PROCEDURES = "diagnoses", "procedures"


def seen(name: str, number: int, instead: Mapping[str, Any] | None = None) -> Seen:
    """Draw a release of a scene, audit it, and hold what the check tells against the facts.

    Args:
        name: Of the scene.
        number: Of the release.
        instead: Lines that take the place of those of its policy.
    """
    scene = next(scene for scene in SCENES if scene.name == name)
    drawn = scene.draw(np.random.default_rng([SEED, *scene.name.encode(), number]))
    if instead:
        drawn = replace(drawn, policy=drawn.policy.model_copy(update=instead))
    return Seen.of(scene, number, drawn)


def seen_in_turn(number: int) -> Seen:
    """A release of each scene in turn: of all of them the releases 0, 1, 2 and so on."""
    return seen(SCENES[number % len(SCENES)].name, number // len(SCENES))


# Codes as written


@cache
def _icd9cm() -> Hierarchy:
    return audit.load_hierarchy("icd9cm")


@cache
def _codes(table: str, assignable: bool = True) -> tuple[str, ...]:
    """Nodes of a code set that are labels, or headings, in node order; no ranges."""
    hierarchy = _icd9cm()
    return tuple(
        node
        for node, leaf in zip(hierarchy.nodes, hierarchy.assignable, strict=True)
        if bool(leaf) == assignable
        and "-" not in node
        and node[0] not in "(@"
        and (len(node.split(".")[0]) == 2) == (table == PROCEDURES)
    )


def _plain(code: str) -> str:
    return code.replace(".", "")


def _number(code: str) -> str:
    """As a spreadsheet leaves it; codes with a letter stay."""
    return _plain(code).lstrip("0") if code[0].isdigit() else _plain(code)


def _decimal(code: str) -> str:
    """As a column of numbers with decimals is written."""
    return f"{float(code):g}" if code[0].isdigit() else code


Spelling = Callable[[str], str]


def _is_no_code(written: str, tables: Iterable[str], dotted: bool) -> bool:
    """Whether a text is neither a code of these code sets nor a heading that may have been one."""

    def spell(code: str) -> str:
        return code if dotted else _plain(code)

    return not any(
        written in {spell(code) for code in _codes(table, assignable)}
        and (assignable or table == DIAGNOSES or len(written) > 2)
        for table in tables
        for assignable in (True, False)
    )


def _lost_zeros(
    rng: Generator, clean: Spelling, damage: Spelling, tables: Sequence[str], known: bool, n: int
) -> Drawn:
    """800 records of 6 codes, ``n`` rows of the last code set damaged."""
    dotted = "." in clean("001.0")
    records = {t: zipf(rng, rng.choice(_codes(t), 1_500, False).tolist(), 800, 6) for t in tables}
    rows = [
        (f"r{i:04}", table, code)
        for table, own in records.items()
        for i, record in enumerate(own)
        for code in record
    ]
    able = [
        i for i, (_, t, code) in enumerate(rows) if t == tables[-1] and damage(code) != clean(code)
    ]
    hit = set(rng.permutation(able)[:n].tolist())
    written = [damage(row[2]) if i in hit else clean(row[2]) for i, row in enumerate(rows)]
    seen_in = [tables[-1]] if known or dotted else _BOTH
    lost = Counter(written[i] for i in hit if _is_no_code(written[i], seen_in, dotted))
    beside = frozenset({*lost, tables[-1]})
    told = [Fact(frozenset({one}), beside=beside) for one in lost]
    if known and lost:
        told = [Fact(frozenset({tables[-1]}), {"rows": lost.total(), "labels": len(lost)}, beside)]
    frame = pl.DataFrame(
        {
            "instance": [row[0] for row in rows],
            "label": written,
            "table": [row[1] if known else None for row in rows],
        },
        schema={"instance": pl.String, "label": pl.String, "table": pl.String},
    )
    return Drawn(as_written(frame, _icd9cm()), told)


def _whole_numbers(rng: Generator) -> Drawn:
    """800 records of 6 procedures that were all read as numbers, in a column with empty cells."""
    codes = rng.choice(_codes(PROCEDURES), 1_500, False).tolist()
    records = zipf(rng, codes, 800, 6)
    rows = [
        (f"r{i:04}", f"{_number(code)}.0") for i, record in enumerate(records) for code in record
    ]
    frame = pl.DataFrame(rows, schema=["instance", "label"], orient="row")
    told = Fact(frozenset({PROCEDURES, "all"}), {"of": len(rows)})
    return Drawn(as_written(frame.with_columns(table=pl.lit(PROCEDURES)), _icd9cm()), [told])


def _lacked(rng: Generator, unlisted: Unlisted, absent: int) -> Drawn:
    """Records of codes of a file of which ``absent`` labels were taken out."""
    listed = [code for code in rng.choice(_codes(DIAGNOSES), 600, False).tolist() if code < "E"]
    gone = set(rng.choice(listed, absent, replace=False).tolist())
    nodes = {code[:n] for code in listed for n in (3, 5)} | set(listed)
    lines = [
        "@\tall",
        "001-999.99\tdiagnoses",
        *(f"{node}\t{node}" for node in sorted(nodes - gone)),
    ]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "ICD9_descriptions"
        path.write_text("\n".join(lines) + "\n", "utf-8")
        hierarchy = audit.load_hierarchy(path, unlisted=unlisted)
    records = zipf(rng, listed, 500, 6)
    rows = Counter(code for record in records for code in record if code in gone)
    key = "refused" if unlisted == "refuse" else "hung"
    fact = Fact(frozenset({key}), {"rows": rows.total(), "labels": len(rows)}, frozenset(rows))
    return Drawn(dataset(hierarchy, records), [fact] if rows else ())


# Residual shares


def _residual(
    rng: Generator, share: Callable[[Generator, int], np.ndarray], stays: int = 1
) -> Drawn:
    """120 parents, about 150 records of one label below each; in groups of so many equal stays.

    A parent whose share of residual labels is .6 or more is planted, one at or below the limit is
    not; there is nothing between.
    """
    hierarchy = tree(1, 120, 4)
    shares = share(rng, 120)
    records, groups = [], []
    for parent, p in enumerate(shares.tolist()):
        for _ in range(rng.poisson(150 / stays)):
            leaf = rng.integers(2) + (0 if rng.random() < p else 2)
            for _ in range(stays):
                groups.append(f"g{len(records) // stays}")
                records.append([f"b0.p{parent}.l{leaf}"])
    policy = Policy(residual_nodes=tuple(f"b0.p{i}.l{j}" for i in range(120) for j in range(2)))
    facts = [Fact(frozenset({f"b0.p{i}"})) for i in np.flatnonzero(shares > 0.55).tolist()]
    grouped = {"group": groups} if stays > 1 else {}
    return Drawn(dataset(hierarchy, records, **grouped), facts, policy)


def _all_at(p: float) -> Callable[[Generator, int], np.ndarray]:
    return lambda rng, n: np.full(n, p)


def _half_at_the_limit(rng: Generator, n: int) -> np.ndarray:
    return np.where(np.arange(n) % 2, 0.5, 0.1)


def _ten_above(rng: Generator, n: int) -> np.ndarray:
    return np.where(np.arange(n) < 10, rng.uniform(0.65, 0.9, n), 0.5 * rng.beta(2, 2, n))


_NAMED = ("416.8 416.0", "600.01 600.00", "V46.2 V46.11", "411.89 411.1", "403.91 403.11")
"""Labels whose titles say other or unspecified of something else than themselves, and a sibling."""


def _named_after_all(rng: Generator) -> Drawn:
    """Records with a label that names one thing, though its title says other or unspecified."""
    records = [[pair.split()[int(rng.random() < 0.15)]] for pair in _NAMED for _ in range(60)]
    return Drawn(dataset(_icd9cm(), records))


# Rules


def _ruled(rng: Generator, violations: int) -> Drawn:
    """Records over a tree with rules: asked and given, given below, excused, and violated."""
    hierarchy = tree(6, 4, 4)
    background = [n for n in hierarchy.nodes if n.startswith(("b4.", "b5.")) and n[-2] == "l"]
    records = zipf(rng, background, 1_500, 3)
    policy = Policy(
        companions=(
            _rule("b0.p0", "b1.p0", unless="b2.p0"),
            _rule(("b0.p1", "b0.p2.l0"), ("b1.p1", "b1.p2"), position="before"),
        )
    )
    sets: list[tuple[list[str], int]] = [
        (["b0.p0.l0", "b1.p0.l3"], 30),
        (["b1.p0.l1", "b0.p0.l2"], 30),
        (["b0.p0.l1", "b2.p0.l0"], 30),
        (["b0.p3.l0"], 30),
        (["b1.p0.l0"], 30),
        (["b0.p2.l1"], 30),
        (["b1.p2.l2", "b0.p1.l0"], 30),
        (["b1.p1.l2", "b0.p2.l0", "b0.p1.l1"], 30),
    ]
    broken = [(["b0.p0.l0", "b1.p1.l0"], violations), (["b0.p1.l3", "b1.p0.l0"], violations)]
    behind = (["b0.p2.l0", "b1.p1.l0"], violations)
    at = iter(rng.permutation(len(records)).tolist())
    for labels, n in (*sets, *broken, behind):
        for _ in range(n):
            record = records[next(at)]
            cut = int(rng.integers(len(record) + 1))
            record[:] = [*labels[:1], *record[:cut], *labels[1:], *record[cut:]]
    facts = [
        Fact(frozenset({"b0.p0", "missing"}), {"instances": violations, "of": 60 + violations}),
        Fact(frozenset({"b0.p1", "missing"}), {"instances": violations, "of": 60 + 2 * violations}),
        Fact(frozenset({"b0.p1", "order"}), {"instances": violations, "of": 60 + violations}),
    ]
    return Drawn(in_order(hierarchy, records), facts if violations else (), policy)


def _rule(asks: str | tuple[str, ...], needs: str | tuple[str, ...], **more: str) -> Companion:
    return Companion.model_validate({"if": asks, "needs": needs, "source": "made up", **more})


def _asked_for(rng: Generator) -> Drawn:
    """2,000 independent records; 60 have a label and the one that a rule asks for beside it."""
    hierarchy = tree(6, 4, 4)
    leaves = [node for node in hierarchy.nodes if node[-2] == "l"]
    records = zipf(rng, leaves, 2_000, 3)
    for record in records[:60]:
        record[:0] = ["b0.p0.l0", "b1.p0.l0"]
    policy = Policy(companions=(_rule("b0.p0.l0", "b1.p0.l0"),))
    return Drawn(dataset(hierarchy, records), policy=policy)


_GUIDELINES = (
    ("785.52", ("995.92", "038.9"), ("995.91", "038.9")),
    ("V27.0", ("650",), ("644.03",)),
    ("403.91", ("585.6",), ("584.9",)),
    ("250.40", ("583.81",), ("362.01", "250.50")),
)
"""Nodes that ask by ICD-9-CM's guidelines, with what is right beside them and what is not enough."""


def _guidelines(rng: Generator, violations: int) -> Drawn:
    """Records of respiratory and digestive diseases; guidelines kept, and broken so many times."""
    codes = [c for c in _codes(DIAGNOSES) if "460" <= c < "490" or "500" <= c < "580"]
    records = zipf(rng, codes, 1_200, 5)
    at, facts = iter(rng.permutation(len(records)).tolist()), []
    for asks, enough, not_enough in _GUIDELINES:
        for beside, n in ((enough, 25), (not_enough, violations)):
            for _ in range(n):
                records[next(at)][:0] = [*beside, asks]
        named = frozenset({asks, "missing"})
        facts.append(Fact(named, {"instances": violations, "of": 25 + violations}))
    return Drawn(dataset(_icd9cm(), records), facts if violations else ())


def _exclusive(rng: Generator, violations: int) -> Drawn:
    """Records over a tree of which a policy declares three groups of nodes exclusive."""
    hierarchy = tree(4, 4, 4)
    free = [node for node in hierarchy.nodes if node[:2] in ("b2", "b3") and node[-2] == "l"]
    records = zipf(rng, free, 1_500, 4)
    groups = (("b0.p0", "b0.p1"), ("b0.p2.l0", ("b0.p2.l1", "b1.p2"), "b1.p3"), ("b1.p0", "b1.p1"))
    policy = Policy(exclusive=tuple(Exclusive(nodes=g, reason="made up") for g in groups))
    near = (
        ["b0.p0.l0", "b0.p0.l3"],
        ["b0.p2.l1", "b1.p2.l0"],
        ["b0.p0.l1", "b1.p0.l1"],
        ["b0.p2.l2", "b0.p2.l0"],
        ["b0.p0", "b0.p0.l2"],
        ["b0", "b0.p1.l1"],
    )
    broken = (["b0.p0.l0", "b0.p1.l3"], ["b1.p3.l0", "b0.p2.l1", "b1.p2.l0"])
    at = iter(rng.permutation(len(records)).tolist())
    for labels, n in (*((one, 20) for one in near), *((one, violations) for one in broken)):
        for _ in range(n):
            records[next(at)][:0] = labels
    facts = [
        Fact(frozenset({"b0.p0", "b0.p1"}), {"instances": violations, "of": 80 + violations}),
        Fact(frozenset({"b1.p3"}), {"instances": violations, "of": 40 + violations}),
    ]
    return Drawn(dataset(hierarchy, records), facts if violations else (), policy)


# Labels that say too little


def _roots(rng: Generator, alone: int) -> Drawn:
    """Records over three roots, so many with nothing but roots; others have a root beside more."""
    made = [
        (child, parent)
        for root in ("x", "y", "z")
        for i in range(8)
        for child, parent in (
            (f"{root}.{i}", root),
            *((f"{root}.{i}.{j}", f"{root}.{i}") for j in range(3)),
        )
    ]
    edges = pl.DataFrame(made, schema=["child", "parent"], orient="row")
    hierarchy = Hierarchy.build(edges, name="three roots")
    inner = [node for node in hierarchy.nodes if "." in node]
    records = zipf(rng, inner, 1_000, 3)
    for record in records[:200]:
        record.append("xyz"[int(rng.integers(3))])
    records += [["xyz"[i] for i in rng.permutation(3)[: 1 + rng.integers(3)]] for _ in range(alone)]
    fact = Fact(
        frozenset("xyz"),
        {"instances": alone, "of": len(records)},
        frozenset({"uninformative", "(root)"}),
    )
    return Drawn(dataset(hierarchy, records), [fact] if alone else ())


def _beside_specific(rng: Generator, both: int) -> Drawn:
    """Records with an unspecified code; so many have a specific sibling too."""
    apart = (
        ["285.8", "285.1"],
        ["285.9", "284.09"],
        ["285.9", "486"],
        ["272.4"],
        ["428.0", "427.31"],
        ["599.0", "041.49"],
    )
    together = (["285.9", "285.1"], ["272.4", "272.0"], ["414.9", "414.01"])
    records = [list(apart[i % len(apart)]) for i in range(300)]
    records += [list(together[i % len(together)]) for i in range(both)]
    fact = Fact(
        frozenset({"285.9", "285.1", "272.4", "272.0", "414.9", "414.0"}),
        {"instances": both},
        frozenset({"labels"}),
    )
    return Drawn(dataset(_icd9cm(), records), [fact] if both else ())


# Columns of the instances


def _sites(rng: Generator, apart: bool, real: int, strata: Sequence[str] = ()) -> Drawn:
    """4,000 records at two sites and of two sexes, with ``real`` pairs that go together everywhere.

    Where the sites are ``apart``, each has ten labels that the other hardly uses; the sexes
    never matter.
    """
    hierarchy = tree(8, 5, 5)
    leaves = [node for node in hierarchy.nodes if node[-2] == "l"]
    order = rng.permutation(len(leaves)).tolist()
    chance = np.full((2, len(leaves)), 0.02)
    for site in range(2 if apart else 0):
        own = order[10 * site : 10 * site + 10]
        chance[:, own] = 0.01
        chance[site, own] = 0.2
    where, sex = rng.integers(2, size=(2, 4_000))
    carried = rng.random((4_000, len(leaves))) < chance[where]
    pairs = [order[20 + 2 * i : 22 + 2 * i] for i in range(real)]
    for a, b in pairs:
        carried[:, [a, b]] |= (rng.random(4_000) < 0.02)[:, None]
    records = [[leaves[i] for i in np.flatnonzero(row).tolist()] for row in carried]
    rows = dataset(
        hierarchy,
        records,
        strata=("site", "sex"),
        site=[f"site {i}" for i in where.tolist()],
        sex=["fm"[i] for i in sex.tolist()],
    )
    return Drawn(rows, [(leaves[a], leaves[b]) for a, b in pairs], Policy(strata=tuple(strata)))  # type: ignore[arg-type]


def _site_is_told(rng: Generator, apart: bool, real: int) -> Drawn:
    drawn = _sites(rng, apart, real)
    return Drawn(drawn.dataset, [Fact(frozenset({"site"}))] if apart else (), drawn.policy)


def _pairs_stay(rng: Generator, real: int, strata: Sequence[str]) -> Drawn:
    drawn = _sites(rng, True, real, strata)
    facts = [Fact(frozenset(pair)) for pair in drawn.facts]  # type: ignore[arg-type]
    return Drawn(drawn.dataset, facts, drawn.policy)


def _branches(rng: Generator, disjoint: bool) -> Drawn:
    """Records of a label from each of several branches that a policy does not speak of, or does."""
    hierarchy = tree(8, 4, 4)
    records = [
        [f"b{b}.p{rng.integers(4)}.l{rng.integers(4)}" for b in range(8) if rng.random() < 0.5]
        for _ in range(2_000)
    ]
    both = sum({"b0", "b1"} <= {label[:2] for label in record} for record in records)
    rule = {"branches": ("b0", "b1"), "rule": "disjoint", "reason": "made up"}
    policy = Policy.model_validate({"branch_rules": (rule,) if disjoint else ()})
    fact = Fact(frozenset({"b0", "b1"}), {"instances": both})
    return Drawn(dataset(hierarchy, records), [fact] if disjoint else (), policy)


# Splits


def _split(rng: Generator, labels: int = 20, torn: int = 0, held_back: int = 0) -> Drawn:
    """Patients of 1 to 4 stays with a long tail of labels, split at random by patient.

    So many patients stand in two splits; so many labels of middling frequency are kept out of
    training with all patients that have them.
    """
    hierarchy = tree(5, 20, labels)
    leaves = [node for node in hierarchy.nodes if node[-2] == "l"]
    stays = 1 + rng.poisson(0.6, 1_500)
    patient = np.repeat(np.arange(1_500), stays)
    records = zipf(rng, leaves, len(patient), 5)
    test = (rng.random(1_500) < 0.3)[patient]
    used = Counter(label for record in records for label in record)
    middling = sorted(label for label, n in used.items() if 5 <= n <= 9)
    chosen = set(rng.choice(middling, held_back, replace=False).tolist())
    having = {int(p) for p, record in zip(patient, records, strict=True) if chosen & set(record)}
    test |= np.isin(patient, sorted(having))
    several = [p for p in np.flatnonzero(stays > 1).tolist() if p not in having][:torn]
    for p in several:
        first = int(np.flatnonzero(patient == p)[0])
        test[first] = ~test[first]
    split = ["test" if one else "train" for one in test.tolist()]
    trained = {x for r, s in zip(records, split, strict=True) if s == "train" for x in r}
    unseen = set(used) - trained
    facts = []
    if held_back:
        facts.append(Fact(frozenset({"unseen"}), {"labels": len(unseen)}))
    if torn:
        facts.append(Fact(frozenset({"group"}), {"groups": torn}))
    groups = [f"g{p}" for p in patient.tolist()]
    return Drawn(dataset(hierarchy, records, group=groups, split=split), facts)


# Models


def _model(rng: Generator, stronger: float) -> Drawn:
    """A model that finds four of five labels and adds as many by chance; it answers headings too.

    One pair of labels of different branches, on 150 of 3,000 records, is predicted ``stronger``
    times as often.
    """
    hierarchy = tree(6, 4, 4)
    leaves = [node for node in hierarchy.nodes if node[-2] == "l"]
    a, b = "b0.p0.l0", "b1.p0.l0"
    free = [leaf for leaf in leaves if leaf not in (a, b)]
    records = zipf(rng, free, 3_000, 3)
    for record in records[:150]:
        record += [a, b]
    for record in records[150:400]:
        record.append(a)
    for record in records[400:650]:
        record.append(b)
    flat = [label for record in records for label in record]
    answers = []
    for record in records:
        kept = [label for label in record if rng.random() < 0.8]
        added = rng.choice(flat, rng.binomial(len(record), 0.2)).tolist()
        answers.append([*kept, *added, *(label.rpartition(".")[0] for label in kept[:1])])
    added_pairs = round(150 * (stronger - 1))
    for answer in answers[150 : 150 + added_pairs]:
        answer += [a, b]
    fact = Fact(frozenset({a, b}))
    data = dataset(hierarchy, records)
    return Drawn(data, [fact] if added_pairs else (), predictions=predicted(answers, data))


# Severity


def _stray(rng: Generator, stray: int) -> Drawn:
    """48,389 rows, so many of them no node."""
    hierarchy = tree(6, 4, 4)
    leaves = [node for node in hierarchy.nodes if node[-2] == "l"]
    labels = rng.choice(leaves, 48_389).tolist()
    for i in rng.choice(48_389, stray, replace=False).tolist():
        labels[i] = "stray"
    severity = "error" if stray >= 48.389 else "warning"
    fact = Fact(frozenset({"stray"}), {"rows": stray}, severity=severity)
    return Drawn(dataset(hierarchy, [labels[i : i + 4] for i in range(0, 48_389, 4)]), [fact])


_BOTH = (DIAGNOSES, PROCEDURES)
SCENES = (
    Scene(
        "zeros in front, table known",
        "lost_zero",
        "60 procedures without dots lose their zeros in front.",
        partial(_lost_zeros, clean=_plain, damage=_number, tables=_BOTH, known=True, n=60),
    ),
    Scene(
        "whole numbers, table known",
        "lost_zero",
        "All procedures become numbers such as 40.0.",
        _whole_numbers,
    ),
    Scene(
        "numbers with decimals, table known",
        "lost_zero",
        "60 procedures with dots lose zeros at both ends.",
        partial(_lost_zeros, clean=str, damage=_decimal, tables=_BOTH, known=True, n=60),
    ),
    Scene(
        "numbers with decimals, one unknown table",
        "lost_zero",
        "Procedures alone with dots, no table told; 15 lose zeros.",
        partial(_lost_zeros, clean=str, damage=_decimal, tables=(PROCEDURES,), known=False, n=15),
    ),
    Scene(
        "zeros in front, two unknown tables",
        "lost_zero",
        "Both code sets, no table told; 40 diagnoses lose zeros.",
        partial(_lost_zeros, clean=_plain, damage=_number, tables=_BOTH[::-1], known=False, n=40),
    ),
    Scene(
        "numbers with decimals, unknown table",
        "lost_zero",
        "Both code sets with dots, no table told; 15 procedures lose zeros.",
        partial(_lost_zeros, clean=str, damage=_decimal, tables=_BOTH, known=False, n=15),
    ),
    Scene(
        "codes as text, table known, null",
        "lost_zero",
        "No zero is lost.",
        partial(_lost_zeros, clean=_plain, damage=_number, tables=_BOTH, known=True, n=0),
    ),
    Scene(
        "codes as text, unknown table, null",
        "lost_zero",
        "No zero is lost, with dots.",
        partial(_lost_zeros, clean=str, damage=_number, tables=_BOTH, known=False, n=0),
    ),
    Scene(
        "labels that a file lacks",
        "unknown_code",
        "Of some 500 codes a file of the hierarchy lacks 15.",
        partial(_lacked, unlisted="refuse", absent=15),
    ),
    Scene(
        "labels that are hung",
        "unknown_code",
        "The same, and the caller asks to hang them.",
        partial(_lacked, unlisted="hang", absent=15),
    ),
    Scene(
        "a file that lacks nothing, null",
        "unknown_code",
        "The file has every code.",
        partial(_lacked, unlisted="refuse", absent=0),
    ),
    Scene(
        "all parents at the limit, null",
        "residual_overuse",
        "120 parents with a true share of exactly the limit, .5.",
        partial(_residual, share=_all_at(0.5)),
    ),
    Scene(
        "all at the limit, patients repeat, null",
        "residual_overuse",
        "The same, each patient with three equal stays.",
        partial(_residual, share=_all_at(0.5), stays=3),
    ),
    Scene(
        "half of the parents at the limit, null",
        "residual_overuse",
        "60 parents at .5, 60 at .1.",
        partial(_residual, share=_half_at_the_limit),
    ),
    Scene(
        "homogeneous shares, null",
        "residual_overuse",
        "120 parents with a true share of .45.",
        partial(_residual, share=_all_at(0.45)),
    ),
    Scene(
        "ten parents above the limit",
        "residual_overuse",
        "10 parents from .65 to .9, 110 from 0 to .5.",
        partial(_residual, share=_ten_above),
    ),
    Scene(
        "titles that only sound residual, null",
        "residual_overuse",
        "Labels such as 416.8, secondary pulmonary hypertension, on most records below "
        "their parent.",
        _named_after_all,
    ),
    Scene(
        "companion rules",
        "missing_companion",
        "Two rules of a policy, each broken 12 times, one kept in the wrong order 12 "
        "times; near misses.",
        partial(_ruled, violations=12),
    ),
    Scene(
        "companion rules kept, null",
        "missing_companion",
        "The near misses alone: given, given below a needed node, excused, in the right order.",
        partial(_ruled, violations=0),
    ),
    Scene(
        "guidelines of ICD-9-CM",
        "missing_companion",
        "Four guidelines, each broken 12 times and kept 25 times.",
        partial(_guidelines, violations=12),
    ),
    Scene(
        "guidelines kept, null",
        "missing_companion",
        "The same, kept.",
        partial(_guidelines, violations=0),
    ),
    Scene(
        "exclusive nodes",
        "sibling_exclusive",
        "Two of three groups broken 8 times each; near misses on one side, or with an ancestor.",
        partial(_exclusive, violations=8),
    ),
    Scene(
        "exclusive nodes kept apart, null",
        "sibling_exclusive",
        "The near misses alone.",
        partial(_exclusive, violations=0),
    ),
    Scene(
        "labels at roots",
        "not_specific",
        "120 records with nothing but roots, 200 with a root beside more.",
        partial(_roots, alone=120),
    ),
    Scene(
        "roots beside more, null",
        "not_specific",
        "200 records with a root beside more.",
        partial(_roots, alone=0),
    ),
    Scene(
        "unspecified beside specific",
        "unspecific_beside_specific",
        "30 records; others have the two of different parents, or a catch-all of the kind other.",
        partial(_beside_specific, both=30),
    ),
    Scene(
        "unspecified alone, null",
        "unspecific_beside_specific",
        "The others alone.",
        partial(_beside_specific, both=0),
    ),
    Scene(
        "a site makes the pairs",
        "missing_stratum",
        "Two sites use ten labels each twenty times as often as the other; no pair goes "
        "together within a site.",
        partial(_site_is_told, apart=True, real=0),
    ),
    Scene(
        "a site makes some of the pairs",
        "missing_stratum",
        "The same, and three pairs go together everywhere.",
        partial(_site_is_told, apart=True, real=3),
    ),
    Scene(
        "real pairs at two sites, null",
        "missing_stratum",
        "Three pairs go together everywhere; the sites differ in nothing.",
        partial(_site_is_told, apart=False, real=3),
    ),
    Scene(
        "real pairs within a stratum",
        "unexpected_pair",
        "A site makes pairs and three go together everywhere; the site is a stratum.",
        partial(_pairs_stay, real=3, strata=("site",)),
    ),
    Scene(
        "a pair that a rule asks for, null",
        "unexpected_pair",
        "Independent records; 60 have a label and the one that a rule asks for.",
        _asked_for,
    ),
    Scene(
        "branches without a rule, null",
        "cross_branch",
        "Half of the records have labels of any two of 8 branches; no rule.",
        partial(_branches, disjoint=False),
    ),
    Scene(
        "branches with a rule",
        "cross_branch",
        "The same, and a policy calls two of them disjoint.",
        partial(_branches, disjoint=True),
    ),
    Scene(
        "a random split, null",
        "split_leak",
        "1,500 patients with 2,000 labels in a long tail, split at random by patient.",
        _split,
    ),
    Scene(
        "patients in both splits",
        "split_leak",
        "The same, 10 patients of several stays in both.",
        partial(_split, torn=10),
    ),
    Scene(
        "labels kept out of training",
        "split_leak",
        "500 labels, 40 of those on 5 to 9 records kept out of training.",
        partial(_split, labels=5, held_back=40),
    ),
    Scene(
        "a calibrated model, null",
        "model_habit",
        "A model that misses and adds by chance, and answers headings too.",
        partial(_model, stronger=1.0),
    ),
    Scene(
        "a habit made stronger",
        "model_habit",
        "The same, with one pair of labels on 2.5 times as many records.",
        partial(_model, stronger=2.5),
    ),
    Scene(
        "one stray code",
        "unknown_code",
        "One of 48,389 rows is no node: a warning, no error.",
        partial(_stray, stray=1),
    ),
    Scene(
        "strays on one row in 500",
        "unknown_code",
        "97 of 48,389 rows are no node: an error.",
        partial(_stray, stray=97),
    ),
)
"""All scenes, by check."""
