"""Compile ``audit/hierarchies/icd/data/icd9cm.csv.gz`` from CMS tables and typed-in headings.

    python scripts/compile_icd9cm.py CMS32.zip

Codes and their titles are the version 32 tables that the Centers for Medicare & Medicaid Services
publish in one archive ("Version 32 Full and Abbreviated Code Titles"). Chapters, sections,
categories and headings below them are in ``icd9cm_headings.csv`` beside this script.
"""

from __future__ import annotations

import gzip
import sys
import zipfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import polars as pl

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
Titles = Mapping[str, str]


def main(archive: Path) -> None:
    """Write the data file; the same archive and headings give the same bytes."""
    typed = pl.read_csv(HEADINGS, infer_schema=False).rows_by_key("kind")
    headings = {kind: dict(rows) for kind, rows in typed.items()}
    codes = {code: title for table in TABLES for code, title in _codes(archive, table)}
    nodes = pl.DataFrame([*_nodes(headings, codes)], ["node", "parent", "title"], orient="row")
    nodes = nodes.sort("node").with_columns(assignable=pl.col("node").is_in([*codes]))
    ICD9CM_NODES.write_bytes(gzip.compress(nodes.write_csv().encode(), 9, mtime=0))
    print(f"{ICD9CM_NODES}: {len(nodes):,} nodes")


def _codes(archive: Path, table: str) -> Iterator[tuple[str, str]]:
    """Each code of a table, dotted, and its title."""
    name, heading = TABLES[table]
    with zipfile.ZipFile(archive) as packed:
        read = pl.read_excel(packed.read(name), infer_schema_length=0)
    for code, title in read.select(heading, "LONG DESCRIPTION").iter_rows():
        yield dotted(code, table), title.strip()


def _nodes(headings: Mapping[str, Titles], codes: Titles) -> Iterator[tuple[str, str | None, str]]:
    """Node, parent and title of root, branches, chapters, sections, categories and codes."""
    branches, chapters = headings["branch"], headings["chapter"]
    categories = headings["category"] | {code: codes[code] for code in codes if "." not in code}
    # A disease that stands directly below its chapter has a section of its own.
    alone = {
        f"{code}-{code}": title
        for code, title in categories.items()
        if _holder(code, [DISEASES]) and not _holder(code, headings["section"])
    }
    sections = headings["section"] | alone
    below = {code for code in codes if "." in code}
    below |= {prefix for code in below for prefix in prefixes(code) if "." in prefix}

    yield ROOT, None, ROOT_TITLE
    for branch, title in branches.items():
        yield branch, ROOT, title
    for chapter, title in chapters.items():
        yield chapter, _holder(chapter, branches), title
    for section, title in sections.items():
        yield section, _holder(section, chapters) or _holder(section, branches), title
    for code, title in categories.items():
        yield code, _holder(code, sections) or _holder(code, chapters), title
    for code in below:
        yield code, prefixes(code)[0], codes.get(code) or headings["subcategory"][code]


def _holder(code: str, ranges: Collection[str]) -> str:
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
