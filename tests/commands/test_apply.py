"""``audit apply``: a corrected copy in which what was decided is so, and all else as it was."""

from __future__ import annotations

import csv
import re
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from shlex import split

import polars as pl
import pytest

import audit
from fixtures.doors import command, made, refused
from fixtures.held import held, read_json, sha256
from fixtures.small_release import COLUMNS, Row, labels_of, options, rows, write_table


def decided(run: Path, file: Path, decide: Callable[[dict[str, str]], str]) -> Path:
    """The sheet of a run with decisions."""
    made("fixes", run, "--csv", file)
    with file.open(encoding="utf-8", newline="") as stream:
        told = [row | {"decision": decide(row)} for row in csv.DictReader(stream)]
    return write_table(file, [*told[0]], [[*row.values()] for row in told])


def by_finding(row: dict[str, str]) -> str:
    """Accept what is proposed of odd and repeated labels, and remove cows beside tools."""
    if row["proposed"] or row["finding"] == "duplicates:labels":
        return "accept"
    return "remove" if row["label"] == "cow" else ""


def without_cows_beside_tools() -> list[Row]:
    """The rows of the first release after these decisions."""
    own, kept, seen = labels_of("first"), list[Row](), set[Row]()
    for row in rows("first"):
        instance, label, *beside = row
        if row in seen or (label == "cow" and "tool" in own[instance]):
            continue
        seen.add(row)
        slips = {"dgo": "dog", "tre": "tree"}
        kept.append((instance, slips.get(label, label), beside[0], beside[1]))
    return kept


def test_a_copy_has_what_was_decided_and_all_else_as_it_was(small: Path, tmp_path: Path) -> None:
    sheet = decided(small / "first", tmp_path / "sheet.csv", by_finding)
    copy, expected = tmp_path / "copy.csv", tmp_path / "expected.csv"
    said = made("apply", small / "first", "--decisions", sheet, "--out", copy)
    write_table(expected, COLUMNS, without_cows_beside_tools())

    assert copy.read_bytes() == expected.read_bytes()
    assert "9 changes" in said
    assert str(copy) in said


def test_what_is_added_stands_behind_the_rows_of_the_record(small: Path, tmp_path: Path) -> None:
    def first_birds(row: dict[str, str]) -> str:
        return "accept" if row["change"] == "add" and row["instance"] < "i030" else ""

    sheet = decided(small / "first", tmp_path / "sheet.csv", first_birds)
    made("apply", small / "first", "--decisions", sheet, "--out", tmp_path / "copy.csv")
    own = labels_of("first")
    lacking = {one for one, labels in own.items()
               if "bird" in labels and "tool" not in labels and one < "i030"}  # fmt: skip
    expected = list[tuple[str, ...]]()
    for at, row in enumerate(before := rows("first")):
        expected.append(row)
        last = row[0] not in {later[0] for later in before[at + 1 :]}
        if last and row[0] in lacking:
            expected.append((row[0], "tool", *row[2:]))
    with (tmp_path / "copy.csv").open(encoding="utf-8", newline="") as stream:
        copied = [tuple(row) for row in csv.reader(stream)][1:]
    assert copied == expected


def test_a_label_of_ones_own_takes_the_place_of_another(small: Path, tmp_path: Path) -> None:
    def tree(row: dict[str, str]) -> str:
        return {"dgo": "other: bird", "tre": "reject"}.get(row["label"], "")

    sheet = decided(small / "first", tmp_path / "sheet.csv", tree)
    made("apply", small / "first", "--decisions", sheet, "--out", tmp_path / "copy.csv")

    before = (small / "first.csv").read_text()
    assert (tmp_path / "copy.csv").read_text() == before.replace(",dgo,", ",bird,")


def test_the_log_says_each_change_and_who_decided(small: Path, tmp_path: Path) -> None:
    sheet = decided(small / "first", tmp_path / "sheet.csv", by_finding)
    copy = tmp_path / "copy.csv"
    made("apply", small / "first", "--decisions", sheet, "--by", "me", "--out", copy)
    log = read_json(tmp_path / "copy.csv.changes.json")
    named = ("instance", "kind", "label", "new", "by")
    cows = [one for one, labels in labels_of("first").items() if {"cow", "tool"} <= labels]

    assert log["run"] == sha256((small / "first" / "result.json").read_bytes())
    assert log["data"] == "first.csv"
    assert log["findings"] == {
        "duplicates:labels": 2,
        "sibling_exclusive:cow:tool": len(cows),
        "unknown_code:refused": 2,
    }
    assert {tuple(one[name] for name in named) for one in log["changes"]} == {
        *((one, "remove", "cow", "", "me") for one in cows),
        ("i020", "replace", "dgo", "dog", "me"),
        ("i021", "replace", "tre", "tree", "me"),
        ("i000", "remove", rows("first")[0][1], "", "me"),
        (rows("first")[-1][0], "remove", "fern", "", "me"),
    }
    assert {(one["before"], one["after"]) for one in log["files"].values()} == {
        (sha256((small / "first.csv").read_bytes()), sha256(copy.read_bytes()))
    }


def test_what_was_decided_is_no_finding_of_the_copy(small: Path, tmp_path: Path) -> None:
    sheet = decided(small / "first", tmp_path / "sheet.csv", by_finding)
    said = made("apply", small / "first", "--decisions", sheet, "--out", tmp_path / "a copy.csv")
    to_run, to_compare = re.findall("^Then: audit (.+)$", said, re.MULTILINE)
    made(*split(to_run), "--no-pdf")
    made(*split(to_compare), "--out", tmp_path / "compared")
    again = audit.read_run(run := tmp_path / "a copy-run")
    findings = {f.id: f for check in again.checks for f in check.findings}

    assert "duplicates:labels" not in findings
    assert "sibling_exclusive:cow:tool" not in findings
    assert findings["unknown_code:refused"].evidence["rows"] == 2
    assert again.ledger["rows_read"] == len(rows("first")) - 7
    assert again.proposals is not None
    left = again.proposals.filter(pl.col("finding") == "unknown_code:refused").collect()
    assert left["label"].to_list() == ["unicorn", "unicorn"]
    table = pl.read_parquet(run / "restricted" / "mended.parquet")
    assert dict(zip(table["finding"], table["changes"], strict=True)) == {
        "duplicates:labels": 2,
        "sibling_exclusive:cow:tool": 5,
        "unknown_code:refused": 2,
    }


@pytest.mark.parametrize("name", ["labels.parquet", "codes.csv"])
def test_copies_of_other_tables_are_read_as_decided(small: Path, tmp_path: Path, name: str) -> None:
    data, copy = tmp_path / name, tmp_path / f"copy_{name}"
    own = {"1": ["cow", "tool"], "2": ["dgo"], "3": ["bird", "tool"], "4": ["fern", "cat"]}
    table = pl.DataFrame({"instance": [*own], "label": [*own.values()]})
    given = ("--sep", "|") * (data.suffix == ".csv")
    if given:
        table.with_columns(pl.col("label").list.join("|")).write_csv(data)
    else:
        table.explode("label").write_parquet(data)
    run, again = tmp_path / "run", tmp_path / "again"
    made("run", data, *options(small, run, "--keep-instances", "--quiet", *given))
    sheet = decided(run, tmp_path / "sheet.csv", lambda row: {
        "cow": "remove", "dgo": "other: tree"}.get(row["label"], ""))  # fmt: skip
    made("apply", run, "--decisions", sheet, "--out", copy)
    made("run", copy, *options(small, again, "--keep-instances", "--quiet", *given))
    kept = audit.read_run(again).instances

    assert kept is not None
    assert {*kept.select("instance", "node").collect().rows()} == {
        *(("1", "tool"), ("2", "tree"), ("3", "bird"), ("3", "tool"), ("4", "fern"), ("4", "cat"))
    }


def test_a_copy_of_a_folder_has_its_other_files_unchanged(small: Path, tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    own = rows("first")
    for name, some in (("a.csv", own[:100]), ("b.csv", own[100:])):
        write_table(parts / name, COLUMNS, some)
    made("run", parts, *options(small, tmp_path / "run", "--keep-instances", "--quiet"))
    sheet = decided(
        tmp_path / "run", tmp_path / "sheet.csv", lambda row: "accept" * (row["label"] == "dgo")
    )
    made("apply", tmp_path / "run", "--decisions", sheet, "--out", tmp_path / "copy")
    before, after = held(parts), held(tmp_path / "copy")

    assert after["a.csv"] == before["a.csv"].replace(b",dgo,", b",dog,")
    assert after["b.csv"] == before["b.csv"]
    assert before.keys() == after.keys()


def test_a_table_of_a_database_gets_a_list_of_corrections(small: Path, tmp_path: Path) -> None:
    base, run, out = tmp_path / "base.db", tmp_path / "run", tmp_path / "corrections.csv"
    with sqlite3.connect(base) as connection:
        connection.execute(f"CREATE TABLE labels ({', '.join(COLUMNS)})")
        marks = ", ".join("?" * len(COLUMNS))
        connection.executemany(f"INSERT INTO labels VALUES ({marks})", rows("first"))
    connection.close()
    named = ("--table", "labels", "--keep-instances", "--quiet")
    made("run", f"sqlite:///{base}", *options(small, run, *named))
    sheet, before = decided(run, tmp_path / "sheet.csv", by_finding), base.read_bytes()
    said = made("apply", run, "--decisions", sheet, "--out", out)
    with out.open(encoding="utf-8", newline="") as stream:
        told = [tuple(row.values()) for row in csv.DictReader(stream)]
    cows = [one for one, labels in labels_of("first").items() if {"cow", "tool"} <= labels]

    assert "9 changes" in said
    assert sorted(told) == sorted(
        [
            *((one, "cow", "", "sibling_exclusive:cow:tool", "") for one in cows),
            ("i020", "dgo", "dog", "unknown_code:refused", ""),
            ("i021", "tre", "tree", "unknown_code:refused", ""),
            ("i000", rows("first")[0][1], "", "duplicates:labels", "1"),
            (rows("first")[-1][0], "fern", "", "duplicates:labels", "1"),
        ]
    )
    assert base.read_bytes() == before
    log = read_json(tmp_path / "corrections.csv.changes.json")
    assert log["corrections"]["after"] == sha256(out.read_bytes())
    with sqlite3.connect(base) as connection:
        connection.execute("DELETE FROM labels WHERE rowid = 3")
    connection.close()
    refused("apply", run, "--decisions", sheet, "--out", tmp_path / "other.csv")


@pytest.mark.slow
def test_refusals_leave_nothing(small: Path, tmp_path: Path) -> None:
    run = small / "first"
    sheet = decided(run, tmp_path / "sheet.csv", by_finding)
    text = sheet.read_text("utf-8")
    wrong = {
        "undecided.csv": text.replace("accept", "").replace("remove,", ",").replace(",remove", ","),
        "word.csv": text.replace("accept", "perhaps"),
        "other_run.csv": text.replace(sha256((run / "result.json").read_bytes())[:16], "0" * 16),
        "other_row.csv": text.replace("i020", "i022"),
        "no_node.csv": text.replace(",accept,", ",other: nothing,"),
        "lacking.csv": text.replace("decision", "verdict", 1),
        "nothing.csv": "",
        "noise.csv": "\0\1\2",
        "added.csv": text.replace(",add,", ",remove,", 1),
        "twice.csv": text + text.splitlines()[-1] + "\n",
    }
    for name, content in wrong.items():
        (tmp_path / name).write_text(content)
    review = decided(run, tmp_path / "review.csv", lambda row: "accept" * (row["label"] == "cow"))
    before = held(tmp_path)
    copy = tmp_path / "copy.csv"

    for name in (*wrong, review.name):
        refused("apply", run, "--decisions", tmp_path / name, "--out", copy)
    refused("apply", run, "--out", copy)
    refused("apply", run, "--decisions", sheet, "--by", "certain", "--out", copy)
    assert command("apply", run, "--decisions", sheet).exit_code == 2
    assert command("apply", "--decisions", sheet, "--out", copy).exit_code == 2
    refused("apply", run, "--decisions", sheet, "--out", review)
    assert held(tmp_path) == before


def test_data_that_changed_are_not_corrected(small: Path, tmp_path: Path) -> None:
    data = Path(shutil.copy(small / "first.csv", tmp_path / "data.csv"))
    run = tmp_path / "run"
    made("run", data, *options(small, run, "--keep-instances", "--quiet"))
    sheet = decided(run, tmp_path / "sheet.csv", by_finding)
    moved = tmp_path / "moved.csv"
    shutil.move(data, moved)

    refused("apply", run, "--decisions", sheet, "--out", tmp_path / "copy.csv")
    made("apply", run, "--decisions", sheet, "--data", moved, "--out", tmp_path / "copy.csv")
    moved.write_text(moved.read_text().replace("i020,dgo", "i020,cow"))
    refused("apply", run, "--decisions", sheet, "--data", moved, "--out", tmp_path / "other.csv")
    assert not (tmp_path / "other.csv").exists()


@pytest.mark.slow
def test_what_is_certain_is_applied_without_a_sheet(tmp_path: Path) -> None:
    data, run, copy = (tmp_path / name for name in ("data.csv", "run", "copy.csv"))
    labels = ["401.9"] * 1_000 + ["042", "42", "428.0", "389"]
    write_table(data, ("instance", "label"), [(f"i{n:04}", one) for n, one in enumerate(labels)])
    made("run", data, "--hierarchy", "icd9cm", "--keep-instances", "--no-pdf", "--quiet",
         "--out", run)  # fmt: skip
    made("apply", run, "--certain", "--out", copy)
    mended = pl.read_csv(copy, infer_schema=False)["label"].to_list()

    assert mended == ["042" if label == "42" else label for label in labels]
