"""``audit history``: three runs beside each other."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from itertools import pairwise
from pathlib import Path

import audit
from fixtures.doors import made, refused
from fixtures.held import read_json
from fixtures.small_release import RELEASES


def written(small: Path, out: Path, *further: object) -> dict[str, list[dict[str, object]]]:
    """The lists of the history of the three releases."""
    made("history", *(small / one for one in RELEASES), "--out", out, "--quiet", *further)
    said: dict[str, list[dict[str, object]]] = read_json(out)
    return said


def test_runs_in_order_with_what_each_read(small: Path, tmp_path: Path) -> None:
    said = written(small, tmp_path / "out")
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
    said = written(small, tmp_path / "out")
    runs = [
        {f.id: f for check in audit.read_run(small / name).checks for f in check.findings}
        for name in RELEASES
    ]
    told = {one["id"]: one for one in said["findings"]}

    assert told.keys() == {one for run in runs for one in run}
    for name, row in told.items():
        there = [place for place, run in enumerate(runs, 1) if name in run]
        assert (row["first"], row["last"]) == (there[0], there[-1])
        assert row["severities"] == [
            run[name].judged_severity if name in run else None for run in runs
        ]
        assert row["steps"] == [
            {(True, True): "persisting", (False, True): "appeared", (True, False): "disappeared"}[
                name in old, name in new
            ]
            for old, new in pairwise(runs)
        ]
        assert row["waived"] == (name == "duplicates:labels")
    for place, step in enumerate(said["steps"]):
        counted = Counter(row["steps"][place] for row in told.values())  # type: ignore[index]
        assert (step["from"], step["to"], step["differ"]) == (place + 1, place + 2, [])
        assert {name: step[name] for name in ("appeared", "disappeared", "persisting")} == {
            name: counted[name] for name in ("appeared", "disappeared", "persisting")
        }
    assert said["steps"][0]["appeared"] == 1


def test_findings_of_each_check_and_run(small: Path, tmp_path: Path) -> None:
    said = written(small, tmp_path / "out")
    rows = {(one["check"], one["run"]): one for one in said["checks"]}
    for place, name in enumerate(RELEASES, 1):
        for check in audit.read_run(small / name).checks:
            row = rows.pop((check.name, place))
            assert row["status"] == check.status
            if check.status == "not_applicable":
                assert row["warning"] is None
                continue
            standing = [f for f in check.findings if f.judgement.waiver is None]
            severities = Counter(f.judged_severity for f in standing)
            for severity in ("error", "warning", "note"):
                assert row[severity] == severities[severity]
            assert row["waived"] == len(check.findings) - len(standing)
            assert row["folded"] == 0
    assert rows == {}


def test_metrics_of_each_run(small: Path, tmp_path: Path) -> None:
    names = ("first_modelled", "second_modelled")
    made("history", *(small / one for one in names), "--out", tmp_path / "out", "--quiet")
    rows = read_json(tmp_path / "out")["metrics"]
    expected = [
        (one["name"], one["scope"], one["value"], one["n"], place)
        for place, name in enumerate(names, 1)
        for one in read_json(small / name / "result.json")["metrics"]
    ]
    told = [(one["metric"], one["scope"], one["value"], one["n"], one["run"]) for one in rows]

    assert sorted(told, key=repr) == sorted(expected, key=repr)


def test_the_summary_for_machines(small: Path, tmp_path: Path) -> None:
    runs = [small / one for one in RELEASES]
    said = written(small, tmp_path / "out")
    summary = json.loads(made("history", *runs, "--json"))

    assert summary == {name: said[name] for name in ("order", "runs", "steps")}


def test_the_title_of_a_run_is_that_of_the_history(small: Path, tmp_path: Path) -> None:
    runs = (small / "first", small / "second_referred")
    made("history", *runs, "--out", tmp_path / "out", "--quiet")
    said = read_json(tmp_path / "out")

    assert said["title"] == "The second"
    assert [one["title"] for one in said["runs"]] == ["", "The second"]
    assert (said["hierarchy"], said["rounding"], said["undated"]) == ("tree", None, 0)


def test_what_differs_between_runs_is_told(small: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text("max_findings = 7\n" + (small / "policy.toml").read_text())
    given = ("--hierarchy", small / "tree.csv", "--policy", policy, "--no-pdf", "--quiet")
    made("run", small / "second.csv", *given, "--out", tmp_path / "run")
    made("history", small / "first", tmp_path / "run", "--out", tmp_path / "out", "--quiet")
    said = read_json(tmp_path / "out")

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


def test_the_order_of_times_or_of_names(small: Path, tmp_path: Path) -> None:
    turned = ("history", small / "third", small / "first", "--quiet", "--out")
    made(*turned, tmp_path / "times")
    made(*turned, tmp_path / "named", "--as-named")

    def names(out: Path) -> list[str]:
        return [one["name"] for one in read_json(out)["runs"]]

    assert names(tmp_path / "named") == ["third", "first"]
    started = {one: read_json(small / one / "manifest.json")["started"] for one in RELEASES}
    in_time = sorted(("third", "first"), key=lambda one: started[one])
    assert names(tmp_path / "times") == in_time


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
    written(small, out)
    before = out.read_bytes()
    refused("history", small / "first", small / "second", "--out", out)
    assert out.read_bytes() == before
    made("history", small / "first", small / "second", "--out", out, "--overwrite", "--quiet")
    assert out.read_bytes() != before


def test_a_file_of_html_is_the_page_of_the_same_history(small: Path, tmp_path: Path) -> None:
    said, page = written(small, tmp_path / "out"), tmp_path / "history.html"
    made("history", *(small / one for one in RELEASES), "--out", page, "--quiet")
    text = page.read_text("utf-8")

    assert text.startswith("<!doctype html>")
    assert all(str(run["name"]) in text for run in said["runs"])
