"""Releases with planted faults: which of them are found, and what is found beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import TypeAlias

import numpy as np
import polars as pl
from scipy.sparse import csr_array

import audit
from audit.data.dataset import LabelDataset
from audit.data.mapping import REASONS
from audit.data.predictions import Predictions, map_predictions
from audit.data.raw_predictions import RawPredictions
from audit.policy.policy import Policy
from audit.results.findings import Finding
from audit.results.result import AuditResult
from fixtures.synthetic import (
    BothLabels,
    ConfinedNode,
    CrossBranchHabit,
    DuplicateInstances,
    DuplicateLabels,
    DuplicatePersons,
    EmptyInstances,
    Exchanged,
    Fault,
    FirstPlace,
    HeadingLabels,
    LostZeros,
    MalformedCodes,
    OtherVersionCodes,
    ParentBesideChild,
    RecordCap,
    Release,
    ResidualOveruse,
    UnknownCodes,
    UnlistedCodes,
    WrongTable,
    careless_model,
    draw_sites,
    draw_splits,
    make_release,
    plant,
)
from fixtures.synthetic.columns import SPLITS
from validation.truth_releases import DISEASES, Sites, as_read, icd9cm, icd9cm_with_sites

SEED = 20_240
LEAST, MOST = 3_000, 6_000
"""Instances of a release."""
LABELS = 10.0
"""Labels an instance, on average."""
CAPPED = 1_200
"""Records that reach a length: of persons' a cap is told from 1,001 on."""
STATISTICAL = (
    "record_cap",
    "drift",
    "group_confined",
    "residual_overuse",
    "unexpected_pair",
    "redundant_nodes",
    "model_confuses",
)
"""Checks that judge by chance; the others judge by a rule."""
_HABIT, _ALWAYS = "V45.81", "V10.3"
_CODES = (
    "unknown_code",
    "malformed_code",
    "retired_code",
    "duplicates",
    "not_specific",
    "missing_companion",
)
"""Checks that a damaged code may rightly be told by too: it can be read as another."""
_DAMAGED = (*_CODES, "model_confuses")
"""The same where it is read as another code, which the model does not answer."""


@dataclass
class Draft:
    """A release while faults are planted in it.

    Args:
        release: As it stands.
        sites: Nodes for faults.
        rng: Source of all chance.
        named: For each kind that is planted the names that its finding must give.
        allowed: For each check the names that its findings may give.
        pairs: The ends of associations, each with all nodes above it.
        torn: How many groups stand in two splits.
        copied: The ids of groups that are copies of another, in order.
        mistakes: What the model does wrong; None without a model.
    """

    release: Release
    sites: Sites
    rng: np.random.Generator
    named: dict[str, frozenset[str]] = field(default_factory=dict)
    allowed: dict[str, set[str]] = field(default_factory=dict)
    pairs: list[tuple[frozenset[str], frozenset[str]]] = field(default_factory=list)
    torn: int = 0
    copied: list[str] = field(default_factory=list)
    mistakes: list[Exchanged] | None = None

    def add(self, fault: Fault, *checks: str) -> None:
        """Plant a fault whose rows these checks may tell."""
        before = self.release
        self.release = plant(before, fault, np.random.default_rng(self.rng.integers(1 << 32)))
        done = self.release.planted[-1]
        rows = [*done.rewritten, *done.added, *done.removed]
        labels = pl.concat(
            [r.rows.filter(pl.col("row").is_in(rows))["label"] for r in (before, self.release)]
        )
        self.allow(checks, (*labels.drop_nulls(), *done.nodes))
        self.allow(["empty_instance"], REASONS)

    def allow(self, checks: Iterable[str], names: Iterable[str] = ()) -> None:
        """Let findings of these checks give these names, and the root."""
        root = self.release.hierarchy.nodes[self.release.hierarchy.root]
        known = {_plain(name) for name in (root, *names)}
        for check in checks:
            self.allowed.setdefault(check, set()).update(known)

    def goes_together(self, a: str, b: str) -> None:
        """Let findings on pairs tell that two nodes, or any above them, meet too often."""
        hierarchy = self.release.hierarchy
        first, second = (
            frozenset(map(_plain, hierarchy.ancestors(end, with_self=True))) for end in (a, b)
        )
        self.pairs.append((first, second))

    def is_together(self, nodes: Sequence[str]) -> bool:
        """Whether two nodes are, or lie above, the ends of an association."""
        a, b = map(_plain, nodes)
        return any((a in x and b in y) or (a in y and b in x) for x, y in self.pairs)


Planting: TypeAlias = Callable[[Draft], Iterable[str]]
"""Plants a fault and gives the names that its finding must give; none: any finding will do."""


@dataclass(frozen=True)
class Kind:
    """One kind of fault.

    Args:
        name: What it is called.
        check: The check that has to find it.
        effect: How large it is.
        plant: Plants it.
        key: Key of that finding; empty: any of the check.
        lengthens: Whether it makes records longer, and so hides where they were cut.
        p: How often it is planted.
    """

    name: str
    check: str
    effect: str
    plant: Planting
    key: str = ""
    lengthens: bool = False
    p: float = 0.5


@dataclass(frozen=True)
class Outcome:
    """What an audit made of one release.

    Args:
        instances: Of the release.
        found: For each kind that was planted whether it was found.
        standing: Findings of each check that stand.
        false: Check and names of findings that nothing planted explains.
        family: What each check looked at.
        crashed: Checks that did not run through.
    """

    instances: int
    found: dict[str, bool]
    standing: dict[str, int]
    false: tuple[tuple[str, tuple[str, ...]], ...]
    family: dict[str, int]
    crashed: tuple[str, ...]


def _faulty(fault: Callable[[Sites], Fault], *checks: str, names: Sequence[str] = ()) -> Planting:
    """A fault whose finding must give these names, or the nodes that it is about."""

    def planted(draft: Draft) -> Iterable[str]:
        draft.add(fault(draft.sites), *checks)
        return names or draft.release.planted[-1].nodes

    return planted


def _cap(draft: Draft) -> Iterable[str]:
    lengths = draft.release.rows.group_by("instance").len()["len"].sort(descending=True)
    draft.add(RecordCap(int(lengths[CAPPED])), "record_cap")
    draft.allow(["record_cap"])
    return ()


def _habit(draft: Draft) -> Iterable[str]:
    beside = draft.sites.beside
    draft.add(CrossBranchHabit(beside, _HABIT, 0.3))
    return _across(draft, beside, _HABIT)


def _always(draft: Draft) -> Iterable[str]:
    beside = draft.sites.always
    draft.add(CrossBranchHabit(beside, _ALWAYS, 1.0))
    _across(draft, beside, _ALWAYS)
    return beside, _ALWAYS


def _across(draft: Draft, beside: str, node: str) -> Iterable[str]:
    """Let findings tell that a node stands beside another; the node that the map names."""
    hierarchy = draft.release.hierarchy
    above = hierarchy.ancestors(node, with_self=True)
    draft.allow(["cross_branch"], (*above, DISEASES))
    draft.allow(["redundant_nodes"], (*above, *hierarchy.ancestors(beside, with_self=True)))
    draft.goes_together(beside, node)
    return [node for node in above if hierarchy.depth[hierarchy.index(node)] == 3]


def _confined(draft: Draft) -> Iterable[str]:
    node, instead = draft.sites.confined
    known = draft.release.instances.join(_sites(draft.release), on="instance")
    groups = known.filter(pl.col("site") == "site 1")["group"].unique().sort()
    draft.add(ConfinedNode(node, instead, tuple(groups)))
    draft.allow(["group_confined", "drift"], [node, instead])
    return (node,)


def _residual(draft: Draft) -> Iterable[str]:
    draft.add(ResidualOveruse((draft.sites.residual,), p=0.8))
    below = draft.release.hierarchy.descendants(draft.sites.residual, with_self=True)
    draft.allow(["residual_overuse"], below)
    return (draft.sites.residual,)


def _parent_of_exchanged(draft: Draft) -> Iterable[str]:
    (parent,) = draft.release.hierarchy.parents(draft.sites.exchanged[0])
    draft.add(ParentBesideChild((parent,), p=0.1), "not_specific", "parent_and_child")
    draft.allow(["parent_and_child"], draft.release.hierarchy.descendants(parent))
    return (parent,)


def _torn(draft: Draft) -> Iterable[str]:
    draft.torn = 10
    draft.allow(["split_leak"], SPLITS)
    return ()


def _exchange(draft: Draft) -> Iterable[str]:
    a, b = draft.sites.exchanged
    draft.mistakes = [Exchanged(a, b, 0.3)]
    draft.allow(["model_confuses"], (a, b))
    return a, b


def _second_ids(draft: Draft) -> Iterable[str]:
    """Persons under two ids; what else is drawn of the release stays as it would be without."""
    before, rng = draft.release, draft.rng.spawn(1)[0]
    draft.release = plant(before, DuplicatePersons(10), rng)
    groups = (release.instances["group"] for release in (draft.release, before))
    draft.copied = sorted(set(next(groups)) - set(next(groups)))
    return ()


def _exclusive(draft: Draft) -> Iterable[str]:
    """Two kinds of hypertension, both new to the release: they stand together alone."""
    a, b = "401.1", "401.9"
    draft.add(BothLabels(a, b, 15), "sibling_exclusive", "redundant_nodes")
    draft.goes_together(a, b)
    return a, b


DRAWN: tuple[Kind, ...] = (
    Kind("records cut at a length", "record_cap",
         f"{CAPPED:,} records reach the length", _cap, p=0.2),
    Kind("habit across branches", "cross_branch",
         "on 30 % of the records with a label", _habit, lengthens=True),
    Kind("a label never without another", "redundant_nodes",
         "on all records with a label", _always, lengthens=True),
    Kind("a node at one site only", "group_confined",
         "a quarter of the patients use it, on about 80 records", _confined),
    Kind("a site that writes a sibling", "drift",
         "the others never write it, on about 80 records", _confined),
    Kind("catch-alls", "residual_overuse",
         "80 % of the specific labels below a parent", _residual),
    Kind("unknown codes", "malformed_code", "20 rows, 2 codes",
         _faulty(lambda _: UnknownCodes(("019.0", "V93.1"), 20), "malformed_code",
                 names=("019.0", "V93.1"))),
    Kind("codes of earlier editions", "retired_code", "20 rows, 1 code",
         _faulty(lambda _: UnlistedCodes(("718.60",), 20), "retired_code", "duplicates",
                 names=("718.60",))),
    Kind("malformed codes", "malformed_code", "20 rows, 1 code",
         _faulty(lambda _: MalformedCodes(("4O1.9",), 20), "malformed_code", names=("4O1.9",))),
    Kind("lost zeros", "lost_zero", "30 rows",
         _faulty(lambda _: LostZeros(30), "lost_zero", "parent_and_child", *_DAMAGED)),
    Kind("wrong table", "wrong_table", "30 rows",
         _faulty(lambda _: WrongTable(30), "wrong_table", *_DAMAGED)),
    Kind("headings as labels", "not_specific", "10 rows, 1 heading",
         _faulty(lambda sites: HeadingLabels(sites.heading, 10), "not_specific")),
    Kind("codes of ICD-10", "mixed_versions", "20 rows, 2 codes",
         _faulty(lambda _: OtherVersionCodes(("I50.9", "J18.9"), 20), "mixed_versions", *_CODES,
                 names=("I50.9", "J18.9"))),
    Kind("parent beside child", "parent_and_child",
         "on 10 % of the records with a child", _parent_of_exchanged, lengthens=True),
    Kind("an external cause first", "principal_position", "10 records",
         _faulty(lambda _: FirstPlace("E885.9", 10), "principal_position")),
    Kind("a manifestation first", "principal_position", "10 records",
         _faulty(lambda _: FirstPlace("420.0", 10), "principal_position")),
    Kind("exclusive kinds", "sibling_exclusive", "15 records",
         _exclusive, lengthens=True),
    Kind("labels twice", "duplicates", "15 rows",
         _faulty(lambda _: DuplicateLabels(15), "duplicates"), "labels", lengthens=True),
    Kind("empty records", "empty_instance", "10 records",
         _faulty(lambda _: EmptyInstances(10), "empty_instance")),
    Kind("records under two ids", "duplicates", "15 records",
         _faulty(lambda _: DuplicateInstances(15), "duplicates"), "group"),
    Kind("patients in two splits", "split_leak", "10 patients", _torn),
    Kind("a model that exchanges labels", "model_confuses",
         "30 % of the records with one of two labels", _exchange),
)  # fmt: skip
"""Kinds that are planted at random, in the order of planting."""
SECOND_IDS = Kind("patients under two ids", "duplicates", "10 patients", _second_ids, "persons")
"""Planted behind them, in every second release."""
KINDS = (*DRAWN, SECOND_IDS)
"""All kinds."""


def planted_release(number: int) -> Outcome:
    """Draw a release, plant a random choice of kinds, and hold what an audit finds against it."""
    rng = np.random.default_rng([SEED, number])
    draft = _draft(rng)
    for kind in _chosen(rng) + [SECOND_IDS] * (number % 2):
        draft.named[kind.name] = frozenset(_plain(name) for name in kind.plant(draft))
    return outcome(draft)


def _draft(rng: np.random.Generator) -> Draft:
    seed = int(rng.integers(1 << 32))
    instances = int(rng.integers(LEAST, MOST + 1))
    usage, sites = icd9cm_with_sites(seed=seed)
    release = make_release(
        icd9cm(), instances=instances, seed=seed, labels_per_instance=LABELS, usage=usage
    )
    return Draft(release, sites, rng)


def _chosen(rng: np.random.Generator) -> list[Kind]:
    chosen: dict[str, Kind] = {}
    for kind in DRAWN:
        hidden = kind.lengthens and "records cut at a length" in chosen
        if rng.random() < kind.p and not hidden:
            chosen[kind.name] = kind
    return list(chosen.values())


def outcome(draft: Draft) -> Outcome:
    """Audit a release and hold the findings against what was planted."""
    dataset = _dataset(draft)
    result = audit.run_audit(
        dataset, Policy(coding_columns=("site",)), predictions=_model(draft, dataset)
    )
    standing = {check.name: check.standing for check in result.checks}
    kinds = {kind.name: kind for kind in KINDS}
    return Outcome(
        instances=len(dataset),
        found={
            name: any(
                names <= _names(finding)
                for finding in standing[kinds[name].check]
                if kinds[name].key in ("", *finding.key)
            )
            for name, names in draft.named.items()
        },
        standing={name: len(found) for name, found in standing.items()},
        false=tuple(_false(draft, result, dataset)),
        family={check.name: check.denominator or 0 for check in result.checks},
        crashed=tuple(f"{c.name}: {c.crashed}" for c in result.checks if c.crashed),
    )


def _dataset(draft: Draft) -> LabelDataset:
    columns = [_sites(draft.release)]
    seed = int(draft.rng.integers(1 << 32))
    columns.append(draw_splits(draft.release, seed=seed, torn=draft.torn))
    return as_read(draft.release, columns)


def _sites(release: Release) -> pl.DataFrame:
    return draw_sites(release, 4, seed=release.seed)


def _model(draft: Draft, dataset: LabelDataset) -> Predictions | None:
    if draft.mistakes is None:
        return None
    seed = int(draft.rng.integers(1 << 32))
    predicted = careless_model(draft.release, seed=seed, planted=tuple(draft.mistakes))
    return as_predictions(predicted, dataset)


def as_predictions(predicted: pl.DataFrame, dataset: LabelDataset) -> Predictions:
    """Predicted sets of a dataset's instances, from ``instance, label``."""
    names, classes = (predicted[column].unique().sort() for column in ("instance", "label"))
    row, column = (
        np.searchsorted(every.to_numpy(), predicted[name].to_numpy()).astype(np.int64)
        for every, name in ((names, "instance"), (classes, "label"))
    )
    shape = (len(names), len(classes))
    scores = csr_array((np.ones(len(predicted)), (row, column)), shape=shape)
    read = RawPredictions(tuple(names), tuple(classes), scores, True, (Path("drawn"),))
    found = map_predictions(read, dataset)
    return Predictions(**{**vars(found), "sources": ()})


def _false(
    draft: Draft, result: AuditResult, dataset: LabelDataset
) -> Iterable[tuple[str, tuple[str, ...]]]:
    for check in result.checks:
        for finding in check.standing:
            if not _explained(draft, finding, dataset):
                yield check.name, finding.nodes


def _explained(draft: Draft, finding: Finding, dataset: LabelDataset) -> bool:
    names = _names(finding)
    if finding.check == "unexpected_pair":
        return draft.is_together(finding.nodes[-2:])
    if finding.check == "split_leak" and finding.key == ("unseen",):
        return _never_in_training(finding, dataset)
    if finding.check == "duplicates" and finding.key != ("labels",):
        return _are_copies(draft, finding, dataset)
    if finding.check == "unspecific_beside_specific":
        return _stand_together(finding, dataset)
    allowed = draft.allowed.get(finding.check, set())
    if finding.check in ("parent_and_child", "missing_companion"):
        return all(allowed & set(map(_plain, part.nodes)) for part in finding.parts)
    return names <= allowed


def _never_in_training(finding: Finding, dataset: LabelDataset) -> bool:
    """Whether what a finding says of labels that training lacks is so, counted anew."""
    split = dataset.instances["split"].gather(dataset.assertions["instance"])
    labels = dataset.assertions.with_columns(split=split).drop_nulls("split")
    unseen = set(labels["node"]) - set(labels.filter(pl.col("split") == "train")["node"])
    given = {dataset.hierarchy.index(node) for node in finding.nodes}
    return given <= unseen and finding.evidence["labels"] == len(unseen)


def _stand_together(finding: Finding, dataset: LabelDataset) -> bool:
    """Whether each pair of a finding stands on as many records as it says, counted anew."""
    hierarchy, labels = dataset.hierarchy, dict[int, set[str]]()
    for instance, node in dataset.assertions.select("instance", "node").iter_rows():
        labels.setdefault(instance, set()).add(hierarchy.nodes[node])

    def both(one: str, other: str) -> int:
        below = set(hierarchy.descendants(other, with_self=True))
        return sum(one in own and bool(below & own) for own in labels.values())

    return all(part.evidence["instances"] == both(*part.nodes) for part in finding.parts)


def _are_copies(draft: Draft, finding: Finding, dataset: LabelDataset) -> bool:
    """Whether equal records are as many as a finding says, and those of two groups planted.

    Each copied group must share two sets with one other, and no other groups may; sets are
    explained where fewer copies than five, which are never told, would be left without the planted.
    """
    told, held = finding.evidence, _holders(dataset)
    across = [groups for groups in held if len(groups) > 1]
    if finding.key == ("group",):
        equal = sum(n for groups in held for n in groups.values() if n > 1)
        return bool(told["instances"] == equal)
    if finding.key == ("sets",):
        planted = sum(not groups.keys().isdisjoint(draft.copied) for groups in across)
        equal = sum(map(Counter.total, across))
        return bool(told["equal"] == equal and told["copies"] - planted < 5)
    shared = Counter(pair for groups in across for pair in combinations(sorted(groups), 2))
    pairs = [pair for pair, sets in shared.items() if sets > 1]
    records = sum(
        groups[a] + groups[b] for groups in across for a, b in pairs if groups[a] and groups[b]
    )
    counted = told["pairs"] == len(pairs) and told["instances"] == records
    copied = sorted(b for _, b in pairs) == draft.copied
    return bool(finding.key == ("persons",) and counted and copied)


def _holders(dataset: LabelDataset) -> list[Counter[str]]:
    """For each set of at least five labels how many instances of each group have it."""
    labels, held = dict[int, set[int]](), dict[frozenset[int], Counter[str]]()
    for instance, node in dataset.assertions.select("instance", "node").iter_rows():
        labels.setdefault(instance, set()).add(node)
    groups = dataset.instances["group"].to_list()
    for instance, nodes in labels.items():
        if len(nodes) >= 5:
            held.setdefault(frozenset(nodes), Counter())[groups[instance]] += 1
    return list(held.values())


def _names(finding: Finding) -> frozenset[str]:
    parts = (node for part in finding.parts for node in part.nodes)
    return frozenset(map(_plain, (*finding.nodes, *parts)))


def _plain(name: str) -> str:
    return name.replace(".", "")
