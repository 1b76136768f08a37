"""Any sheet of decisions is refused or applied whole, by plain sets of rows."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import Any

import pytest

from audit import AuditError, read_run
from audit.runs.fixes.corrected import corrected
from audit.runs.fixes.corrections import data_of
from audit.runs.fixes.sheet import Proposals, decided, read_sheet
from audit.runs.fixes.table_files import open_tables
from fixtures.doors import made

LABELS = [
    *((f"r{n}", code) for n in range(40) for code in ("250.00", "401.9", "427.31")),
    *((f"r{n}", "8.45") for n in (2, 5, 6, 7, 8)),
    *(("r1", "250"), ("r3", "4O1.9"), ("r4", "999.99.9")),
    *((f"r{n}", "008.45") for n in range(9, 40)),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fixes")
    rows = [("id", "label"), *LABELS]
    (folder / "labels.csv").write_text("".join(f"{a},{b}\n" for a, b in rows), "utf-8")
    kept = ("--out", folder / "run", "--no-pdf", "--keep-instances", "--min-cell", 1)
    made("run", folder / "labels.csv", "--hierarchy", "icd9cm", *kept)
    made("fixes", folder / "run", "--csv", folder / "sheet.csv")
    return folder


def rows_of(sheet: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(sheet.read_text("utf-8").splitlines()))


def written(rows: list[dict[str, str]], sheet: Path) -> Path:
    with sheet.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return sheet


@pytest.mark.parametrize("sheets", [30, pytest.param(3_000, marks=pytest.mark.slow)])
def test_random_sheets_are_refused_or_applied_whole(
    sheets: int, place: Path, tmp_path: Path
) -> None:

    draws, rows = random.Random(sheets), rows_of(place / "sheet.csv")
    proposals, (settings, labels) = Proposals(read_run(place / "run")), data_of(place / "run")
    (opened,) = open_tables(labels, settings)
    sheet, applied = tmp_path / "sheet.csv", 0
    for _ in range(sheets):
        written(drawn_sheet(draws, rows), sheet)
        if draws.random() < 0.1:
            sheet.write_bytes(damaged(draws, sheet.read_bytes()))
        try:
            read = read_sheet(sheet)
            changes = decided(proposals, read, sheet, labels.hierarchy)
            (table,) = corrected([opened], changes)
        except AuditError:
            continue
        assert len(changes) == sum(one.lower() not in ("", "reject") for one in decisions(read))
        held = {f"{one},{label}" for one, label in table.iter_rows() if label}
        assert held == labels_after(changes)
        applied += 1
    assert sheets // 10 < applied < sheets


def drawn_sheet(draws: random.Random, rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Decisions of any kind on some rows, in any order, of which a few are of other sheets."""
    own = [dict(row) for row in draws.sample(rows, draws.randint(1, len(rows)))]
    usual = ["", "accept", "reject", "remove", "other: 401.9", "other: 250.01", " Accept"]
    words = usual if draws.random() < 0.8 else [*usual, "?", "other:", "other: no code"]
    looked_at = ["", "reject", "remove", "other: 401.1"]
    for row in own:
        row["decision"] = draws.choice(looked_at if row["change"] == "review" else words)
    for _ in range(draws.choice([0] * 5 + [1])):
        row = draws.choice(own)
        row[draws.choice(list(row))] = draws.choice(["", "0", "x", "\x00", "-1", "r1", "\ufffd"])
    return own + ([draws.choice(own)] if draws.random() < 0.1 else [])


def damaged(draws: random.Random, data: bytes) -> bytes:
    """Bytes that are cut, or of which some are others."""
    place = draws.randrange(len(data))
    return draws.choice([data[:place], data[:place] + draws.randbytes(3) + data[place:], b""])


def decisions(sheet: Any) -> list[str]:
    return [one.strip() for one in sheet["decision"].to_list()]


def labels_after(changes: list[Any]) -> set[str]:
    """The rows that are left of the labels, as plain sets have them."""
    held = {(one, label) for one, label in LABELS}
    gone = {(one.instance, one.label) for one in changes if one.label and not one.keep}
    new = {(one.instance, one.new) for one in changes if one.new}
    return {f"{one},{label}" for one, label in (held - gone) | new}
