"""The commands of docs/fidelity.md that need data which are not public, on made-up data."""

from __future__ import annotations

import csv
import json
import random
import re
import shlex
from pathlib import Path

import polars as pl
import pytest
from typer.testing import Result

from audit import read_run
from fixtures.doors import command as run

PAGE = (Path(__file__).parents[2] / "docs" / "fidelity.md").read_text("utf-8")
TREE = {
    "@": "root",
    "001-999": "DISEASES AND INJURIES",
    "280-289": "DISEASES OF THE BLOOD",
    "282": "Hereditary hemolytic anemias",
    "282.6": "Sickle-cell disease",
    "282.60": "Sickle-cell disease, unspecified",
    "283": "Acquired hemolytic anemias",
    "390-459": "DISEASES OF THE CIRCULATORY SYSTEM",
    "401": "Essential hypertension",
    "401.9": "Unspecified essential hypertension",
    "V01-V91": "V SUPPLEMENTARY HEALTH FACTORS",
    "V49": "Other conditions influencing health status",
    "V49.8": "Other specified conditions",
}
LACKING = ("23.9", "V49.86", "719.70")
"""Classes of caml-mimic that its own file of codes does not have."""


def commands(beginning: str) -> list[str]:
    """Commands of the page, without the backquotes around them."""
    return [found.strip() for found in re.findall(rf"(?:`|^    )({beginning}[^`\n]*)", PAGE, re.M)]


def typed(command: str, *further: str) -> Result:
    return run(*shlex.split(command)[1:], *further)


@pytest.fixture
def caml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files as caml-mimic lays them out, where a command that names no folder finds them."""
    drawn, codes = random.Random(0), [code for code in TREE if "-" not in code and code != "@"]
    lines = [f"{code}\t{title}\n" for code, title in TREE.items()]
    (tmp_path / "ICD9_descriptions").write_text("".join(lines))
    with (tmp_path / "test_full.csv").open("w", newline="") as notes:
        writer = csv.writer(notes)
        writer.writerow(["SUBJECT_ID", "HADM_ID", "TEXT", "LABELS", "length"])
        predicted = []
        for number in range(60):
            own = drawn.sample(codes, 3) + drawn.sample(LACKING, number % 2)
            writer.writerow([number // 2, 1_000 + number, 'a "note"', ";".join(own), 2])
            some = drawn.sample(codes, number % 4) + drawn.sample(LACKING, number % 3)
            predicted.append(
                "|".join([str(1_000 + number), *some] if some else [f"{1_000 + number}|"])
            )
    (tmp_path / "preds_test.psv").write_text("\n".join(predicted) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_mimic_is_audited_as_the_page_says_with_classes_that_its_tree_lacks(caml: Path) -> None:
    found = commands("audit run test_full.csv")
    assert len(found) == 2

    for number, command in enumerate(found):
        done = typed(command, "--out", f"run{number}", "--min-cell", "1", "--no-pdf")
        assert done.exit_code == 0, done.output
    told = json.loads((caml / "run1" / "result.json").read_text("utf-8"))
    model = told["ledger"]["predictions"]
    assert (model["unknown_classes"], model["instances_matched"]) == (len(LACKING), 60)


def test_the_rates_of_figure_3_are_the_shares_of_notes_that_carry_both(caml: Path) -> None:
    [command, _] = commands("audit run test_full.csv")
    typed(command, "--out", "run", "--no-pdf")

    pairs = read_run(caml / "run").pairs.collect()
    with (caml / "test_full.csv").open(newline="") as notes:
        labelled = [set(row["LABELS"].split(";")) for row in csv.DictReader(notes)]
    both = sum(bool(own & {"282", "282.6", "282.60", "283"}) and bool(own & {"401", "401.9"})
               for own in labelled)  # fmt: skip
    rate = pairs.filter((pl.col("a") == "280-289") & (pl.col("b") == "390-459"))["rate"].item()
    assert rate == both / 60
