"""``audit fixes``: the sheet of what is proposed, a row a label of a record."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import audit
from fixtures.doors import made, refused
from fixtures.held import held, sha256
from fixtures.small_release import TITLES, labels_of, options, rows

COLUMNS = [
    *("number", "instance", "label", "title", "change", "proposed", "proposed_title"),
    *("candidates", "before", "certainty", "reason", "others", "decision", "note"),
    *("finding", "table", "run"),
]
ODD = {"i007": "unicorn", "i019": "unicorn", "i020": "dgo", "i021": "tre"}


def sheet(run: Path, file: Path, *further: object) -> list[dict[str, str]]:
    """The rows of the sheet of a run."""
    made("fixes", run, *further, "--csv", file)
    with file.open(encoding="utf-8", newline="") as stream:
        return [*csv.DictReader(stream)]


def test_the_rows_of_a_sheet(small: Path, tmp_path: Path) -> None:
    told = sheet(small / "first", tmp_path / "sheet.csv")
    own = labels_of("first")
    twice = [row[:2] for row, n in Counter(rows("first")).items() if n > 1]
    birds = [one for one, labels in own.items() if "bird" in labels and "tool" not in labels]
    both = [one for one, labels in own.items() if {"cow", "tool"} <= labels]
    expected = {
        **{(one, "", "add", "", "tool Tool"): "missing_companion:bird:33ea1b15:missing"
           for one in birds},
        **{(one, label, "review", "", ""): "sibling_exclusive:cow:tool"
           for one in both for label in ("cow", "tool")},
        ("i020", "dgo", "replace", "dog", ""): "unknown_code:refused",
        ("i021", "tre", "replace", "tree", ""): "unknown_code:refused",
        **{(one, "unicorn", "review", "", ""): "unknown_code:refused" for one in ("i007", "i019")},
        **{(one, label, "remove", "", ""): "duplicates:labels" for one, label in twice},
    }  # fmt: skip
    named = ("instance", "label", "change", "proposed", "candidates")

    assert [*told[0]] == COLUMNS
    assert [row["number"] for row in told] == [str(n) for n in range(1, len(told) + 1)]
    assert {tuple(row[name] for name in named): row["finding"] for row in told} == expected
    assert len(told) == len(expected)
    digest = sha256((small / "first" / "result.json").read_bytes())[:16]
    for row in told:
        others = own[row["instance"]] - {row["label"]} | {
            odd for one, odd in ODD.items() if one == row["instance"] and odd != row["label"]
        }
        assert row["title"] == TITLES.get(row["label"], "")
        assert row["proposed_title"] == TITLES.get(row["proposed"], "")
        assert sorted(filter(None, row["others"].split("; "))) == sorted(
            f"{TITLES[one]} ({one})" if one in TITLES else one for one in others
        )
        assert (row["decision"], row["note"], row["table"], row["run"]) == ("", "", "", digest)
        certain = row["finding"] == "duplicates:labels"
        assert row["certainty"] == ("certain" if certain else "review")
    findings = [f.id for c in audit.read_run(small / "first").checks for f in c.findings]
    assert [*dict.fromkeys(row["finding"] for row in told)] == [
        one for one in findings if one in expected.values()
    ]


def test_the_sheet_of_one_finding_keeps_its_numbers(small: Path, tmp_path: Path) -> None:
    every = sheet(small / "first", tmp_path / "all.csv")
    some = sheet(small / "first", tmp_path / "some.csv", "unknown_code:refused")

    assert some == [row for row in every if row["finding"] == "unknown_code:refused"]


def test_labels_that_the_reference_had_on_the_record(small: Path, tmp_path: Path) -> None:
    given = ("--reference", small / "first_modelled", "--keep-instances", "--quiet")
    made("run", small / "second.csv", *options(small, tmp_path / "run", *given))
    was, now = labels_of("first"), labels_of("second")
    told = sheet(tmp_path / "run", tmp_path / "sheet.csv")

    for row in told:
        lost = was.get(row["instance"], set()) - now[row["instance"]]
        assert [*filter(None, row["before"].split("; "))] == [
            f"{TITLES[one]} ({one})" for one in sorted(lost)
        ]
    assert any(row["before"] for row in told)
    assert not any(row["before"] for row in sheet(small / "first", tmp_path / "first.csv"))


def test_a_summary_by_finding(small: Path) -> None:
    said, run = made("fixes", small / "first"), audit.read_run(small / "first")
    assert run.proposals is not None
    findings = {f.id for check in run.checks for f in check.findings}
    bare = findings - {*run.proposals.collect()["finding"]}

    for words in ("unknown_code:refused", "replace 2 labels on 2 instances", "it has no candidate",
                  "review 2 labels on 2 instances", "review 10 labels on 5 instances",
                  "remove 2 labels on 2 instances",
                  f"{len(bare)} findings without a proposal"):  # fmt: skip
        assert words in said


def test_the_same_sheet_twice_and_an_earlier_one_is_kept(small: Path, tmp_path: Path) -> None:
    file = tmp_path / "sheet.csv"
    words = ("fixes", small / "first", "--csv", file)
    made(*words)
    before = file.read_bytes()

    assert str(file) in refused(*words)
    assert file.read_bytes() == before
    made(*words, "--overwrite")
    assert file.read_bytes() == before


def test_refusals_leave_nothing(small: Path, tmp_path: Path) -> None:
    file = tmp_path / "sheet.csv"
    for words in (
        (small / "first", "absent:finding", "--csv", file),
        (small / "first", "--overwrite"),
        (tmp_path / "absent", "--csv", file),
    ):
        refused("fixes", *words)
    assert held(tmp_path) == {}
