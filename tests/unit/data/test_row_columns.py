"""Columns beside the labels that say whether these are carried, and in which version."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from audit.base.errors import InputError
from audit.cli.app import app
from audit.data.dataset import load_labels

EDGES = {"speech": "sound", "guitar": "music", "4019": "sound", "I10": "music"}
Values = list[Any]


def table(column: str, values: Values) -> pl.DataFrame:
    """Two rows an instance, with a further column."""
    ids = [f"i{row // 2}" for row in range(len(values))]
    labels = ["speech", "guitar"] * (len(values) // 2)
    return pl.DataFrame({"id": ids, "label": labels, column: values})


def said_of(rows: pl.DataFrame, hierarchy: Any = EDGES, **options: Any) -> list[str]:
    """What is told but for columns without a role."""
    readings = load_labels(rows, hierarchy, **options).readings
    return [one.decision for one in readings if "without a role" not in one.decision]


SAYING: dict[str, tuple[Values, int]] = {
    "Confidence": (["1", "0", "1", "0"], 2),
    "verified": ([True, False, True, True], 1),
    "is_present": ([1, 0, 1, 1], 1),
    "negated": (["True", "False", "False", "False"], 1),
    "Qualifier": (["enables", "NOT|enables", "part_of|NOT", "part_of"], 2),
    "qualifier ": ([None, "NOT", None, None], 1),
    "frequency": (["0/7", "1/7", "HP:0040283", None], 1),
    "Sicherheit": (["G", "A", "V", "Z"], 1),
    "diagnosis_certainty": (["confirmed", "ruled out", None, "suspected"], 1),
    "verificationStatus": (["confirmed", "refuted", "confirmed", "provisional"], 1),
    "phenotype.excluded": (["true", None, None, None], 1),
    "answer": (["accept", "reject", "accept", "accept"], 1),
}


@pytest.mark.parametrize("column", SAYING)
def test_a_column_that_says_it_by_name_and_values_is_asked(column: str) -> None:
    values, absent = SAYING[column]
    rows = table(column, values)
    with pytest.raises(
        InputError, match=rf"do not count \({absent} row.*all labels.*\(4 rows"
    ) as told:
        load_labels(rows, EDGES)

    options = [part.partition(" if ")[0] for part in told.value.hint.split("; ")]
    mapped = []
    for option in options:
        where = [word for word in shlex.split(option) if word != "--where"]
        found = load_labels(rows, EDGES, where=where)
        assert not found.readings
        mapped.append(found.ledger.rows_mapped)
    assert mapped == [4 - absent, 4]


def audited(folder: Path, rows: pl.DataFrame, *options: str) -> Result:
    rows.write_csv(folder / "rows.csv")
    pl.DataFrame({"child": EDGES.keys(), "parent": EDGES.values()}).write_csv(folder / "edges.csv")
    given = ["run", str(folder / "rows.csv"), "--hierarchy", str(folder / "edges.csv"), *options]
    return CliRunner().invoke(app, [*given, "--out", str(folder / "run"), "--no-pdf"])


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_the_command_asks_and_counts_what_was_left_out(tmp_path: Path, engine: str) -> None:
    rows = table("Confidence", ["1", "0", "0", "1"])
    asked = audited(tmp_path, rows, "--engine", engine)
    assert asked.exit_code == 2
    assert "--where 'Confidence!=0' if labels with '0'" in asked.stderr
    done = audited(tmp_path, rows, "--engine", engine, "--where", "Confidence!=0")
    assert done.exit_code == 0
    assert "left_out 2" in done.stdout


def test_what_only_the_values_say_is_told_where_they_differ_within_an_instance() -> None:
    rows = table("main", ["1", "0", "0", "1"])
    (reading,) = load_labels(rows, EDGES).readings
    assert (reading.rows, reading.option) == (2, "--where 'main!=0'")
    assert load_labels(rows, EDGES, where=["main!=0"]).ledger.refused == {"left_out": 2}
    assert not said_of(table("died", ["1", "1", "0", "0"]))


def test_columns_of_one_name_that_nobody_needs_stop_nothing(tmp_path: Path) -> None:
    """Further ones are numbered, which is told, so that an option can name each."""
    rows = [f"i{row // 2},{one},{'LR'[row % 2]},1,R,{row % 2}" for row, one in enumerate(EDGES)]
    (path := tmp_path / "rows.csv").write_text("\n".join(["id,label,side,main,side,main", *rows]))
    dataset = load_labels(path, EDGES, id="id", label="label")
    assert dataset.ledger.rows_mapped == len(rows)
    assert dataset.readings[0].decision.endswith("further ones are numbered, as 'side 2'")
    both = load_labels(path, EDGES, id="id", label="label", strata=["side 2"])
    assert {*both.instances["side 2"]} == {"R"}


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("Confidence", [0.2, 0.0, 1.0, 0.7]),
        ("qualifier", ["a", "b", "a", "c"]),
        ("note", ["x"] * 4),
    ],
)
def test_other_values_say_nothing(column: str, values: Values) -> None:
    assert not said_of(table(column, values))


@pytest.mark.parametrize("column", ["Version", "icdv", "DX_VERSION"])
def test_a_column_of_versions_is_told(column: str) -> None:
    rows = table(column, ["9", "10", "ICD-9", "10"]).with_columns(
        label=pl.Series(["401.9", "I10"] * 2)
    )
    found = load_labels(rows, "icd9cm")
    (reading,) = found.readings
    assert (reading.rows, reading.option) == (4, "--version-column COLUMN")
    assert found.ledger.refused == {"other_version": 2}
