"""Layouts that strangers brought: each is read as meant, or its hint works as it is printed."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import audit
from audit.base.errors import AuditError, FormatError
from fixtures.labelled import tree

GO = tree("GO:1 GO:2 < GO:0", "GO:3 GO:4 < GO:9")
ILL = tree("asthma copd flu cough < ill")
CODES = tree("C18.0 C18.7 < C18", "C34.9 C34.1 < C34")
TARIFF = tree("847130 847141 < 8471", "090111 090121 < 0901")
ROWS = 40


def table(header: str, *rows: str, times: int = ROWS) -> str:
    """Rows again and again, with the number of the row for # and of the fourth for @."""
    every = [rows[n % len(rows)] for n in range(times)]
    lines = [one.replace("#", f"{n + 10}").replace("@", f"{n // 4 + 10}")
             for n, one in enumerate(every)]  # fmt: skip
    return "\n".join([*([header] if header else []), *lines]) + "\n"


Layout = tuple[str, Any, str, int, int]
"""A table, its hierarchy, the options that are proposed, and how many instances and labels."""
ASKED: dict[str, Layout] = {
    "several columns of other nodes": (
        table("Entry\tprocess\tpart\tfunction", "P#A\ta [GO:1]; b [GO:2]\t\tc [GO:3]",
              "P#A\ta [GO:1]\td [GO:4]\t"),
        GO, "--id Entry --label process,part,function", 40, 100),
    "secondary codes beside, in runs": (
        table("KH-Kennzeichen;Kode;Stern-Kode", "20230@;C18.0+;C34.1*", "20230@;C34.9;",
              "20230@;C18.7!;"),
        CODES, "--id KH-Kennzeichen --label Kode,Stern-Kode", 10, 54),
    "a contact whose rows are apart": (
        table("krypt;kode;dw_kontakt",
              *(f"k{n % 5}00;C18.{n % 2 * 7};K{n % 7}770" for n in range(ROWS))),
        CODES, "--id dw_kontakt --label kode", 7, 40),
    "visits of persons": (
        table("DAY,ID,ACODE_1,ACODE_2",
              *(f"{n % 9},p{n % 7},4019,{['', '4280'][n % 2]}" for n in range(ROWS))),
        "icd9cm", "--id ROW --label ACODE_#", 40, 60),
    "no header, several labels in brackets": (
        table("", "jg@.t1\tf#\tGO:1(PANTHER)|GO:3(Pro)\tx", "jg@.t1\tf#\tGO:2(Pro)\tx",
              "jg@.t1\tf#\tGO:4(Pro)\tx"),
        GO, "--id 'column A' --label 'column C'", 10, 54),
}  # fmt: skip


@pytest.mark.parametrize("layout", ASKED.values(), ids=ASKED)
def test_the_first_command_that_is_proposed_reads_all_labels(
    layout: Layout, tmp_path: Path
) -> None:
    text, hierarchy, options, instances, labels = layout
    (path := tmp_path / "a.tsv").write_text(text)
    with pytest.raises(AuditError) as caught:
        audit.load_labels(path, hierarchy)
    proposed = caught.value.hint.partition("perhaps: ")[2].partition(";")[0].partition(" or: ")[0]
    typed, meant = shlex.split(proposed), shlex.split(options)
    assert typed == meant
    dataset = audit.load_labels(path, hierarchy, id=typed[1], label=typed[3])
    assert (len(dataset), dataset.ledger.rows_mapped) == (instances, labels)


def test_cells_that_were_merged_are_filled_by_what_is_proposed(tmp_path: Path) -> None:
    rows = (f"m{n // 3 if n % 3 == 0 else ''},{'MF'[n % 2] if n % 3 == 0 else ''},C18.{n % 2 * 7}"
            for n in range(ROWS))  # fmt: skip
    text = "MRN,Sex,code\n" + "\n".join(rows).replace("m,", ",") + "\n"
    (path := tmp_path / "a.csv").write_text(text)
    with pytest.raises(AuditError, match="'MRN', 'Sex' stand in the first row") as caught:
        audit.load_labels(path, CODES)
    (code,) = re.findall(r'python -c "(.*?)" makes', caught.value.hint)
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    dataset = audit.load_labels(tmp_path / "filled.csv", CODES)
    assert (len(dataset), dataset.ledger.rows_mapped) == (14, ROWS)


def test_numbers_of_stated_classes_are_proposed(tmp_path: Path) -> None:
    (path := tmp_path / "a.csv").write_text(
        table(",y_true,y_pred,proba_0", "#,0,1,0.5", "#,2,1,0.3")
    )
    with pytest.raises(AuditError, match="--label y_true"):
        audit.load_labels(path, ILL, classes=["asthma", "flu", "copd"])
    assert (
        audit.load_labels(
            path, ILL, classes=["asthma", "flu", "copd"], label="y_true"
        ).ledger.rows_mapped
        == ROWS
    )


def test_vectors_in_cells_are_scores(tmp_path: Path) -> None:
    rows = [f'd{n},flu,"[0.1,{0.5 + n / 100},0.{4 - n}]",1.0' for n in range(4)]
    (path := tmp_path / "a.csv").write_text(
        "\n".join(["doc_id,category,probability,prediction", *rows])
    )
    labels = audit.load_labels(path, ILL, id="doc_id", label="category")
    found = audit.load_predictions(path, labels, classes=["asthma", "flu", "copd"])
    assert sorted(found.scores.toarray().max(axis=1)) == [0.5, 0.51, 0.52, 0.53]
    assert found.instances == ("d0", "d1", "d2", "d3")


READ: dict[str, tuple[str, str, Any, int, int]] = {
    "a title behind a dash": (
        "a.csv", table("Patient ID,Site", "p@,C18.0-Cecum", 'p@,"C34.9-Lung, NOS"'), CODES, 10, 40),
    "dots that nodes lack": (
        "a.csv", table("MRN,Item,Commodity", "m@,1,8471.30", "m@,2,0901.11"), TARIFF, 10, 40),
    "checkboxes beside others": (
        "a.csv", table("record_id,c___asthma,c___copd,c___flu,consent___1,consent___2",
                       "#,1,0,0,1,0", "#,0,1,1,0,1"), ILL, 40, 60),
    "lists of ways of titles": (
        "a.json", json.dumps([
            {"asin": f"B{n}", "on": [["Pets", "Cats"], ["Pets", "Dogs"]][n % 2 :], "or": {"x": 1}}
            for n in range(ROWS)
        ]),
        "Pets\nPets > Cats\nPets > Dogs\n", 40, 60),
    "keys of synonyms": (
        "a.csv", table("gbifID,key,acceptedKey", "#,s1,GO:1", "#,GO:1,GO:1", "#,s3,GO:3",
                       "#,s4,GO:3"),
        GO, 40, 40),
}  # fmt: skip


@pytest.mark.parametrize("layout", READ.values(), ids=READ)
def test_it_is_read_at_the_first_command(
    layout: tuple[str, str, Any, int, int], tmp_path: Path
) -> None:
    name, text, hierarchy, instances, labels = layout
    (path := tmp_path / name).write_text(text)
    if isinstance(hierarchy, str):
        (tmp_path / "h.txt").write_text(hierarchy)
        hierarchy = audit.load_hierarchy(tmp_path / "h.txt")
    dataset = audit.load_labels(path, hierarchy)
    assert (len(dataset), dataset.ledger.rows_mapped) == (instances, labels)
    assert not dataset.ledger.refused
    assert dataset.readings


@pytest.mark.parametrize("bad", ["discarded", "draft", "cancelled", "withdrawn", "Rejected"])
@pytest.mark.parametrize("good", ["submitted", "Completed", "approved"])
def test_the_state_of_a_nested_answer_is_asked(good: str, bad: str, tmp_path: Path) -> None:
    answers = [{"value": ["flu"], "status": good}, {"value": ["asthma"], "status": bad}]
    lines = [{"id": n, "responses": {"topic": answers[n % 2 :]}} for n in range(ROWS)]
    (path := tmp_path / "a.json").write_text(json.dumps(lines))
    with pytest.raises(AuditError, match=r"what 'responses\.topic\.status' says") as caught:
        audit.load_labels(path, ILL, id="id", label="responses.topic.value")
    where = re.findall(r"--where '(.*?)'", caught.value.hint)
    left_out, every = (
        audit.load_labels(path, ILL, id="id", label="responses.topic.value", where=[one])
        for one in where
    )
    assert left_out.ledger.refused == {"left_out": ROWS}
    assert every.ledger.rows_mapped == 60


@pytest.mark.parametrize(
    ("cells", "carried"),
    [(["0,2,13,4", "1,0,0,7"], "every count"), (["1,2,2,1", "2,1,2,2"], "1, which may be yes")],
    ids=["counts", "1 for yes and 2 for no"],
)
def test_numbers_below_nodes_are_asked_with_what_makes_flags_of_them(
    cells: list[str], carried: str, tmp_path: Path
) -> None:
    rows = [f"site#,{one}" for one in cells]
    (path := tmp_path / "a.csv").write_text(table("plot,asthma,copd,flu,cough", *rows))
    with pytest.raises(AuditError, match=re.escape(f"in which {carried}")) as caught:
        audit.load_labels(path, ILL)
    (code,) = re.findall(r'python -c "(.*?)" makes', caught.value.hint)
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    dataset = audit.load_labels(tmp_path / "flags.csv", ILL)
    met = [int(one) for row in cells for one in row.split(",")]
    yes = sum(one >= 1 if 0 in met else one == 1 for one in met)
    assert (len(dataset), dataset.ledger.rows_mapped) == (ROWS, yes * ROWS // 2)


CLASSES = [{"filepath": "a", "classifications": {"classes": ["u;m;flu"], "scores": [0.9]}}]
BATCH = {"id": "batch_req_1", "custom_id": "a", "response": {"body": {"choices": [
    {"message": {"content": "flu"}}]}}, "error": None}  # fmt: skip
CONVERTED = {
    "tagged records": ("\nPMID- 12\nTI  - A\nMH  - Flu/*therapy\n", "id\tlabel\n12\tFlu\n"),
    "SpeciesNet": (json.dumps({"predictions": CLASSES}), '{"id": "a", "scores": {"flu": 0.9}}\n'),
    "OpenAI": (json.dumps(BATCH), '{"id": "a", "prediction": "flu"}\n'),
}


@pytest.mark.parametrize("kind", CONVERTED)
def test_what_is_not_read_is_named_with_what_converts_it(kind: str, tmp_path: Path) -> None:
    text, made = CONVERTED[kind]
    (path := tmp_path / "x.data").write_text(text)
    with pytest.raises(FormatError, match=kind) as caught:
        audit.load_labels(path, ILL)
    command = caught.value.hint.partition(" makes ")[0].replace("python", sys.executable)
    subprocess.run(["bash", "-c", command], check=True)
    (written,) = set(tmp_path.iterdir()) - {path}
    assert written.read_text() == made
