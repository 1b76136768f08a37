"""Labels that a hierarchy lacks: a file refuses them, unless it is asked to hang them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import audit
from audit.base.errors import InputError, PolicyError
from audit.base.settings import Unlisted
from audit.checks.shared.written_labels import written_labels
from audit.data.dataset import LabelDataset
from audit.data.predictions import Predictions, map_predictions
from audit.data.raw_predictions import RawPredictions, stored
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.icd9 import ICD9Coding
from audit.measure.measure import measure
from audit.policy.policy import Policy
from audit.policy.reading import built_in_policy
from audit.results.findings import Finding
from audit.runs.audit import run_audit
from fixtures.checked import CHECK_OF
from fixtures.written import written

CHECK = CHECK_OF["unknown_code"]

CAML = """@\tICD-9 CODES
001-999.99\tDISEASES
240-279.99\tENDOCRINE
250\tDiabetes mellitus
250.0\tWithout complication
250.00\tType II
250.1\tWith ketoacidosis
00-99.99\tPROCEDURES
35-39.99\tCARDIOVASCULAR
36\tVessels of heart
36.01\tAngioplasty
"""
ROWS = [
    ("a", "250.00"), ("a", "25001"), ("b", "250.01"), ("b", "36.06"), ("c", "300.4"),
    ("c", "250"), ("d", "25001"), ("d", "V99"),
]  # fmt: skip
"""250.01 and 36.06 have a prefix in the file, 300.4 only a range, V99 neither."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written(tmp_path / "ICD9_descriptions", CAML)


def dataset_of(
    file: Path, unlisted: Unlisted | None = None, given: Sequence[tuple[str, str]] = ROWS
) -> LabelDataset:
    rows = pl.DataFrame(given, ["instance", "label"], orient="row")
    return LabelDataset.from_rows(rows, audit.load_hierarchy(file, unlisted=unlisted))


def findings(dataset: LabelDataset) -> dict[str, Finding]:
    return {found.id: found for found in CHECK.run(measure(dataset, Policy())).findings}


def nodes_of(file: Path) -> set[str]:
    return {line.split("\t")[0] for line in file.read_text().splitlines()}


def test_a_file_refuses_what_it_lacks_and_tells_codes_and_rows(file: Path) -> None:
    dataset = dataset_of(file)
    told = findings(dataset)["unknown_code:refused"]

    assert set(dataset.hierarchy.nodes) == nodes_of(file)
    assert dict(dataset.ledger.refused) == {"unknown_code": 6}
    assert dataset.ledger.rows_mapped == 2
    assert (told.evidence["rows"], told.evidence["labels"]) == (6, 5)
    assert set(told.nodes) == {"25001", "250.01", "36.06", "300.4", "V99"}
    assert told.severity == "error"


def test_what_is_asked_to_hang_hangs_and_is_told_with_the_nodes_that_it_adds(file: Path) -> None:
    dataset = dataset_of(file, "hang")
    told = findings(dataset)
    hung = told["unknown_code:hung"]

    assert set(dataset.hierarchy.nodes) == nodes_of(file) | {"250.01", "36.06", "300.4"}
    assert dataset.hierarchy.parents("250.01") == ("250.0",)
    assert dict(dataset.ledger.refused) == {"no_place": 1}
    assert (hung.severity, hung.evidence["rows"]) == ("warning", 5)
    assert hung.evidence["nodes_added"] == 3
    assert set(hung.nodes) == {"250.01", "36.06", "300.4"}
    assert "unknown_code:refused" not in told


def test_a_dictionary_titles_a_file_and_adds_no_node_to_it(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mimic"
    folder.mkdir()
    head = "ROW_ID,SUBJECT_ID,HADM_ID,SEQ_NUM,ICD9_CODE\n"
    (folder / "DIAGNOSES_ICD.csv").write_text(head + "1,7,70,1,25001\n2,7,70,2,25010\n")
    titles = (
        'ROW_ID,ICD9_CODE,SHORT_TITLE,LONG_TITLE\n1,25001,short,Type I\n2,25013,s,"Type I, c"\n'
    )
    (folder / "D_ICD_DIAGNOSES.csv").write_text(titles)
    asked: list[Unlisted] = ["refuse", "hang"]
    refused, hung = (
        audit.load_labels(folder, audit.load_hierarchy(file, unlisted=one), unlisted=one)
        for one in asked
    )

    assert set(refused.hierarchy.nodes) == nodes_of(file)
    assert refused.ledger.refused == {"unknown_code": 2}
    assert set(hung.hierarchy.nodes) == nodes_of(file) | {"250.01", "250.10"}
    assert hung.hierarchy.titles[hung.hierarchy.index("250.01")] == "Type I"


def test_a_file_without_rules_for_digits_cannot_hang_labels(tmp_path: Path) -> None:
    path = written(tmp_path / "edges.csv", "child,parent\n250.0,250\n")

    with pytest.raises(InputError, match="written alike"):
        audit.load_hierarchy(path, unlisted="hang")


def test_a_built_in_classification_refuses_when_asked() -> None:
    rows = pl.DataFrame({"instance": ["a", "a"], "label": ["718.60", "250.93"]})
    asked: list[Unlisted | None] = [None, "hang", "refuse"]
    refused = [
        LabelDataset.from_rows(rows, audit.load_hierarchy("icd9cm", unlisted=each)).ledger.refused
        for each in asked
    ]

    assert refused == [{}, {}, {"unknown_code": 1}]


@pytest.mark.parametrize(("asked", "read"), [("hang", "refuse"), ("refuse", "hang")])
def test_a_policy_that_asks_otherwise_than_the_hierarchy_was_read_is_refused(
    file: Path, asked: Unlisted, read: Unlisted
) -> None:
    dataset = dataset_of(file, read, [*ROWS, *(("e", "250.00"),) * 4])
    with pytest.raises(PolicyError, match=f'unlisted_codes = "{asked}"'):
        run_audit(dataset, Policy(unlisted_codes=asked))
    assert run_audit(dataset, Policy(unlisted_codes=read)).status != "error"


def test_labels_of_a_hierarchy_made_in_python_still_hang(file: Path) -> None:
    coding = audit.load_hierarchy(file).coding
    edges = pl.DataFrame({"child": ["250"], "parent": ["top"]})
    made = Hierarchy.build(edges, name="made", coding=coding)
    rows = pl.DataFrame({"instance": ["a"], "label": ["250.01"]})

    assert LabelDataset.from_rows(rows, made).hierarchy.parents("250.01") == ("250",)


# --- classes of a model ------------------------------------------------------------------------


def predicted(
    dataset: LabelDataset, classes: tuple[str, ...], scores: list[list[float]]
) -> Predictions:
    raw = RawPredictions(
        tuple("abcd"),
        classes,
        stored(np.array(scores)),
        set_valued=False,
        sources=(Path("scores.npz"),),
    )
    return replace(map_predictions(raw, dataset), sources=())


def test_hung_classes_are_told_with_their_nodes_and_instances(file: Path) -> None:
    dataset = dataset_of(file, "hang")
    classes = ("250.00", "250.01", "250.09", "V99")
    scores = [[0.9, 0, 0.6, 0], [0, 0.8, 0, 0.1], [0.5, 0, 0.7, 0], [0.1, 0.2, 0, 0]]
    model = predicted(dataset, classes, scores)
    measured = measure(dataset, Policy(), model)
    told = {f.id: f for f in CHECK.run(measured).findings}
    finding = told["unknown_code:classes%20hung"]
    result = run_audit(dataset, predictions=model)

    assert finding.nodes == ("250.09",)
    assert finding.evidence == {
        "labels": 1, "classes": 4, "nodes_added": 1, "instances": 2, "predicted": 4,
    }  # fmt: skip
    assert CHECK.cases is not None
    assert CHECK.cases(measured, finding).tolist() == [0, 2]
    assert "unknown_code:classes" in told
    assert result.model is not None
    assert "250.09" in result.nodes["node"]
    direct = dict(result.nodes.select("node", "direct").iter_rows())
    assert (direct["250.09"], direct["250.01"]) == (0, 3)


def test_a_node_that_a_class_added_is_no_valid_code_of_labels(tmp_path: Path) -> None:
    """002.50 of a class alone must not become what 2.50 may stand for."""
    rows = pl.DataFrame({"instance": list("abcd"), "label": ["2.59", "401.9", "250.00", "V30.00"]})
    without_years = replace(audit.load_hierarchy("icd9cm"), coding=ICD9Coding())
    dataset = LabelDataset.from_rows(rows, without_years)
    model = predicted(dataset, ("401.9", "002.59"), [[0.5, 0.5]] * 4)
    policy = built_in_policy("icd9cm")
    by_model, alone = measure(dataset, policy, model), measure(dataset, policy)
    integrity = alone.hierarchy.integrity
    assert integrity is not None

    assert model.ledger.hung_classes == {"002.59": "002.59"}
    both = [written_labels(measured).drop("line") for measured in (by_model, alone)]
    assert both[0].equals(both[1])
