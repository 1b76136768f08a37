"""``audit run`` on data that are only counted: in batches, and on Spark."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from audit.runs.verify import verify_run
from fixtures.commands import audit, refused
from fixtures.toy import EDGES

AUDIT = str(Path(sys.executable).with_name("audit"))
LABELS = ("dog", "cow", "bird", "tool", "pet", "animal", "unicorn", " cow ", None)
NEED_INSTANCES = {
    "principal_position",
    "drift",
    "split_leak",
    "group_confined",
    "unspecific_beside_specific",
    "sibling_exclusive",
    "excludes1",
    "missing_companion",
    "sex_age_conflict",
    "chronic_gap",
    "missing_stratum",
    "model_confuses",
}
SMALL = "20MB"
"""Memory for batches of 10,000 rows, the smallest."""


def arguments(data: Path, out: Path, *options: object) -> list[str]:
    hierarchy = data.parent / "toy.csv"
    run = ["run", data, "--hierarchy", hierarchy, "--out", out, "--no-pdf", *options]
    return [str(argument) for argument in run]


def run(data: Path, out: Path, *options: object) -> Path:
    done = audit(*arguments(data, out, *options))
    assert done.exit_code == 0, done.output
    return out


def installed(data: Path, out: Path, *options: object, **variables: str) -> subprocess.Popen[str]:
    """The command as it is installed, in a process of its own."""
    return subprocess.Popen(
        [AUDIT, *arguments(data, out, *options)],
        env=os.environ | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def left_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def data_of(run: Path) -> str:
    """The digest of a run's data."""
    return str(json.loads((run / "restricted" / "manifest.json").read_text())["data_sha256"])


def result_of(folder: Path) -> Any:
    return json.loads((folder / "result.json").read_bytes())


def table(folder: Path, name: str) -> pl.DataFrame:
    return pl.read_parquet(folder / "restricted" / f"{name}.parquet")


def drawn(instances: int, seed: int = 3) -> pl.DataFrame:
    """``instance, label``: of each instance from one to four rows."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(1, 5, size=instances)
    label = rng.choice(
        len(LABELS), size=rows.sum(), p=[0.25, 0.2, 0.15, 0.15, 0.1, 0.05, *[0.1 / 3] * 3]
    )
    return pl.DataFrame(
        {
            "instance": [f"i{number}" for number in np.repeat(np.arange(instances), rows).tolist()],
            "label": [LABELS[place] for place in label.tolist()],
        },
        schema={"instance": pl.String, "label": pl.String},
    )


def listed(frame: pl.DataFrame) -> str:
    lists = frame.group_by("instance", maintain_order=True).agg(labels="label")
    lines = ({"id": i, "labels": labels} for i, labels in lists.iter_rows())
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def write_toy(place: Path) -> None:
    edges = "\n".join(",".join(edge) for edge in EDGES)
    (place / "toy.csv").write_text(f"child,parent\n{edges}\n")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release in three formats and in two parts, and runs of it in memory and counted."""
    place = tmp_path_factory.mktemp("counted")
    write_toy(place)
    frame = drawn(600)
    frame.write_parquet(place / "rows.parquet", row_group_size=200)
    frame.write_csv(place / "rows.csv")
    (place / "rows.jsonl").write_text(listed(frame))
    earlier = pl.col("instance").str.slice(1).cast(pl.Int64) < 300
    frame.filter(earlier).write_parquet(place / "first.parquet")
    frame.filter(~earlier).write_parquet(place / "second.parquet")
    run(place / "rows.parquet", place / "loaded")
    run(place / "rows.parquet", place / "counted", "--memory", "1GB")
    return place


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out" / "run"


def assert_same_tables(found: Path, expected: Path, names: Iterable[str]) -> None:
    """Equal to the last bit, but for confusion, which is a sum of fractions."""
    for name in names:
        one, other = table(found, name), table(expected, name)
        if name == "pairs":
            np.testing.assert_allclose(one["confusion"], other["confusion"], rtol=1e-12, atol=1e-15)
            one, other = one.drop("confusion"), other.drop("confusion")
        assert_frame_equal(one, other, check_exact=True)


# --- what it tells --------------------------------------------------------------------------

TABLES = ("nodes", "edges", "pairs", "judged_pairs", "pair_margins", "pair_strata", "residuals")


@pytest.mark.slow
def test_counts_tell_what_the_loaded_data_tell(place: Path) -> None:
    assert_same_tables(place / "counted", place / "loaded", TABLES)
    counted, loaded = result_of(place / "counted"), result_of(place / "loaded")
    assert counted["ledger"] == loaded["ledger"]
    assert data_of(place / "counted") == data_of(place / "loaded")
    assert counted["overview"] == loaded["overview"]


def test_every_check_finds_the_same_or_says_that_it_needs_the_instances(place: Path) -> None:
    both = zip(
        *(
            sorted(result_of(place / name)["checks"], key=lambda check: check["name"])
            for name in ("counted", "loaded")
        ),
        strict=True,
    )
    needing = set()
    for counted, loaded in both:
        if "instances one by one" in str(counted):
            assert counted["status"] == "not_applicable"
            needing.add(counted["name"])
        else:
            assert without_breakdown(counted) == without_breakdown(loaded)
    assert needing == NEED_INSTANCES


def without_breakdown(check: dict[str, Any]) -> dict[str, Any]:
    """Counts break meetings of branches down by the lowest nodes that meet, not by labels."""
    if check["name"] != "cross_branch":
        return check
    return check | {"findings": [finding | {"parts": []} for finding in check["findings"]]}


@pytest.mark.parametrize(("options", "same"), [((), "loaded"), (("--memory", "1GB"), "counted")])
def test_a_folder_of_parts_gives_the_same(
    place: Path, out: Path, tmp_path: Path, options: tuple[str, ...], same: str
) -> None:
    write_toy(tmp_path)
    folder = tmp_path / "rows"
    folder.mkdir()
    for name in ("first", "second"):
        shutil.copy(place / f"{name}.parquet", folder / f"part-{name}.parquet")
    run(folder, out, *options)

    assert_same_tables(out, place / same, TABLES)
    assert result_of(out)["checks"] == result_of(place / same)["checks"]
    inputs = json.loads((out / "restricted" / "manifest.json").read_text())["inputs"]
    read = [Path(found["path"]) for found in inputs if found["role"] == "data"]
    assert read == sorted(folder.iterdir())
    verified = {verdict.name: verdict for verdict in verify_run(out, recompute=True)}
    assert verified["recomputation"].outcome == "holds", verified["recomputation"].detail


def test_many_rows_are_counted_in_batches_and_it_is_told(
    place: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("audit.runs.settings.MANY_ROWS", 1_000)
    done = audit(*arguments(place / "rows.parquet", out))
    assert "rows are counted in batches" in done.stdout
    (told,) = result_of(out)["readings"]
    assert told["rows"] == len(pl.read_parquet(place / "rows.parquet"))

    assert_same_tables(out, place / "counted", TABLES)
    assert result_of(out)["checks"] == result_of(place / "counted")["checks"]
    verified = {verdict.name: verdict for verdict in verify_run(out, recompute=True)}
    assert verified["recomputation"].outcome == "holds", verified["recomputation"].detail
    run(place / "rows.parquet", out, "--engine", "memory", "--overwrite")
    assert result_of(out) == result_of(place / "loaded")


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl"])
def test_each_format_gives_the_same(place: Path, out: Path, name: str) -> None:
    run(place / name, out, "--engine", "stream")

    assert_same_tables(out, place / "counted", TABLES)


@pytest.mark.slow
def test_little_memory_and_one_thread_give_the_same_bytes(place: Path, out: Path) -> None:
    with installed(place / "rows.parquet", out, "--memory", SMALL, "--jobs", "1") as child:
        said, told = child.communicate()

    assert (child.returncode, told) == (0, "")
    assert re.search(r"took [\d,]+ MB, [\d,]+ MB more\s+than --memory", said)
    assert (out / "result.json").read_bytes() == (place / "counted/result.json").read_bytes()
    assert left_in(out.parent) == {"run"}


@pytest.mark.slow
def test_a_table_of_a_release_is_counted_by_its_layout(place: Path, out: Path) -> None:
    rows = "1,7,4019\n1,7,25000\n2,8,4019\n"
    data = out.parent.with_name("DIAGNOSES_ICD.csv")
    data.write_text(f"SUBJECT_ID,HADM_ID,ICD9_CODE\n{rows}")
    write_toy(data.parent)

    run(data, out, "--memory", "1GB", "--min-cell", "1", "--hierarchy", "icd9cm")
    assert result_of(out)["ledger"]["rows_mapped"] == 3


def test_a_counted_run_can_be_made_again(place: Path) -> None:
    done = audit("verify", place / "counted", "--recompute", "--json")

    assert done.exit_code == 0, done.output
    outcomes = {one["name"]: one["outcome"] for one in json.loads(done.stdout)["verdicts"]}
    unchecked = {name for name, outcome in outcomes.items() if outcome == "not checked"}
    assert unchecked <= {"reports"}
    assert set(outcomes.values()) <= {"holds", "not checked"}


def test_titles_are_among_the_inputs(place: Path, out: Path) -> None:
    titles = out.parent.with_name("titles.csv")
    titles.write_text("code,title\ndog,The dog\n")
    run(place / "rows.parquet", out, "--engine", "stream", "--titles", titles)
    inputs = json.loads((out / "manifest.json").read_text())["inputs"]

    assert [source["path"] for source in inputs if source["role"] == "titles"] == [str(titles)]
    assert table(out, "nodes").filter(node="dog")["title"].item() == "The dog"


# --- refused --------------------------------------------------------------------------------

STRATA = 'strata = ["site"]\n'
WAIVED = """
[[waivers]]
check = "*"
node = "nowhere"
owner = "Coding office"
reason = "none"
added = 2026-03-01
expires = 2027-03-31
"""
REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "no size": (("--memory", "lots"), "a size is required, such as 500MB, 4GB or 2GiB"),
    "no memory": (("--memory", "0"), "Hint: give more memory"),
    "little memory": (("--memory", "1MB"), "memory of at least 19 MiB is required"),
    "memory of Spark": (("--memory", "4GB", "--engine", "spark"), "--memory needs --engine st"),
    "memory loaded": (("--memory", "4GB", "--engine", "memory"), "--memory needs --engine st"),
    "master of none": (("--master", "local[2]"), "--master needs --engine spark"),
    "groups": (("--memory", "1GB", "--group", "patient"), "Found: --group\n"),
    "splits": (("--memory", "1GB", "--split", "split"), "Found: --split\n"),
    "a model": (("--memory", "1GB", "--predictions", "p.psv"), "Found: --predictions\n"),
    "instances": (("--memory", "1GB", "--keep-instances"), "Found: --keep-instances\n"),
    "strata": (
        ("--memory", "1GB", "--policy", "policy.toml"),
        "day, code_dates and person",
    ),
    "a ratchet": (("--memory", "1GB", "--policy", "ratchet.toml"), "needs an earlier run"),
    "an unknown node": (
        ("--memory", "1GB", "--policy", "waived.toml"),
        "Found: 'waivers: nowhere'",
    ),
    "an unknown check": (
        ("--memory", "1GB", "--policy", "severe.toml"),
        "Found: 'severities: guess'",
    ),
    "no such column": (("--memory", "1GB", "--id", "nowhere"), "Hint: name another with --id"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_one_message_and_leaves_nothing(
    place: Path, out: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    (place / "policy.toml").write_text(STRATA)
    (place / "ratchet.toml").write_text("ratchet = true\n")
    (place / "waived.toml").write_text(WAIVED)
    (place / "severe.toml").write_text('[severities]\nguess = "error"\n')
    options, told = REFUSED[name]
    message = refused(audit(*arguments(place / "rows.parquet", out, *options)))

    assert told in message
    assert not out.parent.exists()


@pytest.mark.parametrize(
    ("name", "found"), [("folder", "an empty folder"), ("gone.csv", "nothing there")]
)
def test_batches_need_a_file_or_parts(place: Path, out: Path, name: str, found: str) -> None:
    (place / "folder").mkdir(exist_ok=True)
    message = refused(audit(*arguments(place / name, out, "--memory", "1GB")))

    assert f"Found: {found}" in message
    assert not out.parent.exists()


def test_a_run_is_not_replaced_without_being_asked(place: Path) -> None:
    before = (place / "counted" / "result.json").read_bytes()
    data = place / "second.parquet"
    message = refused(audit(*arguments(data, place / "counted", "--memory", "1GB")))

    assert "add --overwrite" in message
    assert (place / "counted" / "result.json").read_bytes() == before


# --- on Spark -------------------------------------------------------------------------------

SPARK = "--conf spark.sql.shuffle.partitions=2 --conf spark.ui.enabled=false pyspark-shell"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("java") is None, reason="needs Java 17")
def test_spark_gives_the_same_bytes(place: Path, out: Path) -> None:
    pytest.importorskip("pyspark", reason="needs the extra spark")
    options = ("--engine", "spark", "--master", "local[2]")
    with installed(place / "rows.parquet", out, *options, PYSPARK_SUBMIT_ARGS=SPARK) as child:
        _, told = child.communicate()

    assert child.returncode == 0, told
    assert_same_tables(out, place / "counted", TABLES)
    assert (out / "result.json").read_bytes() == (place / "counted/result.json").read_bytes()
    assert left_in(out.parent) == {"run"}


def test_spark_without_java_is_one_message(
    place: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyspark", reason="needs the extra spark")
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    message = refused(audit(*arguments(place / "rows.parquet", out, "--engine", "spark")))
    assert "Java 17 is required for --engine spark" in message

    monkeypatch.setenv("JAVA_HOME", str(place))
    message = refused(audit(*arguments(place / "rows.parquet", out, "--engine", "spark")))
    assert f"no java in JAVA_HOME: {place}" in message
    assert not out.parent.exists()


@pytest.mark.skipif(shutil.which("java") is None, reason="needs Java 17")
def test_spark_is_not_started_for_a_file_that_is_not_there(place: Path, out: Path) -> None:
    pytest.importorskip("pyspark", reason="needs the extra spark")
    message = refused(audit(*arguments(place / "gone.parquet", out, "--engine", "spark")))

    assert "Found: nothing there" in message
    assert not out.parent.exists()
