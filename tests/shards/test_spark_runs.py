"""``audit run`` on data that Spark counts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import audit
from fixtures.doors import command, refused
from fixtures.task_counts import counted_by_tasks
from fixtures.toy import EDGES

AUDIT = str(Path(sys.executable).with_name("audit"))
LABELS = ("dog", "cow", "bird", "tool", "pet", "animal", "unicorn", " cow ", None)
NEED_INSTANCES = {
    "principal_position", "drift", "split_leak", "group_confined", "unspecific_beside_specific",
    "sibling_exclusive", "excludes1", "missing_companion", "sex_age_conflict", "chronic_gap",
    "missing_stratum", "model_confuses",
}  # fmt: skip
TABLES = ("nodes", "edges", "pairs", "judged_pairs", "pair_margins", "pair_strata", "residuals")


def arguments(place: Path, data: str, out: Path, *options: object) -> list[str]:
    run = ["run", place / data, "--hierarchy", place / "toy.csv", "--out", out, "--no-pdf"]
    return [*map(str, run), *map(str, options)]


def result_of(folder: Path) -> Any:
    return json.loads((folder / "result.json").read_bytes())


def drawn(instances: int, seed: int = 3) -> pl.DataFrame:
    """``instance, label``: of each instance from one to four rows."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(1, 5, size=instances)
    often = [0.25, 0.2, 0.15, 0.15, 0.1, 0.05, *[0.1 / 3] * 3]
    label = rng.choice(len(LABELS), size=rows.sum(), p=often)
    ids = [f"i{number}" for number in np.repeat(np.arange(instances), rows).tolist()]
    schema = {"instance": pl.String, "label": pl.String}
    return pl.DataFrame([ids, [LABELS[one] for one in label.tolist()]], schema=schema)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release, and runs of it of its instances and of the counts of tasks."""
    place = tmp_path_factory.mktemp("counted")
    edges = "\n".join(",".join(edge) for edge in EDGES)
    (place / "toy.csv").write_text(f"child,parent\n{edges}\n")
    (frame := drawn(600)).write_parquet(place / "rows.parquet")
    done = command(*arguments(place, "rows.parquet", place / "loaded"))
    assert done.exit_code == 0, done.output
    count = counted_by_tasks(frame, audit.load_hierarchy(place / "toy.csv"))
    audit.write_run(audit.run_audit(count), place / "counted")
    return place


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out" / "run"


def assert_same_tables(found: Path, expected: Path) -> None:
    """Equal to the last bit, but for confusion, which is a sum of fractions."""
    for name in TABLES:
        one, other = (
            pl.read_parquet(run / "restricted" / f"{name}.parquet") for run in (found, expected)
        )
        if name == "pairs":
            np.testing.assert_allclose(one["confusion"], other["confusion"], rtol=1e-12, atol=1e-15)
            one, other = one.drop("confusion"), other.drop("confusion")
        assert_frame_equal(one, other, check_exact=True)


def test_counts_tell_what_instances_tell_or_that_they_are_needed(place: Path) -> None:
    counted, loaded = (result_of(place / name) for name in ("counted", "loaded"))
    assert_same_tables(place / "counted", place / "loaded")
    assert (counted["ledger"], counted["overview"]) == (loaded["ledger"], loaded["overview"])
    needing = set()
    for one, other in zip(
        *(sorted(run["checks"], key=lambda check: check["name"]) for run in (counted, loaded)),
        strict=True,
    ):
        if "instances one by one" in str(one):
            assert one["status"] == "not_applicable"
            needing.add(one["name"])
        elif one["name"] != "cross_branch":  # whose breakdown of counts is another
            assert one == other
    assert needing == NEED_INSTANCES


STRATA = 'strata = ["site"]\n'
SPARK = ("--engine", "spark")
REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "master of none": (("--master", "local[2]"), "--master needs --engine spark"),
    "groups": ((*SPARK, "--group", "patient"), "Found: --group\n"),
    "splits": ((*SPARK, "--split", "split"), "Found: --split\n"),
    "a model": ((*SPARK, "--predictions", "p.psv"), "Found: --predictions\n"),
    "instances": ((*SPARK, "--keep-instances"), "Found: --keep-instances\n"),
    "strata": ((*SPARK, "--policy", "policy.toml"), "day, code_dates and person"),
    "a ratchet": ((*SPARK, "--policy", "ratchet.toml"), "needs an earlier run"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_one_message_and_leaves_nothing(
    place: Path, out: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    (place / "policy.toml").write_text(STRATA)
    (place / "ratchet.toml").write_text("ratchet = true\n")
    options, told = REFUSED[name]
    message = refused(*arguments(place, "rows.parquet", out, *options))

    assert told in message
    assert not out.parent.exists()


SUBMIT = "--conf spark.sql.shuffle.partitions=2 --conf spark.ui.enabled=false pyspark-shell"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("java") is None, reason="needs Java 17")
def test_spark_gives_the_same_and_its_run_can_be_made_again(place: Path, out: Path) -> None:
    pytest.importorskip("pyspark", reason="needs the extra spark")
    options = (*SPARK, "--master", "local[2]")
    done = subprocess.run(
        [AUDIT, *arguments(place, "rows.parquet", out, *options)],
        env=os.environ | {"PYSPARK_SUBMIT_ARGS": SUBMIT},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert_same_tables(out, place / "counted")
    assert result_of(out)["checks"] == result_of(place / "counted")["checks"]
    assert {path.name for path in out.parent.iterdir()} == {"run"}
