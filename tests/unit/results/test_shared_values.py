"""Findings on wards and their sites: what their counts, and drift beside, tell together."""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from audit.policy.policy import Policy
from audit.results.result import AuditResult, to_json_bytes
from audit.results.shared_values import SHIFTS, shown_by_values
from audit.runs.audit import run_audit
from audit.runs.folder import write_run
from audit.runs.read import read_run
from fixtures.attack import range_of
from fixtures.labelled import labelled, tree

HIERARCHY = tree(
    "lung heart < body", "airways flu < lung", "asthma cold < airways", "attack < heart"
)
M = 11
USUAL, OTHER = ("asthma", "asthma", "cold"), ("flu", "cold", "cold")
Instance = tuple[str, str, tuple[str, ...]]
SEEDS = range(1, 5)
"""Releases that tell small wards where counts are protected one by one."""


def drawn(seed: int, unlabelled: bool = False) -> list[Instance]:
    """Site, ward and labels of instances; one site, or most of its wards, codes otherwise.

    Where a ward would have few instances, hardly one of many has a label if that is asked.
    """
    draw, found = np.random.default_rng(seed), list[Instance]()
    for site in range(3):
        for ward in range(int(draw.integers(2, 4))):
            odd = site == 0 or draw.random() < 0.1
            few = ward == 1 and draw.random() < 0.7
            bare = few and unlabelled
            n = int(draw.integers(1, M) if few and not bare else draw.integers(60, 160))
            for _ in range(n):
                label = str(draw.choice(OTHER if odd else USUAL))
                without = draw.random() < (0.95 if bare else 0.03)
                found.append((f"s{site}", f"s{site}w{ward}", () if without else (label,)))
    return found


def audited(
    found: list[Instance],
    drift: tuple[str, ...] = ("site", "ward"),
    reference: AuditResult | None = None,
) -> AuditResult:
    names = [f"i{place:04}" for place in range(len(found))]
    columns = {
        column: {name: one[place] for name, one in zip(names, found, strict=True)}
        for place, column in enumerate(("site", "ward"))
    }
    labels = {name: list(one[2]) for name, one in zip(names, found, strict=True)}
    policy = Policy(min_cell=M, drift=drift, coding_columns=("site", "ward"))
    dataset = labelled(HIERARCHY, labels, strata=columns)
    return run_audit(dataset, policy, reference=reference)


def narrowed(found: list[Instance], view: dict[str, Any]) -> tuple[int, list[str]]:
    """How many counts of findings are told exactly, and which small ones that narrows.

    The reader knows which wards are of which site, and which of them have which labels.
    """
    cells = sorted(set(found))
    sizes = np.array([found.count(cell) for cell in cells], float)
    below = {node: {node, *HIERARCHY.descendants(node)} for node in HIERARCHY.nodes}

    def where(holds: Any) -> Any:
        return np.array([float(bool(holds(cell))) for cell in cells])

    told, exact = (
        [
            (where(lambda _: True), len(found)),
            (where(lambda c: c[2]), sum(bool(one[2]) for one in found)),
        ],
        0,
    )
    for row in view["overview"]["coverage"]["drift"]:
        place = ("site", "ward").index(row["column"])
        told.append((where(lambda c, p=place, v=row["value"]: c[p] == v), row["instances"]))
        if (mean := row["labels_per_instance"]) is not None:
            own = where(lambda c, p=place, v=row["value"]: c[p] == v and c[2])
            told.append((own, round(mean * row["instances"])))
    findings = [f for check in view["checks"] if check["name"] in SHIFTS for f in check["findings"]]
    for finding in findings:
        _, column, value, last = finding["id"].split(":")
        place, below_parent = ("site", "ward").index(column), last not in ("depth", "length")
        more, less = ([node["id"] for node in finding["nodes"]] * 2)[:2]
        child = {"instances": more, "elsewhere": more, "of": last, "of_elsewhere": last}
        child |= {"less_instances": less, "less_elsewhere": less}
        for name in (*child,) if below_parent else ("instances",):
            node, here = child[name] if below_parent else "body", not name.endswith("elsewhere")
            labels = below[node] - ({node} if name.startswith("of") else set())
            row = [(c[place] == value) == here and {*c[2]} & labels for c in cells]
            told.append((np.array(row, bool).astype(float), finding["evidence"][name]))
        exact += sum(isinstance(one, int) for one in finding["evidence"].values())
    rows = [(np.eye(len(cells))[place], 0.0, np.inf) for place in range(len(cells))]
    for row, one in told:
        low, high = (0.0, np.inf) if one is None else (one, one)
        if isinstance(one, str):
            low, high = (1, int(one[1:]) - 1) if one[0] == "<" else (int(one[1:]) + 1, np.inf)
        assert low - 1e-6 <= row @ sizes <= high + 1e-6
        rows.append((row, low, high))
    targets = {}
    for place, value in sorted({(place, cell[place]) for cell in cells for place in (0, 1)}):
        own = where(lambda c, p=place, v=value: c[p] == v)
        labelled = where(lambda c: c[2])
        targets |= {
            value: own,
            f"{value} with": own * labelled,
            f"{value} without": own - own * labelled,
        }
    narrow = []
    for name, row in targets.items():
        if 0 < row @ sizes < M:
            low, high = range_of(row, rows)
            if low > 1 + 1e-6 or high < M - 1 - 1e-6:
                narrow.append(f"{name}: {row @ sizes} is {low} to {high}")
    return exact, narrow


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "unlabelled"), [*product(SEEDS, (False, True))])
def test_findings_on_wards_and_sites_tell_no_small_ward(seed: int, unlabelled: bool) -> None:
    found = drawn(seed, unlabelled)
    assert narrowed(found, audited(found).shared())[1] == []


def test_the_few_instances_of_a_site_without_labels_are_not_told() -> None:
    found = [
        (f"s{site}", f"s{site}w{ward}", () if place < (20 if site else 5) else ("asthma",))
        for site, ward, place in product(range(3), range(2), range(100))
    ]
    assert narrowed(found, audited(found).shared())[1] == []


@pytest.mark.slow
def test_counts_protected_one_by_one_tell_small_wards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "audit.results.shared_view.shown_by_values",
        lambda findings, *others: shown_by_values((), *others),
    )
    told = [narrowed(found, audited(found).shared()) for found in map(drawn, SEEDS)]
    assert any(narrow for _, narrow in told)
    assert all(exact for exact, _ in told)


def counts_of(view: dict[str, Any]) -> dict[tuple[str, ...], int]:
    """What drift tells exactly: instances of values, their labels, those with and without nodes."""
    told = dict[tuple[str, ...], int]()
    for row in view["overview"]["coverage"]["drift"]:
        place, n = (row["column"], row["value"]), row["instances"]
        if isinstance(n, int):
            told[place] = n
            if row["labels_per_instance"] is not None:
                told[*place, "labels"] = round(row["labels_per_instance"] * n)
            for node in (one for one in row["nodes"] if one["share"] is not None):
                told[*place, node["node"], "with"] = round(node["share"] * n)
                told[*place, node["node"], "without"] = n - round(node["share"] * n)
    return told


@pytest.mark.slow
def test_drift_tells_no_small_difference_from_earlier_releases(tmp_path: Path) -> None:
    found, more = drawn(2), drawn(102)  # without the earlier ones, four of six pairs tell some
    sizes = len(found), len(found) + 11, len(found) + 60
    releases = [(found + more[::3])[:size] for size in sizes]
    releases.append([one for one in releases[-1] if one[1] != "s0w0"])
    views, reference = list[dict[tuple[str, ...], int]](), None
    for place, release in enumerate(releases):
        result = audited(release, reference=reference)
        views.append(counts_of(result.shared()))
        reference = read_run(write_run(result, tmp_path / f"run{place}"))
    for one, other in combinations(range(len(views)), 2):
        both = views[one].keys() & views[other].keys()
        small = [p for p in both if 0 < abs(views[one][p] - views[other][p]) < M]
        assert small == [], (one, other)
    assert all(views)


def test_a_run_read_back_gives_the_same_bytes(tmp_path: Path) -> None:
    run = write_run(audited(drawn(1)), tmp_path / "run")
    assert to_json_bytes(read_run(run).shared()) == (run / "result.json").read_bytes()
