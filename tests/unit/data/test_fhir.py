"""FHIR: rows as plain Python has them from lines, Bundles and folders, and what is refused."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

import audit
from audit.base.errors import AuditError
from audit.base.readings import AskedError
from fixtures.coded import icd9cm

pytest.importorskip("fhir.resources")
NINE, SNOMED = "http://hl7.org/fhir/sid/icd-9-cm", "http://snomed.info/sct"
CODES = {NINE: ("428.0", "4019", "V30.00", "038.0", "99Z"), SNOMED: ("84114007", "38341003")}


def resources(seed: int) -> list[dict[str, Any]]:
    """Conditions, procedures, encounters and a patient, as ``fhir.resources`` writes them."""
    from fhir.resources.R4B.condition import Condition
    from fhir.resources.R4B.encounter import Encounter
    from fhir.resources.R4B.patient import Patient
    from fhir.resources.R4B.procedure import Procedure

    draw, made = Random(seed), [Patient(id="p0")]
    for n in range(12):
        status = "entered-in-error" if n == 3 else "finished"
        period = {"start": f"2150-01-{n + 1:02d}T10:00:00Z"}
        made += [
            Encounter(
                **{"id": f"e{n}", "status": status, "period": period, "class": {"code": "IMP"}}
            )
        ]
    for n in range(80):
        systems = draw.sample([NINE, SNOMED], draw.choice([0, 1, 1, 2]))
        coding = [{"system": s, "code": draw.choice(CODES[s])} for s in systems]
        visit = f"e{draw.randrange(12)}" if draw.random() < 0.8 else None
        person = f"p{(int(visit[1:]) if visit else n) % 5}"
        subject = {"reference": f"Patient/{person}"}
        said = {"id": f"c{n}", "subject": subject, "code": {"coding": coding, "text": "as said"}}
        said |= {"encounter": {"reference": f"Encounter/{visit}"}} if visit else {}
        if n % 8 == 7:
            made += [Procedure(status=draw.choice(["completed", "not-done"]), **said)]
            continue
        status = draw.choice(["confirmed", "confirmed", "refuted", "provisional"])
        said |= {"recordedDate": "2150-02-01"} if draw.random() < 0.5 else {}
        made += [Condition(verificationStatus={"coding": [{"code": status}]}, **said)]
    return [json.loads(one.model_dump_json()) for one in made]


def as_lines(every: list[dict[str, Any]], path: Path) -> Path:
    folder = path / "export"
    folder.mkdir()
    for kind in {one["resourceType"] for one in every}:
        own = [json.dumps(one) for one in every if one["resourceType"] == kind]
        for part in (0, 1):
            (folder / f"{kind}.{part:03d}.ndjson").write_text("\n".join(own[part::2]) + "\n")
    return folder


def as_bundle(every: list[dict[str, Any]], path: Path) -> Path:
    from fhir.resources.R4B.bundle import Bundle

    file = path / "bundle.json"
    entries = [{"resource": one} for one in every]
    file.write_text(Bundle(type="collection", entry=entries).model_dump_json(indent=1))
    return file


def as_bundles(every: list[dict[str, Any]], path: Path) -> Path:
    for n in range(3):
        (path / str(n)).mkdir()
        as_bundle(every[n::3], path / str(n)).rename(path / f"{n}.json")
        (path / str(n)).rmdir()
    return path


def expected(every: list[dict[str, Any]], system: str) -> tuple[Counter[Any], Counter[str]]:
    """Instance, label and group of each row that has an instance, and rows by reason."""
    starts = {one["id"]: one for one in every if one["resourceType"] == "Encounter"}
    rows, reasons = Counter[Any](), Counter[str]()
    for one in every:
        if one["resourceType"] not in ("Condition", "Procedure"):
            continue
        person = one["subject"]["reference"].split("/")[1]
        visit = one.get("encounter", {}).get("reference", "/").split("/")[1] or None
        day = one.get("recordedDate")
        instance = visit or (f"{person} {day}" if day else None)
        status = one.get("status") or one["verificationStatus"]["coding"][0]["code"]
        coding = one["code"].get("coding") or []
        own = [c["code"] for c in coding if c["system"] == system] or [None]
        label = own[0] or (coding[0]["code"] if coding else None)
        wrong = visit and starts[visit]["status"] == "entered-in-error"
        if instance is None:
            reasons["bad_row"] += 1
        elif status in ("refuted", "not-done") or wrong or (own == [None] and coding):
            reasons["left_out"] += 1
        elif own == [None]:
            reasons["missing_code"] += 1
        if instance is not None:
            rows[instance, label, person] += 1
    return rows, reasons


def read(dataset: audit.LabelDataset) -> set[Any]:
    lines = pl.concat([dataset.mappings["label"], dataset.refusals["label"]])
    of = dataset.instances.select("instance", "group").rows()
    return {(of[p][0], lines[line], of[p][1]) for p, line in dataset.written.iter_rows()}


@pytest.mark.parametrize("written", [as_lines, as_bundle, as_bundles])
@pytest.mark.parametrize("seed", range(3))
def test_rows_are_those_of_plain_python(
    tmp_path: Path, written: Callable[[list[dict[str, Any]], Path], Path], seed: int
) -> None:
    rows, reasons = expected(every := resources(seed), NINE)

    dataset = audit.load_labels(written(every, tmp_path), icd9cm(), system=NINE)

    assert read(dataset) == {*rows}
    told = Counter({r: n for r, n in dataset.ledger.refused.items() if r in reasons})
    assert told == reasons
    assert dataset.ledger.rows_read == rows.total() + reasons["bad_row"]
    assert dataset.persons
    assert any("without a coding of the system" in one.decision for one in dataset.readings)
    assert any("provisional" in one.decision for one in dataset.readings)


def test_which_system_is_asked_and_the_question_offers_the_one_with_nodes(tmp_path: Path) -> None:
    folder = as_lines(resources(1), tmp_path)
    with pytest.raises(AskedError) as found:
        audit.load_labels(folder, icd9cm())
    assert f"--system {NINE}" in str(found.value)
    assert SNOMED not in str(found.value)


def test_procedures_are_of_the_procedures_of_their_classification(tmp_path: Path) -> None:
    kinds = {"Condition": "4019", "Procedure": "3961"}
    for kind, code in kinds.items():
        held = {"resourceType": kind, "encounter": {"reference": "Encounter/1"}}
        held |= {
            "subject": {"reference": "P/1"},
            "code": {"coding": [{"system": NINE, "code": code}]},
        }
        (tmp_path / f"{kind}.ndjson").write_text(json.dumps(held) + "\n")

    dataset = audit.load_labels(tmp_path, icd9cm())

    assert sorted(dataset.mappings["node"]) == ["39.61", "401.9"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("b.json", {"resourceType": "Bundle", "entry": [{"resource": {"resourceType": "Patient"}}]},
         "Condition or Procedure are required.*'Patient'"),
        ("b.json", {"resourceType": "Bundle", "entry": 3}, "must be a list of"),
        ("c.ndjson", {"resourceType": "Condition", "code": "4019"}, "of Condition as in FHIR R4"),
        (
            "c.ndjson",
            {"resourceType": "Condition", "subject": {"reference": {}}},
            "of Condition as in FHIR R4",
        ),
        ("c.ndjson", '{"resourceType": "Condition", ', "a JSON document"),
        ("c.ndjson", '{"resourceType": "Patient"}\n{"resourceType": "Cond', "a JSON document"),
        ("c.ndjson", '\ufeff{"resourceType": "Patient"}', "Condition or Procedure are required"),
        ("c.ndjson", {"resourceType": "Condition", "code": {"coding": [{"system": "a"}]}},
         "a system that the data have"),
    ],
)  # fmt: skip
def test_what_is_no_resource_is_refused(
    tmp_path: Path, name: str, content: Any, words: str
) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    (tmp_path / name).write_text(text + "\n")
    with pytest.raises(AuditError, match=f"(?s){words}"):
        audit.load_labels(tmp_path / name, icd9cm(), system=NINE)


def test_a_model_of_resources_is_joined_by_encounters(tmp_path: Path) -> None:
    labels = audit.load_labels(as_lines(resources(1), tmp_path), icd9cm(), system=NINE)
    scores = {"id": labels.instances["instance"].to_list()}
    read = audit.load_predictions(scores | {"428.0": [0.5] * len(labels)}, labels)
    assert read.ledger.instances_read == len(labels)
