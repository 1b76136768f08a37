"""A wrong hierarchy is told before anything is counted, with a guess."""

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


GUESSES = {
    "titles without their signs": (["O-x", "hou.nd", "elf", "cow"], "may be titles", ""),
    "upper case": (["COW", "Dog", "TOOL", "cow"], "upper and lower case", ""),
    "dots": (["4019", "4019", "401-9", "dog"], "dots, blanks or dashes", ""),
    "ICD-9-CM": (["25000", "4280", "41401", "dog"], "--hierarchy icd9cm", ""),
    "ICD-10": (["I10", "J18.9", "N17.9", "4019"], "--hierarchy icd10cm", "icd9cm"),
    "E codes of ICD-10": (["E11.9", "V43.52", "E78.5"], "--hierarchy icd10cm has 3 of 3", "icd9cm"),
    "no edition": (["250.99", "401.77", "V99"], "no edition has them", "icd9cm"),
    "numbers of classes": (["0", "1", "2", "dog"], "--classes FILE", ""),
    "a single letter is no prefix": (["xdog", "xcow", "xtool"], "another classification", ""),
    "anything else": (["elf", "orc", "gnome", "dog"], "another classification", ""),
    "nothing at all": (["elf", "orc"], "another classification", ""),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", GUESSES)
def test_a_wrong_hierarchy_ends_with_a_guess(folder: Path, name: str) -> None:
    labels, told, hierarchy = GUESSES[name]
    refused = audited(folder, labels, hierarchy=hierarchy)

    assert refused.exit_code == 2
    assert told in refused.stderr
    assert f"of {len(labels)} rows refused" in refused.stderr
    assert not (folder / "run").exists()


def test_exactly_half_goes_on(folder: Path) -> None:
    assert audited(folder, ["elf", "orc", "cow", "dog"]).exit_code == 0


def test_rows_without_a_label_are_no_sign_of_the_hierarchy(folder: Path) -> None:
    assert audited(folder, ["", "", "", "cow"]).exit_code == 0


def test_a_count_in_batches_is_refused_alike(folder: Path) -> None:
    refused = audited(folder, ["elf", "orc", "cow"], "--memory", "1GB")

    assert refused.exit_code == 2
    assert "2 of 3 rows refused" in refused.stderr


def test_classes_that_are_mostly_unknown_are_refused_alike(folder: Path) -> None:
    scores = folder / "scores.csv"
    scores.write_text("instance,node,score\ni0,dog,1\ni0,O-x,1\ni1,hou.nd,1\n")
    given = ["--predictions", str(scores)]
    refused = audited(folder, ["dog", "cow"], *given)

    assert refused.exit_code == 2
    assert "2 of 3 are not: 'O-x', 'hou.nd'" in refused.stderr
    assert "may be titles" in refused.stderr


def test_a_list_that_is_none_of_the_classification_is_refused(folder: Path) -> None:
    (folder / "list.csv").write_text("code,title\nGO:1,Growth\nGO:2,Decay\n")
    refused = audited(folder, ["cow"], "--titles", str(folder / "list.csv"))

    assert refused.exit_code == 2
    assert "none of its codes among 'GO:1', 'GO:2'" in refused.stderr
