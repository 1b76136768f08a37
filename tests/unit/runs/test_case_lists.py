"""The cases of a run: listed, drawn at random, written."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.errors import InputError, OutputError
from audit.hierarchies.hierarchy import Hierarchy
from audit.results.result import AuditResult
from audit.runs.audit import run_audit
from audit.runs.case_lists import cases_of, drawn, listed, write_csv
from audit.runs.folder import write_run
from audit.runs.read import read_run
from fixtures.labelled import labelled
from fixtures.task_counts import counted_by_tasks

LABELS = {"a": ["dog", "tool"], "b": ["cow", "elf"], "c": ["orc"], "d": ["tool", "tool"]}


@pytest.fixture
def result(toy_hierarchy: Hierarchy, tmp_path: Path) -> AuditResult:
    return read_run(write_run(run_audit(labelled(toy_hierarchy, LABELS)), tmp_path / "run"))


def test_every_finding_is_listed_with_its_own_numbers_and_its_cases(result: AuditResult) -> None:
    told = {one.id: one for one in listed(result)}

    assert list(told) == result.findings["id"].to_list()
    refused = told["unknown_code:refused"]
    assert (refused.check, refused.severity, refused.cases) == ("unknown_code", "error", 2)
    assert refused.statement.startswith("2 of 7 rows (28.6%) have 2 labels")


def test_one_finding_has_its_cases_in_order(result: AuditResult) -> None:
    found = cases_of(result, "unknown_code:refused").collect()

    assert found.rows() == [("unknown_code:refused", "b"), ("unknown_code:refused", "c")]


def test_an_unknown_finding_is_refused_with_the_nearest_ids(result: AuditResult) -> None:
    with pytest.raises(InputError, match="unknown_code:refusd") as told:
        cases_of(result, "unknown_code:refusd")
    assert "unknown_code:refused" in told.value.hint
    with pytest.raises(InputError, match="audit cases RUN"):
        cases_of(result, "%")


def test_a_counted_run_is_refused_with_what_to_do(toy_hierarchy: Hierarchy, tmp_path: Path) -> None:
    rows = pl.DataFrame({"instance": ["a", "b"], "label": ["dog", "cow"]})
    counted = run_audit(counted_by_tasks(rows, toy_hierarchy))
    run = write_run(counted, tmp_path / "run")

    assert counted.cases is None
    assert not (run / "restricted" / "cases.parquet").exists()
    for one in (counted, read_run(run)):
        with pytest.raises(InputError, match="only counted") as told:
            cases_of(one)
        assert "--engine spark" in told.value.hint


IDS = st.text(min_size=1, max_size=4)
CASES = st.lists(st.tuples(st.sampled_from("xyz"), IDS), unique=True)


def frame(rows: list[tuple[str, str]]) -> pl.LazyFrame:
    schema = {"finding": pl.Enum("zxy"), "instance": pl.String}
    return pl.DataFrame(rows, schema, orient="row").sort("finding", "instance").lazy()


@given(CASES, st.integers(1, 6), st.integers(0, 3), st.randoms(use_true_random=False))
def test_what_is_drawn_depends_on_seed_and_ids_alone(
    rows: list[tuple[str, str]], sample: int, seed: int, order: random.Random
) -> None:
    found = drawn(frame(rows), sample, seed).collect()
    shuffled = order.sample(rows, len(rows))
    more = drawn(frame(rows), sample + 1, seed).collect()

    assert set(found.rows()) <= set(rows)
    assert found.equals(drawn(frame(shuffled), sample, seed).collect())
    assert found.equals(found.sort("finding", "instance"))
    assert set(found.rows()) <= set(more.rows())
    sizes = dict(found.group_by("finding").len().iter_rows())
    for finding in "xyz":
        of_it = [row for row in rows if row[0] == finding]
        assert sizes.get(finding, 0) == min(sample, len(of_it))
        alone = drawn(frame(of_it), sample, seed).collect()
        assert alone.rows() == [row for row in found.rows() if row[0] == finding]


def test_every_instance_is_drawn_as_often_as_another() -> None:
    ids = [f"i{n}" for n in range(20)]
    cases = frame([("x", instance) for instance in ids])
    often = dict.fromkeys(ids, 0)
    for seed in range(400):
        for instance in drawn(cases, 5, seed).collect()["instance"]:
            often[instance] += 1

    assert all(60 <= times <= 140 for times in often.values()), often


def test_a_file_is_written_whole_and_replaced_only_when_asked(tmp_path: Path) -> None:
    file, cases = tmp_path / "cases.csv", frame([("x", 'a "b", c'), ("z", "é")])
    write_csv([cases.collect()], file, overwrite=False)

    assert pl.read_csv(file).rows() == [("z", "é"), ("x", 'a "b", c')]
    before = file.read_bytes()
    with pytest.raises(OutputError, match="replaced only when asked"):
        write_csv([frame([]).collect()], file, overwrite=False)
    assert file.read_bytes() == before
    write_csv([frame([]).collect()], file, overwrite=True)
    assert file.read_text() == "finding,instance\n"
    assert [path.name for path in tmp_path.iterdir()] == ["cases.csv"]


def test_what_is_no_file_is_never_replaced(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="a regular file"):
        write_csv([frame([]).collect()], tmp_path, overwrite=True)
    (tmp_path / "file").write_text("kept")
    with pytest.raises(OutputError, match="writable folder"):
        write_csv([frame([]).collect()], tmp_path / "file" / "cases.csv", overwrite=False)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["kept"]


def test_the_folder_of_a_list_is_created(tmp_path: Path) -> None:
    write_csv([frame([]).collect()], tmp_path / "new" / "cases.csv", overwrite=False)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["cases.csv"]
