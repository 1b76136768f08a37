"""A wrong hierarchy is told before anything is counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from audit.cli.app import app

EDGES = """child,parent,title
tool,thing,Instrument
cow,animal,Ox
dog,animal,Hound
animal,thing,Creature
401.9,thing,Pressure
"hen, wild",animal,
"hog, wild",animal,
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "edges.csv").write_text(EDGES)
    return tmp_path


def audited(folder: Path, labels: list[str], *options: str, hierarchy: str = "") -> Result:
    rows = "".join(f"i{number},{label}\n" for number, label in enumerate(labels))
    (folder / "rows.csv").write_text(f"instance,label\n{rows}")
    given = ["run", str(folder / "rows.csv"), "--hierarchy", hierarchy or str(folder / "edges.csv")]
    out = ["--out", str(folder / "run"), "--no-pdf", "--overwrite"]
    return CliRunner().invoke(app, [*given, *out, *options])


def test_labels_most_of_which_are_no_nodes_are_asked_about(folder: Path) -> None:
    refused = audited(folder, ["elf", "orc", "cow"])

    assert refused.exit_code == 2
    assert "2 of 3 rows" in refused.stderr
    assert "--unlisted refuse" in refused.stderr
    assert not (folder / "run").exists()


def test_codes_of_the_other_version_of_icd_offer_it(folder: Path) -> None:
    refused = audited(folder, ["E11.9", "V43.52", "E78.5"], hierarchy="icd9cm")

    assert refused.exit_code == 2
    assert "--hierarchy icd10cm\n    reads 3" in refused.stderr


def test_exactly_half_goes_on(folder: Path) -> None:
    assert audited(folder, ["elf", "orc", "cow", "dog"]).exit_code == 0


def test_rows_without_a_label_are_no_sign_of_the_hierarchy(folder: Path) -> None:
    assert audited(folder, ["", "", "", "cow"]).exit_code == 0


def test_classes_that_are_mostly_unknown_are_refused_alike(folder: Path) -> None:
    scores = folder / "scores.csv"
    scores.write_text("instance,node,score\ni0,dog,1\ni0,O-x,1\ni1,hou.nd,1\n")
    given = ["--predictions", str(scores)]
    refused = audited(folder, ["dog", "cow"], *given)

    assert refused.exit_code == 2
    assert "2 of 3 classes" in refused.stderr
    assert "such as 'O-x', 'hou.nd'" in refused.stderr


def test_a_list_that_is_none_of_the_classification_is_refused(folder: Path) -> None:
    (folder / "list.csv").write_text("code,title\nGO:1,Growth\nGO:2,Decay\n")
    refused = audited(folder, ["cow"], "--titles", str(folder / "list.csv"))

    assert refused.exit_code == 2
    assert "none of its codes among 'GO:1', 'GO:2'" in refused.stderr
