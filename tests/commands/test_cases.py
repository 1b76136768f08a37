"""``audit cases``: the records behind a finding."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import polars as pl

import audit
from fixtures.doors import made, refused
from fixtures.held import held
from fixtures.small_release import TITLES, labels_of

EXPECTED = {
    "unknown_code:refused": {"i007": "unicorn", "i019": "unicorn", "i020": "dgo", "i021": "tre"},
    "missing_companion:bird:33ea1b15:missing": {
        one: "Bird (bird)"
        for one, labels in labels_of("first").items()
        if "bird" in labels and "tool" not in labels
    },
    "sibling_exclusive:cow:tool": {
        one: "Cow (cow); Tool (tool)"
        for one, labels in labels_of("first").items()
        if {"cow", "tool"} <= labels
    },
}
"""The records behind some findings of the first release, with the labels that these are about."""


def test_the_records_behind_each_finding(small: Path) -> None:
    for finding, records in EXPECTED.items():
        assert made("cases", small / "first", finding).split() == sorted(records)
    cases = audit.read_run(small / "first").cases
    assert cases is not None
    for finding, records in EXPECTED.items():
        table = cases.filter(pl.col("finding").cast(pl.String) == finding).collect()
        assert table["instance"].to_list() == sorted(records)


def test_a_file_has_the_labels_of_each_record(small: Path, tmp_path: Path) -> None:
    file = tmp_path / "cases.csv"
    made("cases", small / "first", "--csv", file)
    with file.open(encoding="utf-8", newline="") as stream:
        rows = [*csv.DictReader(stream)]
    findings = [f.id for c in audit.read_run(small / "first").checks for f in c.findings]
    own = labels_of("first")

    assert [*rows[0]] == ["finding", "instance", "labels", "others"]
    assert [*dict.fromkeys(row["finding"] for row in rows)] == findings
    for finding, records in EXPECTED.items():
        some = [row for row in rows if row["finding"] == finding]
        assert {row["instance"]: row["labels"] for row in some} == records
        for row in some:
            named = {part.split("(")[-1].rstrip(")") for part in row["labels"].split("; ")}
            others = sorted(f"{TITLES[one]} ({one})" for one in own[row["instance"]] - named)
            told = [one for one in row["others"].split("; ") if "(" in one]
            assert sorted(told) == others


def test_a_sample_is_drawn_by_its_seed(small: Path) -> None:
    finding = "missing_companion:bird:33ea1b15:missing"

    def drawn(*words: object) -> list[str]:
        return made("cases", small / "first", finding, "--sample", *words).split()

    first = drawn(7)
    assert first == drawn(7, "--seed", 0) == sorted(first)
    assert len({*first}) == 7
    assert first != drawn(7, "--seed", 1)
    assert {*first} <= {*EXPECTED[finding]}
    assert drawn(1000) == sorted(EXPECTED[finding])


def test_the_findings_are_listed_with_their_numbers(small: Path) -> None:
    said = made("cases", small / "first")
    for finding, records in EXPECTED.items():
        above = said[: said.index(finding)].splitlines()[-2:]
        assert any(f"{len(records)} cases" in line for line in above)


def test_findings_and_records_for_machines(small: Path) -> None:
    run = audit.read_run(small / "first_modelled")
    ids = [f.id for check in run.checks for f in check.findings]
    told = json.loads(made("cases", small / "first_modelled", "--json"))["findings"]
    own = json.loads(made("cases", small / "first_modelled", ids[0], "--json"))["cases"]

    assert {*ids} <= {one["id"] for one in told}
    assert len(own) == next(one["cases"] for one in told if one["id"] == ids[0]) > 0
    assert {row["finding"] for row in own} == {ids[0]}


def test_an_instance_is_drawn_as_a_tree_of_its_labels(small: Path) -> None:
    run = small / "first_grouped"
    labels = labels_of("first")["i000"]
    heading, _, *lines = made("cases", run, "--instance", "i000").splitlines()
    assert heading == "Labels of i000"
    assert all(any(f"{one} {TITLES[one]}" in line for line in lines) for one in labels)
    refused("cases", run, "unknown_code:refused", "--instance", "i000")
    refused("cases", run, "--sample", 2, "--instance", "i000")
    refused("cases", run, "--instance", "nobody")


def test_an_instance_is_drawn_with_what_a_model_says_of_it(tmp_path: Path) -> None:
    files = {
        "tree.csv": "child,parent\ndog,pet\npet,root\ncow,root\nbird,root\n",
        "labels.csv": "instance,label\nr1,dog\nr1,bird\nr2,cow\n",
        "scores.csv": "instance,node,score\nr1,dog,0.8\nr1,cow,0.004\nr2,cow,0.9\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    tree, labels, scores = (tmp_path / name for name in files)
    run = tmp_path / "run"
    given = ("--hierarchy", tree, "--predictions", scores, "--multi-label", "--keep-instances")
    made("run", labels, *given, "--no-pdf", "--out", run)
    drawn = made("cases", run, "--instance", "r1", "--least", 0).splitlines()
    rows = {line.split()[-1]: line.replace("█", "").split()[:3] for line in drawn[6:]}
    assert drawn[0] == "Labels and predictions of r1"
    assert rows["root"] == ["hit", "2", "0.804"]
    assert rows["pet"] == rows["dog"] == ["hit", "1", "0.8"]
    assert rows["bird"][:2] == ["miss", "1"]
    assert rows["cow"][0] == "0.004"


def test_refusals_leave_nothing_and_an_earlier_file_stays(small: Path, tmp_path: Path) -> None:
    file = tmp_path / "cases.csv"
    refused("cases", small / "first", "absent", "--csv", file)
    refused("cases", tmp_path / "absent")
    refused("cases", tmp_path)
    assert held(tmp_path) == {}
    made("cases", small / "first", "unknown_code:refused", "--csv", file)
    before = held(tmp_path)
    refused("cases", small / "first", "--csv", file)
    assert held(tmp_path) == before
    made("cases", small / "first", "--csv", file, "--overwrite")
    assert held(tmp_path) != before
