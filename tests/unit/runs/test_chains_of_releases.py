"""Releases in a chain, each with the one before as reference: no two of them tell a small cell."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

from audit.disclosure import Cell, carried
from audit.policy.policy import Policy
from audit.results.result import AuditResult
from audit.runs.audit import run_audit
from audit.runs.folder import write_run
from audit.runs.read import read_run
from fixtures.attack import BODIES
from fixtures.labelled import labelled, repeated

GROWING = [
    {"flu": 100, "asthma": 40, "attack": 50},
    {"flu": 104, "asthma": 60, "attack": 90},
    {"flu": 108, "asthma": 80, "attack": 130},
]


def chain(folder: Path) -> list[AuditResult]:
    """Audits of growing releases, each read back before the next one is made with it."""
    found = list[AuditResult]()
    for place, release in enumerate(GROWING):
        data = labelled(BODIES["flat"], repeated([(n, [node]) for node, n in release.items()]))
        before = found[-1] if found else None
        result = run_audit(data, Policy(min_cell=11), reference=before, anyway=True)
        write_run(result, folder / str(place))
        found.append(read_run(folder / str(place)))
    return found


def told(result: AuditResult) -> dict[Cell, int]:
    """Counts of nodes that a view shows exactly."""
    rows = result.shared()["overview"]["branches"]
    counts = {carried(row["node"]): row["instances"] for row in rows}
    return {cell: n for cell, n in counts.items() if isinstance(n, int)}


def test_no_release_of_a_chain_tells_a_small_difference_from_any_before(tmp_path: Path) -> None:
    found = chain(tmp_path)
    views = [told(result) for result in found]

    assert [carried("flu") in view for view in views][:2] == [True, False]
    for first, second in combinations(views, 2):
        came = {abs(second[cell] - n) for cell, n in first.items() if cell in second}
        assert came.isdisjoint(range(1, 11))


def test_what_is_known_of_all_before_is_kept(tmp_path: Path) -> None:
    last = chain(tmp_path)[-1]

    assert last.known.earlier is not None
    assert last.known.earlier.earlier is not None
    assert last.known.earlier.earlier.counts[carried("flu")] == 100
