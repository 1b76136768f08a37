"""Corrected copies of events: what goes, what stays beside it, and what nobody can write."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from audit.base.errors import InputError
from audit.runs.fixes.changes import Change
from audit.runs.fixes.copying import log_of, undone
from audit.runs.settings import Settings
from fixtures.corrected_copies import copied, files_below
from tests.unit.runs.fixes.test_copies import settings


def test_of_events_without_visits_those_of_a_day_change_and_none_is_added(tmp_path: Path) -> None:
    known = settings(tmp_path, "tree_of", b"")
    times = [datetime(2100, 3, day, hour) for day in (1, 2) for hour in (1, 2)]
    rows = {"subject_id": 4 * [7], "time": times, "code": ["a1", "LAB", "a1", "a2"]}
    for part in ("data", "metadata"):
        (tmp_path / "events" / part).mkdir(parents=True)
    pl.DataFrame(rows).write_parquet(tmp_path / "events/data/0.parquet")
    pl.DataFrame({"code": ["a1"]}).write_parquet(tmp_path / "events/metadata/codes.parquet")
    known = replace(known, dataset=str(tmp_path / "events"), codes=("a*",))
    first, second = "7 2100-03-01", "7 2100-03-02"

    changes = [Change(first, "replace", "a1", "a2"), Change(second, "remove", "a1")]
    copy = copied(tmp_path, known, changes)

    found = pl.read_parquet(copy / "data/0.parquet")
    expected = pl.DataFrame(rows)[[0, 1, 3]].with_columns(code=pl.Series(["a2", "LAB", "a2"]))
    assert found.equals(expected)
    with pytest.raises(InputError, match="none for 1 change: 'add b1"):
        copied(tmp_path, known, [Change(first, "add", new="b1")], "other")


OWN, OTHER = {"system": "urn:a", "code": "a1"}, {"system": "urn:b", "code": "a1"}


def condition(id: str, *codings: Mapping[str, str], status: str = "confirmed") -> dict[str, Any]:
    return {
        "resourceType": "Condition",
        "id": id,
        "verificationStatus": {"coding": [{"code": status}]},
        "encounter": {"reference": "Encounter/e"},
        "code": {"coding": [*codings]},
    }


CONDITIONS = [
    condition("both", OTHER, OWN, OTHER),
    {"resourceType": "Patient", "id": "p"},
    condition("alone", OWN),
    condition("refuted", OWN, status="refuted"),
    condition("another", {"system": "urn:a", "code": "b1"}),
]


def written(folder: Path, end: str) -> Settings:
    settings(folder, "tree_of", b"")
    entries = [{"fullUrl": f"urn:{n}", "resource": one} for n, one in enumerate(CONDITIONS)]
    bundle = {"resourceType": "Bundle", "type": "collection", "entry": entries}
    lines = [json.dumps(one) for one in ([bundle] if end == "json" else CONDITIONS)]
    (folder / f"fhir.{end}").write_text("\n".join(lines), "utf-8")
    known = Settings(dataset=str(folder / f"fhir.{end}"), hierarchy=str(folder / "tree.csv"))
    return replace(known, vocabulary="urn:a")


@pytest.mark.parametrize("end", ["ndjson", "json"])
def test_a_coding_that_goes_takes_its_resource_along_where_it_is_the_last(
    end: str, tmp_path: Path
) -> None:
    known = written(tmp_path, end)

    copy = copied(tmp_path, known, [Change("e", "remove", "a1")])

    rest = [condition("both", OTHER, OTHER), CONDITIONS[1], *CONDITIONS[3:]]
    found = [json.loads(line) for line in copy.read_text("utf-8").splitlines()]
    if end == "json":
        found = [one["resource"] for one in found[0]["entry"]]
    assert found == rest
    again = undone(log_of(copy), tmp_path / "again")
    assert again.read_bytes() == Path(known.dataset).read_bytes()


def test_of_equal_codings_as_many_stay_as_is_said(tmp_path: Path) -> None:
    copy = copied(tmp_path, written(tmp_path, "ndjson"), [Change("e", "remove", "a1", keep=1)])

    ids = [json.loads(line)["id"] for line in copy.read_text("utf-8").splitlines()]
    assert ids == ["both", "p", "refuted", "another"]


def occurrences(folder: Path) -> Settings:
    """Codes of one visit: of a concept, of none, and of a concept that is written without dots."""
    settings(folder, "tree_of", b"")
    tree = "child,parent\na.1,a\na.2,a\nb.1,b\na,top\nb,top\n"
    (folder / "tree.csv").write_text(tree, "utf-8")
    (folder / "cdm").mkdir()
    concepts = "concept_id,concept_code,vocabulary_id,invalid_reason\n0,No,None,\n"
    concepts += "1,a.1,V,\n2,a.2,V,D\n3,a.2,V,\n4,b.1,V,\n"
    dated = "".join(
        f"{line},{from_},{to}\n"
        for line, from_, to in zip(
            concepts.splitlines(),
            ["valid_start_date", *["19700101"] * 5],
            ["valid_end_date", *["20991231"] * 5],
            strict=True,
        )
    )
    (folder / "cdm" / "CONCEPT.csv").write_text(dated, "utf-8")
    names = "person_id,condition_start_date,visit_occurrence_id,condition_concept_id,"
    names += "condition_source_concept_id,condition_source_value,condition_type_concept_id\n"
    rows = "7,2100-01-01,9,0,1,a.1,5\n7,2100-01-01,9,0,0,x1,5\n7,2100-01-01,9,0,4,b1,5\n"
    (folder / "cdm" / "condition_occurrence.csv").write_text(names + rows, "utf-8")
    return Settings(dataset=str(folder / "cdm"), hierarchy=str(folder / "tree.csv"))


def test_concepts_change_and_the_codes_beside_them(tmp_path: Path) -> None:
    known = occurrences(tmp_path)
    changes = [Change("9", "replace", "x1", "a.2"), Change("9", "replace", "b.1", "a.1")]

    copy = copied(tmp_path, known, [*changes, Change("9", "remove", "a.1")])

    lines = (copy / "condition_occurrence.csv").read_text("utf-8").splitlines()[1:]
    assert lines == ["7,2100-01-01,9,0,3,a.2,5", "7,2100-01-01,9,0,1,a1,5"]
    again = files_below(undone(log_of(copy), tmp_path / "again"))
    before = files_below(Path(known.dataset))
    assert {n: one.read_bytes() for n, one in again.items()} == {
        n: one.read_bytes() for n, one in before.items()
    }


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (Change("9", "add", new="a.2"), "labels of events that are there"),
        (Change("9", "replace", "a.1", "a2"), "a concept of V is required(.|\n)*'a2'"),
        (Change("8", "replace", "a.1", "a.2"), "a place in the data is required"),
    ],
)
def test_what_an_event_cannot_be_is_refused(change: Change, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        copied(tmp_path, occurrences(tmp_path), [change])

    assert not (tmp_path / "copy").exists()
