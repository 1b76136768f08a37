"""``audit history``: three runs beside each other."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import audit
from fixtures.doors import made, refused
from fixtures.held import read_json
from fixtures.small_release import RELEASES


def told(*runs: object) -> dict[str, Any]:
    """The history of runs."""
    said: dict[str, Any] = json.loads(made("history", *runs, "--json"))
    return said


def of_all(small: Path) -> dict[str, Any]:
    """The history of the three releases."""
    return told(*(small / one for one in RELEASES))


def test_runs_in_order_with_what_each_read(small: Path, tmp_path: Path) -> None:
    said = of_all(small)
    runs = [audit.read_run(small / name) for name in RELEASES]

    assert [
        (one["run"], one["name"], one["status"], one["instances"], one["rows_read"],
         one["rows_mapped"], one["min_cell"], one["policy"])
        for one in said["runs"]
    ] == [
        (place, name, run.status, run.ledger["instances"], run.ledger["rows_read"],
         run.ledger["rows_mapped"], 1, "policy")
        for place, (name, run) in enumerate(zip(RELEASES, runs, strict=True), 1)
    ]  # fmt: skip
    assert [one["started"] for one in said["runs"]] == [
        read_json(small / name / "manifest.json")["started"] for name in RELEASES
    ]


def test_what_becomes_of_each_finding(small: Path, tmp_path: Path) -> None:
    said = of_all(small)
    runs = [
        {f.id: f for check in audit.read_run(small / name).checks for f in check.findings}
        for name in RELEASES
    ]
    rows = {one["id"]: one for one in said["findings"]}

    assert rows.keys() == {one for run in runs for one in run}
    for name, row in rows.items():
        there = [place for place, run in enumerate(runs, 1) if name in run]
        assert (row["first"], row["last"]) == (there[0], there[-1])
        assert row["steps"] == [
            {(True, True): "persisting", (False, True): "appeared", (True, False): "disappeared"}[
                name in old, name in new
            ]
            for old, new in pairwise(runs)
        ]
    for place, step in enumerate(said["steps"]):
        counted = Counter(row["steps"][place] for row in rows.values())
        assert (step["from"], step["to"], step["differ"]) == (place + 1, place + 2, [])
        assert {name: step[name] for name in ("appeared", "disappeared", "persisting")} == {
            name: counted[name] for name in ("appeared", "disappeared", "persisting")
        }
    assert said["steps"][0]["appeared"] == 1


def test_findings_of_each_check_and_run(small: Path, tmp_path: Path) -> None:
    said = of_all(small)
    rows = {(one["check"], one["run"]): one for one in said["checks"]}
    for place, name in enumerate(RELEASES, 1):
        for check in audit.read_run(small / name).checks:
            row = rows.pop((check.name, place))
            assert row["status"] == check.status
            standing = [f for f in check.findings if f.judgement.waiver is None]
            asked = check.status != "not_applicable"
            assert row["found"] == (len(standing) if asked else None)
    assert rows == {}


def test_metrics_of_each_run(small: Path, tmp_path: Path) -> None:
    names = ("first_modelled", "second_modelled")
    rows = told(*(small / one for one in names))["metrics"]
    expected = [
        (one["name"], one["scope"], one["value"], one["n"], place)
        for place, name in enumerate(names, 1)
        for one in read_json(small / name / "result.json")["metrics"]
    ]
    found = [(one["metric"], one["scope"], one["value"], one["n"], one["run"]) for one in rows]

    assert sorted(found, key=repr) == sorted(expected, key=repr)


def test_the_title_of_a_run_is_that_of_the_history(small: Path, tmp_path: Path) -> None:
    said = told(small / "first", small / "second_referred")

    assert said["title"] == "The second"
    assert [one["title"] for one in said["runs"]] == ["", "The second"]
    assert (said["hierarchy"], said["rounding"], said["undated"]) == ("tree", None, 0)


def test_what_differs_between_runs_is_told(small: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text("max_findings = 7\n" + (small / "policy.toml").read_text())
    given = ("--hierarchy", small / "tree.csv", "--policy", policy, "--no-pdf", "--quiet")
    made("run", small / "second.csv", *given, "--out", tmp_path / "run")
    said = told(small / "first", tmp_path / "run")

    assert [one["differ"] for one in said["steps"]] == [["policy"]]
    assert [one["min_cell"] for one in said["runs"]] == [1, 1]
    assert said["rounding"] is None


def test_runs_in_other_bins_are_refused(small: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text((small / "policy.toml").read_text().replace("min_cell = 1", "min_cell = 3"))
    given = ("--hierarchy", small / "tree.csv", "--policy", policy, "--no-pdf", "--quiet")
    made("run", small / "second.csv", *given, "--out", tmp_path / "run")

    refused("history", small / "first", tmp_path / "run", "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_order_of_times_or_of_names(small: Path) -> None:
    turned = (small / "third", small / "first")
    started = {one: read_json(small / one / "manifest.json")["started"] for one in RELEASES}
    in_time = sorted(("third", "first"), key=lambda one: started[one])

    assert [one["name"] for one in told(*turned)["runs"]] == in_time
    assert [one["name"] for one in told(*turned, "--as-named")["runs"]] == ["third", "first"]


def test_refusals_leave_nothing_and_an_earlier_history_stays(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    copy = shutil.copytree(small / "first", tmp_path / "copy")
    for runs in (
        [small / "first"],
        [small / "first", small / "first"],
        [small / "first", copy],
        [small / "first", tmp_path],
        [small / "first", tmp_path / "absent"],
    ):
        refused("history", *runs, "--out", out)
        assert not out.exists()
    words = ("history", *(small / one for one in RELEASES), "--out", out, "--quiet")
    made(*words)
    before = out.read_bytes()
    refused(*words)
    assert out.read_bytes() == before
    made("history", small / "first", small / "second", "--out", out, "--overwrite", "--quiet")
    assert out.read_bytes() != before


def test_the_page_names_the_runs(small: Path, tmp_path: Path) -> None:
    page = tmp_path / "history.html"
    made("history", *(small / one for one in RELEASES), "--out", page, "--quiet")
    text = page.read_text("utf-8")

    assert text.startswith("<!doctype html>")
    assert all(name in text for name in RELEASES)
