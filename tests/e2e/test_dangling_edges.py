"""Dangling edges, which each command that reads a hierarchy refuses, and obsolete labels."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import Result

from fixtures.commands import audit

ROOT = Path(__file__).parents[2]
DAMAGED = """[Term]
id: a
name: animal
[Term]
id: d
name: dog
is_a: a
is_a: lost
[Term]
id: c
name: cow
is_a: lost
[Term]
id: o
name: old dog
is_a: a
is_obsolete: true
replaced_by: d
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "damaged.obo").write_text(DAMAGED)
    (tmp_path / "labels.csv").write_text("instance,label\n1,d\n2,c\n3,o\n")
    return tmp_path


def run(files: Path, *options: object, out: str = "run") -> Result:
    own = ("--hierarchy", files / "damaged.obo", "--no-pdf", "--out", files / out)
    return audit("run", files / "labels.csv", *own, *options)


def assert_refused(refused: Result) -> None:
    assert refused.exit_code == 2, refused.output
    told = " ".join(refused.output.split())
    assert "2 edges that have an end that is not a node: 'd -> lost', 'c -> lost'" in told
    assert "add what is missing, or remove the edges" in told
    assert "Traceback" not in told


def test_run_refuses_them_with_how_many_and_their_line(files: Path) -> None:
    refused = run(files)

    assert_refused(refused)
    assert "damaged.obo:8" in refused.output.replace("\n", "")
    assert not (files / "run").exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("h.json", '{"graphs": [{"nodes": [{"id": "a"}, {"id": "d"}, {"id": "c"}, {"id": "o", '
         '"meta": {"deprecated": true, "basicPropertyValues": [{"pred": '
         '"http://purl.obolibrary.org/obo/IAO_0100001", "val": "d"}]}}], "edges": []}]}'),
    ],
)  # fmt: skip
def test_a_label_that_any_format_calls_obsolete_is_told_with_its_successor(
    files: Path, name: str, text: str
) -> None:
    (files / name).write_text(text)
    own = ("--hierarchy", files / name, "--no-pdf", "--out", files / "run")
    made = audit("run", files / "labels.csv", *own)
    result = json.loads((files / "run" / "result.json").read_bytes())
    (finding,) = next(one for one in result["checks"] if one["name"] == "retired_code")["findings"]

    assert made.exit_code == 0, made.output
    assert finding["id"] == "retired_code:replaced"
    assert result["ledger"]["rows_mapped"] == 3
    assert [(part["nodes"][0]["id"], part["evidence"]["may_stand_for"])
            for part in finding["parts"]] == [("o", "d")]  # fmt: skip
