"""``audit list`` and what stands around all commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import audit
from fixtures.doors import command, made


def first_words(*words: object) -> list[str]:
    """The first word of each line below the heading."""
    lines = made(*words).splitlines()[1:]
    return [line.split()[0] for line in lines if line and not line.startswith(" ")]


def test_every_check_of_a_run_is_listed_in_its_place(small: Path) -> None:
    names = first_words("list", "checks")

    assert len({*names}) == len(names)
    assert {check.name for check in audit.read_run(small / "first").checks} <= {*names}


def test_what_else_is_listed() -> None:
    assert first_words("list", "hierarchies") == ["icd9cm", "icd10cm"]
    assert {"mimic3", "gaf", "obo", "edges"} <= {*first_words("list", "formats")}
    assert {"f1", "accuracy", "hierarchical_f1"} <= {*first_words("list", "metrics")}
    assert {"pairs", "unpacked"} == {*first_words("list", "limits")}
    assert first_words("list", "plugins") == []


def test_every_metric_of_a_run_is_listed(small: Path) -> None:
    metrics = {one["name"] for one in audit.read_run(small / "first_modelled").metric_rows}

    assert {one for one in metrics if not one.startswith("residual")} <= {
        *first_words("list", "metrics")
    }


def test_lists_for_machines() -> None:
    told = json.loads(made("list", "metrics", "--json"))["metrics"]

    assert [one["name"] for one in told] == first_words("list", "metrics")


@pytest.mark.parametrize(
    "words", [("list", "nothing"), ("list",), ("nothing",), ("run", "--nothing")], ids=" ".join
)
def test_bad_usage_ends_with_2(words: tuple[str, ...]) -> None:
    told = command(*words)

    assert told.exit_code == 2
    assert told.stdout == ""
    assert "Traceback" not in told.stderr


def test_the_version() -> None:
    assert audit.__version__ in made("--version")
