"""A history: its laws, and what it refuses."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.errors import InputError
from audit.results.result import AuditResult
from audit.runs.folder import write_run
from audit.runs.history import counted_steps, history_of, steps_of
from audit.runs.shared_runs import SharedRun, read_shared_runs
from fixtures.results import judged_result, rich_result, sample_result
from fixtures.sealed_files import reseal

DAY = datetime(2026, 3, 1, tzinfo=UTC)


def shared_run(name: str, result: AuditResult, day: int | None = 0) -> SharedRun:
    started = None if day is None else DAY + timedelta(days=day)
    shared = json.loads(json.dumps(result.shared()))
    return SharedRun(name, started, shared, f"{name} {day}")


ids = st.lists(st.sampled_from("abcdef"), unique=True)
checks = st.none() | st.builds(
    lambda names, status, folded, unlisted: {
        "status": status,
        "findings": [{"id": name} for name in names if status == "warn"],
        "folded": folded,
        "not_shown": unlisted,
    },
    ids,
    st.sampled_from(("warn", "warn", "pass", "error", "not_applicable")),
    st.integers(0, 1),
    st.integers(0, 1),
)


@given(checks, checks)
def test_every_finding_of_either_run_has_one_step(old: Any, new: Any) -> None:
    before, after = ({f["id"] for f in one["findings"]} if one else set() for one in (old, new))
    steps = steps_of(old, new)

    assert steps.keys() == before | after
    assert {one for one, step in steps.items() if step == "persisting"} == before & after
    for one, step in steps.items():
        assert (
            step
            in {
                (True, True): ("persisting",),
                (True, False): ("disappeared", "not_asked"),
                (False, True): ("appeared", "not_asked"),
            }[one in before, one in after]
        )
    assert sum(counted_steps(list(steps.values())).values()) == len(steps)


@given(checks, checks)
def test_time_backwards_makes_what_appeared_disappear(old: Any, new: Any) -> None:
    mirror = {"appeared": "disappeared", "disappeared": "appeared"}

    assert steps_of(new, old) == {
        one: mirror.get(step, step) for one, step in steps_of(old, new).items()
    }


def test_every_metric_and_sentence_stands_in_the_result_of_its_run() -> None:
    runs = [
        shared_run("a", sample_result(), 0),
        shared_run("b", rich_result(), 1),
        shared_run("c", judged_result(), 2),
    ]
    history = history_of(runs)
    told = [run.shared for run in runs]

    assert history["metrics"]
    for row in history["metrics"]:
        values = {name: row[name] for name in ("value", "low", "high", "n", "beyond")}
        assert any(
            metric["name"] == row["metric"]
            and metric["scope"] == row["scope"]
            and values.items() <= metric.items()
            for metric in told[row["run"] - 1]["metrics"]
        )
    for row in history["findings"]:
        (check,) = (c for c in told[row["last"] - 1]["checks"] if c["name"] == row["check"])
        (finding,) = (one for one in check["findings"] if one["id"] == row["id"])
        assert row["statement"] == finding["statement"]


@given(st.permutations([0, 1, 2]))
def test_time_orders_runs_however_they_are_named(order: list[int]) -> None:
    runs = [shared_run(str(n), sample_result(), n) for n in range(3)]

    history = history_of([runs[place] for place in order])
    assert [run["name"] for run in history["runs"]] == ["0", "1", "2"]
    named = history_of([runs[place] for place in order], as_named=True)
    assert [run["name"] for run in named["runs"]] == [str(place) for place in order]
    assert (history["order"], named["order"]) == ("time", "named")


def test_a_run_without_time_leaves_all_as_named() -> None:
    history = history_of(
        [shared_run("b", sample_result(), 1), shared_run("a", sample_result(), None)]
    )

    assert [run["name"] for run in history["runs"]] == ["b", "a"]
    assert (history["order"], history["undated"]) == ("named", 1)


def test_too_few_the_same_and_other_hierarchies_are_refused() -> None:
    run = shared_run("a", sample_result())
    identity = run.shared["identity"]
    other = {**identity, "hierarchy": {**identity["hierarchy"], "sha256": "0" * 64}}
    figures = {**run.shared["overview"], "tree": [{"node": "GO:1", "title": None}]}
    go = SharedRun("b", DAY, {**run.shared, "identity": other, "overview": figures}, "b")

    with pytest.raises(InputError, match="two runs or more"):
        history_of([run])
    with pytest.raises(InputError, match="'b' is the same run as 'a'"):
        history_of([run, replace(run, name="b")])
    with pytest.raises(InputError, match="one hierarchy"):
        history_of([run, go])
    assert history_of([run, replace(go, shared={**run.shared, "identity": other})])


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("runs")
    first = write_run(sample_result(), folder / "first")
    return first, write_run(rich_result(), folder / "second")


def copied(run: Path, to: Path) -> Path:
    return Path(shutil.copytree(run, to))


def test_a_tampered_run_is_refused(folders: tuple[Path, Path], tmp_path: Path) -> None:
    run = copied(folders[0], tmp_path / "run")
    result = json.loads((run / "result.json").read_bytes())
    result["ledger"]["instances"] += 1
    (run / "result.json").write_text(json.dumps(result))

    with pytest.raises(InputError, match=r"as it was sealed.*\n.*changed: 'result.json'"):
        read_shared_runs([run])


@pytest.mark.parametrize("started", [None, "yesterday", "2026-03-01T00:00:00"])
def test_a_manifest_without_a_moment_has_no_time(
    folders: tuple[Path, Path], tmp_path: Path, started: str | None
) -> None:
    run = copied(folders[0], tmp_path / "run")
    manifest = json.loads((run / "manifest.json").read_bytes())
    manifest["started"] = started
    (run / "manifest.json").write_text(json.dumps(manifest))
    reseal(run)

    assert read_shared_runs([run])[0].started is None
