"""The sample data is what its generator writes, byte for byte; an audit finds what it planted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import audit
from fixtures.sample_data import digests, write_sample_data

SAMPLE_DATA = Path(__file__).parents[2] / "sample_data"


@pytest.mark.slow
def test_sample_data_regenerates_to_the_same_bytes(tmp_path: Path) -> None:
    write_sample_data(tmp_path)
    assert digests(tmp_path) == digests(SAMPLE_DATA), (
        "write it again with: .venv/bin/python scripts/make_sample_data.py"
    )


def test_sample_data_is_small() -> None:
    assert sum(path.stat().st_size for path in SAMPLE_DATA.rglob("*")) < 6_000_000


@pytest.mark.slow
@pytest.mark.parametrize(("run", "release"), [("first", "release_1"), ("second", "release_2")])
def test_all_that_was_planted_is_found(sample_runs: Path, run: str, release: str) -> None:
    result = audit.read_run(sample_runs / run).exact()
    planted = json.loads((SAMPLE_DATA / "truth.json").read_text("utf-8"))[release]["planted"]

    assert [one["kind"] for one in planted if not found(one, result)] == []


def found(planted: Mapping[str, Any], result: Mapping[str, Any]) -> bool:
    """Whether a run says of the nodes, texts and rows of a planted fault what was done to them."""
    names = dict[str, list[set[str]]]()
    for check in result["checks"]:
        names[check["name"]] = [set(nodes) for nodes in told(check["findings"])]
    kind, parameters = planted["kind"], planted["parameters"]
    if kind == "missing_codes":
        return bool(result["ledger"]["refused"]["missing_code"] >= parameters["count"])
    if kind.endswith("_codes"):
        written = {text.replace(".", "") for text in parameters["texts"]} - {"N/A"}
        return any(written <= nodes for nodes in names["malformed_code"])
    if kind == "residual_overuse":
        return all({one} in names[kind] for one in parameters["parents"])
    if kind == "cross_branch_habit":
        beside, node = parameters["beside"], parameters["node"]
        pairs = names["unexpected_pair"]
        return any(node in pair and any(o.startswith(beside) for o in pair) for pair in pairs)
    assert kind == "parent_beside_child"
    return all(any(one in nodes for nodes in names["parent_and_child"]) for one in planted["nodes"])


def told(findings: list[dict[str, Any]]) -> Iterator[list[str]]:
    """Nodes of each finding and of each part of one."""
    for finding in findings:
        for one in (finding, *finding["parts"]):
            yield [node["id"] for node in one["nodes"]]
