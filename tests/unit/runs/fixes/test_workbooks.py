"""Corrected workbooks: every other cell and part is as it was, whatever writes labels."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Container, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, TypeAlias
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xlsxwriter import Workbook

from audit.base.errors import InputError
from audit.data.sources import sheets
from audit.runs.fixes.changes import Change
from audit.runs.fixes.copying import log_of, undone
from audit.runs.settings import Settings
from fixtures.corrected_copies import copied

TREE = "child,parent\n" + "".join(
    f"{x}{n},{x}\n{x},root\n" for x in ("a", "b", "2") for n in ("1", "2", ".5")
)
MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
Cell: TypeAlias = tuple[str, Mapping[str, str], str]
"""Value of a cell, its attributes but for its type, and its formula."""
LONG = [
    ("id", "label", "site", "seq"),
    ("r1", "a1", "n", 1),
    ("r1", "b1", "n", 2),
    (None, None, None, None),
    (2, "a2", "s", 1),
    ("r3", 2.5, "s", 1),
    ("r3", "b2", "s", 2),
]
SEVERAL = [("id", "DX1", "DX2", "DX3"), ("1", "a1", "b1", None), ("2", "b2", None, None)]
FLAGS = [("id", "a1", "a2", "b1"), ("1", 1, 0, 1), ("2", 0, 0, 0), ("3", True, False, True)]


def written(path: Path, rows: Sequence[Sequence[Any]], top: int = 0, left: int = 0) -> Path:
    """A workbook with styles, a formula, a note and a chart beside the rows."""
    with Workbook(path) as book:
        bold = book.add_format({"bold": True, "bg_color": "#ffeeaa"})
        book.add_worksheet("Read <me> & more").write(0, 0, "see the other sheet")
        sheet = book.add_worksheet("Labels & ids")
        if top:
            sheet.write(0, left, "Labels of the year")
        for n, row in enumerate(rows):
            for m, value in enumerate(row):
                if value is not None:
                    sheet.write(n + top, m + left, value, bold if (n + m) % 2 else None)
        sheet.write_comment(top, left, "who wrote it")
        sheet.conditional_format(0, 0, 9, 9, {"type": "no_blanks", "format": bold})
        other = book.add_worksheet("Sums")
        other.write_formula(0, 0, "=COUNTA('Labels & ids'!A:A)")
        chart = book.add_chart({"type": "column"})
        chart.add_series({"values": "=Sums!$A$1:$A$1"})
        other.insert_chart("C3", chart)
    return path


def cells(path: Path) -> dict[str, Cell]:
    """Every filled or styled cell of the second sheet by its name, by the standard parser."""
    with zipfile.ZipFile(path) as book:
        shared = ElementTree.fromstring(book.read("xl/sharedStrings.xml"))
        texts = ["".join(one.itertext()) for one in shared]
        root = ElementTree.fromstring(book.read("xl/worksheets/sheet2.xml"))
    found = {}
    for cell in root.iter(f"{MAIN}c"):
        kind, value = cell.get("t", ""), "".join(cell.itertext())
        attributes = {name: own for name, own in cell.attrib.items() if name != "t"}
        said = texts[int(value)] if kind == "s" else value
        found[attributes.pop("r")] = (said, attributes, cell.findtext(f"{MAIN}f", ""))
    return found


def others(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as book:
        return {n: book.read(n) for n in book.namelist() if n != "xl/worksheets/sheet2.xml"}


def _here(command: Sequence[str], **_: Any) -> CompletedProcess[bytes]:
    """Sheets as a process of its own writes them, which takes a second to start."""
    sheets.write_sheets(*map(Path, command[3:5]))
    return CompletedProcess(command, 0)


@pytest.fixture(scope="module", autouse=True)
def in_this_process() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sheets.subprocess, "run", _here)
        yield


def settings(folder: Path) -> Settings:
    (folder / "tree.csv").write_text(TREE)
    return Settings(dataset=str(folder / "b.xlsx"), hierarchy=str(folder / "tree.csv"))


@pytest.mark.parametrize(
    ("rows", "changes", "expected"),
    [
        (LONG, [Change("r1", "replace", "a1", "a2")], {(1, 1): "a2"}),
        (LONG, [Change("r3", "replace", "2.5", "21")], {(5, 1): "21"}),
        (LONG, [Change("2", "replace", "a2", "b.5")], {(4, 1): "b.5"}),
        (LONG, [Change("r1", "remove", "b1")], dict.fromkeys([(2, n) for n in range(4)], "")),
        (LONG, [Change("2", "remove", "a2")], {(4, 1): ""}),
        (
            LONG,
            [Change("r1", "add", new="a2")],
            {(7, 0): "r1", (7, 1): "a2", (7, 2): "n", (7, 3): ""},
        ),
        (SEVERAL, [Change("1", "add", new="b2")], {(1, 3): "b2"}),
        (SEVERAL, [Change("1", "remove", "a1"), Change("2", "add", new="a1")],
         {(1, 1): "", (2, 2): "a1"}),
        (FLAGS, [Change("1", "replace", "a1", "a2"), Change("2", "add", new="b1")],
         {(1, 1): "0", (1, 2): "1", (2, 3): "1"}),
        (FLAGS, [Change("3", "remove", "b1")], {(3, 3): "0"}),
    ],
)  # fmt: skip
def test_only_the_cells_of_changed_labels_differ(
    rows: Sequence[Sequence[Any]],
    changes: list[Change],
    expected: Mapping[tuple[int, int], str],
    tmp_path: Path,
) -> None:
    top, left = (2, 1) if len(expected) == 1 else (0, 0)
    book = written(tmp_path / "b.xlsx", rows, top, left)

    copy = copied(tmp_path, settings(tmp_path), changes, "copy.xlsx")

    named = {f"{'ABCDEF'[m + left]}{n + top + 1}": text for (n, m), text in expected.items()}
    before, after = cells(book), cells(copy)
    plain: Cell = ("", {}, "")
    for name in {*before, *after}:
        said, attributes, formula = before.get(name, plain)
        own = {} if name not in before else attributes
        found = after[name]
        assert found[0] == named.get(name, said), name
        assert name not in before or found[1] == own, name
        assert found[2] == formula
    assert {*named} <= {*after}
    assert others(copy) == others(book)
    assert undone(log_of(copy), tmp_path / "again.xlsx").read_bytes() == book.read_bytes()


def test_a_formula_is_not_written_over(tmp_path: Path) -> None:
    with Workbook(tmp_path / "b.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ("id", "label"))
        sheet.write_row(1, 0, ("r1", "a1"))
        sheet.write(2, 0, "r2")
        sheet.write_formula(2, 1, "=B2", None, "a1")

    with pytest.raises(InputError, match="a formula in B3"):
        copied(tmp_path, settings(tmp_path), [Change("r2", "replace", "a1", "a2")], "copy.xlsx")

    assert not (tmp_path / "copy.xlsx").exists()


def test_elements_with_a_prefix_and_without_names_of_cells_are_read(tmp_path: Path) -> None:
    plain = written(tmp_path / "plain.xlsx", LONG)
    with zipfile.ZipFile(plain) as book, zipfile.ZipFile(tmp_path / "b.xlsx", "w") as made:
        for one in book.infolist():
            data = book.read(one)
            if one.filename == "xl/worksheets/sheet2.xml":
                data = re.sub(rb"<(/?)(?=[a-zA-Z])", rb"<\1x:", data).replace(
                    b"xmlns=", b"xmlns:x="
                )
            made.writestr(one, data)

    copy = copied(
        tmp_path,
        settings(tmp_path),
        [Change("r1", "replace", "a1", "a2"), Change("r3", "add", new="a1")],
        "copy.xlsx",
    )

    found = cells(copy)
    assert found["B2"][0] == "a2"
    assert [found[f"{x}8"][0] for x in "ABCD"] == ["r3", "a1", "s", ""]


@st.composite
def workbooks(draw: Any) -> tuple[dict[str, Any], list[Change], dict[str, str]]:
    """What a workbook holds, labels of it to be others, and what their cells are then."""
    labels = st.sampled_from(["a1", "b2", 21, 2.5])
    cell = st.one_of(
        st.none(), st.text("xyz<&> '\"\n", max_size=4), st.integers(-9, 9), st.booleans(),
        st.floats(-9, 9), st.dates().map(lambda day: datetime(2000, 1, day.day)),
        st.just("=1+1"),
    )  # fmt: skip
    rows = draw(st.lists(st.tuples(labels, cell, cell), min_size=1, max_size=6))
    ids = draw(st.sampled_from([lambda n: f"r{n}", lambda n: 100 + n]))
    body = [(ids(n), *row) for n, row in enumerate(rows)]
    top, left = draw(st.integers(0, 2)), draw(st.integers(0, 2))
    changes, cells = list[Change](), dict[str, str]()
    for n, (instance, label, *_) in enumerate(body, start=top + 2):
        new = draw(st.sampled_from(["", "a2", "b1", "22", ".5 & x"]))
        if new:
            changes.append(Change(str(instance), "replace", str(label), new))
            cells[f"{'ABCDEF'[left + 1]}{n}"] = new
    held = {"rows": [("id", "label", "note", "of"), *body], "top": top, "left": left}
    held["others"] = draw(st.integers(0, 2)), draw(st.integers(0, 2))
    held["styles"] = draw(st.lists(st.integers(0, 3), min_size=4, max_size=4))
    return held | {"inline": draw(st.booleans())}, changes, cells


def drawn(path: Path, held: Mapping[str, Any]) -> int:
    """Write a workbook; the number of its sheet of labels, from 1."""
    with Workbook(path, {"constant_memory": held["inline"]}) as book:
        looks = [{}, {"bold": True}, {"italic": True}, {"bg_color": "#ffeeaa"}]
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        styles = [book.add_format(looks[one]) for one in held["styles"]]
        before, behind = held["others"]
        for n in range(before):
            book.add_worksheet(f"Before {n}").write(0, n, "see the other sheet", styles[n])
        sheet = book.add_worksheet("Labels & ids")
        sheet.set_column(0, 1, 20)
        for n, row in enumerate(held["rows"], start=held["top"]):
            for m, value in enumerate(row):
                style = day if isinstance(value, datetime) else styles[(n + m) % len(styles)]
                sheet.write(n, m + held["left"], value, style)
        sheet.conditional_format(0, 0, 9, 9, {"type": "no_blanks", "format": styles[0]})
        for n in range(behind):
            book.add_worksheet(f"Behind {n}").write_formula(0, n, "=COUNTA('Labels & ids'!A:A)")
    return before + 1


@pytest.mark.slow
@given(case=workbooks())
def test_in_any_workbook_nothing_but_the_cells_of_changed_labels_differs(
    case: tuple[dict[str, Any], list[Change], dict[str, str]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    (held, changes, cells), folder = case, tmp_path_factory.mktemp("books")
    part = f"xl/worksheets/sheet{drawn(folder / 'b.xlsx', held)}.xml"
    known = settings(folder)

    copy = copied(folder, known, changes, "copy.xlsx")

    with zipfile.ZipFile(known.dataset) as before, zipfile.ZipFile(copy) as after:
        for one, other in zip(before.infolist(), after.infolist(), strict=True):
            told = [
                (i.filename, i.date_time, i.compress_type, i.external_attr) for i in (one, other)
            ]
            assert told[0] == told[1]
            assert one.filename == part or before.read(one) == after.read(other)
        (rest, own), (others, found) = (without(x.read(part), cells) for x in (before, after))
    assert rest == others
    assert {name: text for name, (_, text) in found.items()} == cells
    assert {n: x[0] for n, x in found.items()} == {n: x[0] for n, x in own.items()}
    assert undone(log_of(copy), folder / "x.xlsx").read_bytes() == Path(known.dataset).read_bytes()
    if not changes:
        assert copy.read_bytes() == Path(known.dataset).read_bytes()


def without(sheet: bytes, names: Container[str]) -> tuple[bytes, dict[str, tuple[Any, str]]]:
    """The XML of a sheet without some cells, and these: attributes but for the type, and text."""
    root, found = ElementTree.fromstring(sheet), {}
    for row in root.iter(f"{MAIN}row"):
        for cell in [one for one in row if one.get("r") in names]:
            attributes = {name: own for name, own in cell.attrib.items() if name not in "rt"}
            found[cell.attrib["r"]] = attributes, "".join(cell.itertext())
            row.remove(cell)
    return ElementTree.tostring(root), found
