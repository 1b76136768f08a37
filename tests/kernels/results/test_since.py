"""What a run tells of its reference: each finding in its place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from audit.checks.judging import remembered
from audit.results.findings import Ids
from audit.results.result import AuditResult, to_json_bytes
from audit.results.since import since_reference
from audit.runs.folder import write_run
from audit.runs.read import read_run
from fixtures import results


def finding(id_: str, instances: int, of: int = 1000, *, known: bool = False) -> dict[str, Any]:
    return {
        "id": id_,
        "severity": "warning",
        "nodes": [{"id": id_, "title": None}],
        "evidence": {"instances": instances, "of": of, "share": instances / of},
        "known": known,
        "unasked": False,
    }


def check(status: str = "warn", *findings: dict[str, Any]) -> dict[str, Any]:
    return {"name": "c", "title": "C?", "status": status, "findings": list(findings)}


def before(status: str, *findings: dict[str, Any], folded: tuple[str, ...] = ()) -> dict[str, Any]:
    kept = [
        {
            **{key: one[key] for key in ("id", "severity", "nodes")},
            "effect": "share",
            "value": one["evidence"]["share"],
        }
        for one in findings
    ]
    standing = [one["id"] for one in findings]
    check = {"name": "c", "status": status, "standing": standing, "folded": list(folded)}
    return {
        "instances": 1000,
        "status": status,
        "depths": [],
        "checks": [check | {"findings": kept}],
    }


def told(old: dict[str, Any], new: dict[str, Any], folded: tuple[str, ...] = ()) -> dict[str, Any]:
    standing = frozenset(one["id"] for one in new["findings"])
    known = frozenset(one["id"] for one in new["findings"] if one["known"])
    return since_reference(old, [new], {"c": Ids(standing, known, frozenset(folded))}, [])


def test_each_finding_is_what_became_of_it() -> None:
    old = before("warn", finding("a", 100), finding("b", 100), finding("c", 100), folded=("f",))
    now = [finding("a", 100, known=True), finding("b", 300), finding("n", 50), finding("f", 60)]
    found = told(old, check("warn", *now))

    assert {line["id"]: line["change"] for line in found["findings"]} == {
        "a": "known", "b": "worse", "n": "new", "f": "worse", "c": "gone",
    }  # fmt: skip
    (counts,) = found["checks"]
    assert [counts[name] for name in ("new", "worse", "known", "gone")] == [1, 2, 1, 1]


def test_what_is_folded_now_is_not_gone() -> None:
    found = told(before("warn", finding("a", 100)), check("warn"), folded=("a",))
    assert found["findings"] == []
    assert found["checks"][0]["gone"] == 0


@pytest.mark.parametrize(("was", "now"), [("not_applicable", "warn"), ("warn", "error")])
def test_a_check_that_was_not_asked_compares_nothing(was: str, now: str) -> None:
    found = told(before(was, finding("a", 100)), check(now, finding("b", 100)))
    assert found["findings"] == []
    assert found["checks"][0]["new"] is None


def test_a_run_read_back_tells_the_same(tmp_path: Path) -> None:
    result = results.rich_result()
    write_run(result, tmp_path / "run")
    again = read_run(tmp_path / "run")

    assert to_json_bytes(again.shared()) == (tmp_path / "run" / "result.json").read_bytes()
    assert again.shared()["since_reference"] is not None


def test_depths_are_told_beside_the_reference_of_the_same_hierarchy() -> None:
    reference = replace(results.sample_result())
    found = _held_against(reference, reference).shared()["since_reference"]["depths"]
    assert [row["depth"] for row in found] == [
        row["depth"] for row in reference.shared()["overview"]["coverage"]["depths"]
    ]
    assert all(row["before"] == row["now"] for row in found)
    assert any(row["now"] for row in found)
    edited = {**reference.identity["hierarchy"], "sha256": "0" * 64}
    other = replace(reference, identity={**reference.identity, "hierarchy": edited})
    assert not _held_against(other, reference).shared()["since_reference"]["depths"]


def _held_against(result: AuditResult, reference: AuditResult) -> AuditResult:
    return replace(result, reference=remembered(reference))
