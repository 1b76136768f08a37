"""Compile ``audit/hierarchies/icd/data/icd9cm.csv.gz`` from CMS tables and typed-in headings.

    python scripts/compile_icd9cm.py CMS32.zip

Codes and their titles are the version 32 tables that the Centers for Medicare & Medicaid Services
publish in one archive ("Version 32 Full and Abbreviated Code Titles"): of diagnoses
``CMS32_DESC_LONG_SHORT_DX.xlsx``, of procedures ``CMS32_DESC_LONG_SHORT_SG.xlsx``. Chapters,
sections, categories and headings below them are in ``icd9cm_headings.csv`` beside this script.
"""

from __future__ import annotations

import csv
import gzip
import io
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from audit.hierarchies.icd.built_in import ICD9CM_NODES
from audit.hierarchies.icd.icd9 import dotted, prefixes

TABLES = {
    "diagnoses": ("CMS32_DESC_LONG_SHORT_DX.xlsx", "DIAGNOSIS CODE"),
    "procedures": ("CMS32_DESC_LONG_SHORT_SG.xlsx", "PROCEDURE CODE"),
}
"""Of each code set, its workbook and what heads its column of codes."""
HEADINGS = Path(__file__).with_name("icd9cm_headings.csv")
ROOT = "ICD-9-CM"
ROOT_TITLE = "International Classification of Diseases, Ninth Revision, Clinical Modification"
DISEASES = "001-999"

_XML = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


class Node(NamedTuple):
    """One row of the data file."""

    node: str
    parent: str
    title: str
    assignable: bool = False


def main(archive: Path) -> None:
    """Write the data file; the same archive and headings give the same bytes."""
    codes = {code: title for table in TABLES for code, title in read_codes(archive, table)}
    nodes = sorted(classification(read_headings(HEADINGS), codes))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Node._fields)
    writer.writerows((*node[:3], str(node.assignable).lower()) for node in nodes)
    ICD9CM_NODES.write_bytes(gzip.compress(text.getvalue().encode(), 9, mtime=0))
    print(f"{ICD9CM_NODES}: {len(nodes):,} nodes")


def read_codes(archive: Path, table: str) -> Iterator[tuple[str, str]]:
    """Each code of a table, dotted, and its title."""
    name, heading = TABLES[table]
    rows = iter(read_sheet(io.BytesIO(zipfile.ZipFile(archive).read(name))))
    assert next(rows)[:2] == [heading, "LONG DESCRIPTION"]
    for code, title, _ in rows:
        yield dotted(code, table), title.strip()


def read_sheet(table: io.BytesIO) -> Iterator[list[str]]:
    """Rows of texts of the first sheet of a workbook, whose cells are shared strings."""
    book = zipfile.ZipFile(table)
    texts = [
        "".join(part.text or "" for part in item.iter(f"{_XML}t"))
        for item in ElementTree.fromstring(book.read("xl/sharedStrings.xml"))
    ]
    sheet = ElementTree.fromstring(book.read("xl/worksheets/sheet1.xml"))
    for row in sheet.iter(f"{_XML}row"):
        yield [texts[int(value.text or 0)] for value in row.iter(f"{_XML}v")]


def read_headings(path: Path) -> dict[str, dict[str, str]]:
    """Titles of typed-in nodes by kind: branch, chapter, section, category, subcategory."""
    headings: dict[str, dict[str, str]] = {}
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            headings.setdefault(row["kind"], {})[row["node"]] = row["title"]
    return headings


def classification(headings: dict[str, dict[str, str]], codes: dict[str, str]) -> Iterator[Node]:
    """All nodes: root, branches, chapters, sections, categories, subcategories, codes."""
    branches, chapters = headings["branch"], headings["chapter"]
    typed = headings["category"]
    billable = {code: title for code, title in codes.items() if "." not in code}
    categories = typed | billable
    sections = headings["section"] | generated_sections(headings, categories)

    yield Node(ROOT, "", ROOT_TITLE)
    for branch, title in branches.items():
        yield Node(branch, ROOT, title)
    for chapter, title in chapters.items():
        yield Node(chapter, holder(chapter, branches), title)
    for section, title in sections.items():
        yield Node(section, holder(section, chapters) or holder(section, branches), title)
    for code, title in categories.items():
        parent = holder(code, sections) or holder(code, chapters)
        yield Node(code, parent, title, assignable=code in billable)
    yield from subcategories(codes, headings["subcategory"])


def generated_sections(
    headings: dict[str, dict[str, str]], categories: dict[str, str]
) -> dict[str, str]:
    """A section of its own for each disease that stands directly below its chapter."""
    return {
        f"{code}-{code}": title
        for code, title in categories.items()
        if holder(code, {DISEASES: ""}) and not holder(code, headings["section"])
    }


def subcategories(codes: dict[str, str], headings: dict[str, str]) -> Iterator[Node]:
    """Everything after the dot: codes, and headings above them."""
    below = [code for code in codes if "." in code]
    above = {prefix for code in below for prefix in prefixes(code) if "." in prefix}
    for code in {*below, *above}:
        title = codes.get(code) or headings[code]
        yield Node(code, prefixes(code)[0], title, assignable=code in codes)


def holder(code: str, ranges: dict[str, str]) -> str:
    """The range that holds a category or a narrower range; empty where none does."""
    low, _, high = code.partition("-")
    for found in ranges:
        first, _, last = found.partition("-")
        alike = len(first) == len(low) and first[0].isalpha() == low[0].isalpha()
        if alike and first <= low and (high or low) <= last and found != code:
            return found
    return ""


if __name__ == "__main__":
    main(Path(sys.argv[1]))
