"""Each recipe of the documentation makes the edges of a file as its publisher writes it."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from audit import load_hierarchy
from audit.base.dag import SYNTHETIC_ROOT
from audit.base.errors import FormatError

PAGE = Path(__file__).parents[2] / "docs" / "recipes.md"
RECIPES = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)
HEADINGS = (("Body", ["A01"], "D1"), ("Torso", ["A01.923"], "D2"),
            ("Eye", ["A01.456", "A09.371"], "D3"), ("Sense", ["A09"], "D4"))  # fmt: skip
OF_HEADINGS = {("D2", "D1"), ("D3", "D1"), ("D3", "D4")}
CCSR = (
    "'ICD-10-CM CODE','ICD-10-CM CODE DESCRIPTION','Default CCSR CATEGORY IP','Default CCSR "
    "CATEGORY DESCRIPTION IP','CCSR CATEGORY 1','CCSR CATEGORY 1 DESCRIPTION','CCSR CATEGORY 2',"
    "'CCSR CATEGORY 2 DESCRIPTION','Rationale for Default Assignment'\n"
    "'A0104','Typhoid arthritis','MUS001','Infective arthritis','MUS001','Infective arthritis',"
    "'INF003','Bacterial infections','x'\n'I10','Hypertension','CIR007','Hypertension','CIR007',"
    "'Hypertension',' ',' ','x'\n"
)
PRCCSR = (
    "'ICD-10-PCS','ICD-10-PCS DESCRIPTION','PRCCSR','PRCCSR DESCRIPTION','CLINICAL DOMAIN'\n"
    "'001607A','Bypass','CNS010','CNS bypass','Central Nervous System Procedures'\n"
)
CCS = (
    "Codes of 2015\n'ICD-9-CM CODE','CCS CATEGORY','CCS CATEGORY DESCRIPTION','ICD-9-CM CODE "
    "DESCRIPTION','OPTIONAL CCS CATEGORY','OPTIONAL CCS CATEGORY DESCRIPTION'\n"
    "'     ','0    ','No DX','INVALID CODES','',''\n"
    "'25000','49   ','Diabetes, plain','DMII wo cmp','',''\n"
    "'25001','49   ','Diabetes, plain','DMI wo cmp','',''\n"
)
LEVELS = (
    "'ICD-9-CM CODE','CCS LVL 1','CCS LVL 1 LABEL','CCS LVL 2','CCS LVL 2 LABEL'\n"
    "'0010 ','1',\"Infectious, parasitic\",'1.1',\"Bacterial\"\n'7999 ','2',\"Other\",' ',\" \"\n"
)
PHECODES = (
    "ICD9,ICD9 String,PheCode,Phenotype,Excl. Phecodes,Excl. Phenotypes,Rollup,Leaf\n"
    "250.11,DM1,250.11,Type 1 with x,249-250.99,D,1,1\n250,DM,250,Diabetes,249-250.99,D,1,0\n"
    "251,Low,251.1,Hypoglycemia,249,D,0,1\n"
)
DEFINED = (
    "phecode,phenotype,phecode_exclude_range,sex,rollup,leaf,category_number,category\n"
    "008,Infection,1-9,Both,1,0,1,infectious\n008.5,Bacterial,1-9,Both,1,1,1,infectious\n"
    "010.1,Alone,1-9,Both,0,1,1,infectious\n"
)
SPECIES = {
    "images": [{"id": 7}],
    "categories": [
        {"id": n, "kingdom": "Animalia", "phylum": "Chordata", "class": "Aves", "order": "P",
         "family": "Turdidae", "genus": "Turdus", "name": f"Turdus {name}"}
        for n, name in enumerate(("merula", "pilaris"))
    ],
}  # fmt: skip
CLASSES = {
    "LabelName": "/m/e",
    "Subcategory": [{"LabelName": "/m/a", "Part": [{"LabelName": "/m/p"}],
                     "Subcategory": [{"LabelName": "/m/b"}]}],
}  # fmt: skip
TAXONOMY = {"type": "taxonomy", "value": {"taxonomy": [["A", "B"], ["A", "C"]]}}
TASKS = [{"id": 1, "annotations": [{"id": 1, "result": [TAXONOMY]}]}]


def in_xml(name: str, numbers: list[str], ui: str) -> str:
    places = "".join(f"<TreeNumber>{one}</TreeNumber>" for one in numbers)
    return (
        f"<DescriptorRecord><DescriptorUI>{ui}</DescriptorUI><DescriptorName><String>{name}"
        f"</String></DescriptorName><TreeNumberList>{places}</TreeNumberList></DescriptorRecord>"
    )


def in_ascii(name: str, numbers: list[str], ui: str) -> str:
    places = "".join(f"MN = {one}\n" for one in numbers)
    return f"*NEWRECORD\nRECTYPE = D\nMH = {name}\n{places}UI = {ui}\n\n"


def of_meddra(*codes: int) -> str:
    terms = [*(f"1000{n:04}" for n in codes), *(f"Term {n}" for n in codes)]
    return "$".join([*terms, "Abbr", "", "10000004", "Y", "\n"])


FILES: dict[str, tuple[str, str, set[tuple[str, str]]]] = {
    "MeSH in XML": (
        "desc2026.xml",
        '<?xml version="1.0"?><!DOCTYPE DescriptorRecordSet SYSTEM "d.dtd"><DescriptorRecordSet>'
        f"{''.join(in_xml(*one) for one in HEADINGS)}</DescriptorRecordSet>",
        OF_HEADINGS,
    ),
    "MeSH in ASCII": ("d2026.bin", "".join(in_ascii(*one) for one in HEADINGS), OF_HEADINGS),
    "the tree of MeSH": (
        "mtrees2026.bin",
        "".join(f"{name};{one}\n" for name, numbers, _ in HEADINGS for one in numbers),
        {("A01.923", "A01"), ("A01.456", "A01"), ("A09.371", "A09")},
    ),
    "MedDRA": (
        "mdhier.asc",
        of_meddra(1, 2, 3, 4) + of_meddra(1, 5, 3, 4).replace("Term 1", "Term 1 NEC")
        + of_meddra(6, 2, 3, 4),
        {("10000001", "10000002"), ("10000001", "10000005"), ("10000006", "10000002"),
         ("10000002", "10000003"), ("10000005", "10000003"), ("10000003", "10000004"),
         ("10000099", "10000001")},
    ),
    "single-level CCS": (
        "$dxref 2015.csv", CCS, {("25000", "CCS 49"), ("25001", "CCS 49")}
    ),
    "multi-level CCS": (
        "ccs_multi_dx_tool_2015.csv", LEVELS,
        {("0010", "CCS 1.1"), ("CCS 1.1", "CCS 1"), ("7999", "CCS 2")},
    ),
    "CCSR": (
        "DXCCSR_v2025-1.csv", CCSR,
        {("A0104", "MUS001"), ("MUS001", "MUS"), ("A0104", "INF003"), ("INF003", "INF"),
         ("I10", "CIR007"), ("CIR007", "CIR")},
    ),
    "CCSR of procedures": (
        "PRCCSR_v2025-1.csv", PRCCSR,
        {("001607A", "CNS010"), ("CNS010", "Central Nervous System Procedures")},
    ),
    "phecodes": (
        "phecode_definitions1.2.csv", DEFINED,
        {("008.5", "008"), ("008", "infectious"), ("010.1", "infectious")},
    ),
    "phecodes of ICD": (
        "phecode_icd9_rolled.csv", PHECODES,
        {("250.11", "phecode 250.11"), ("phecode 250.11", "phecode 250.1"),
         ("phecode 250.1", "phecode 250"), ("250", "phecode 250"), ("251", "phecode 251.1")},
    ),
    "iNaturalist": (
        "train.json", json.dumps(SPECIES),
        {("Turdus merula", "Turdus"), ("Turdus pilaris", "Turdus"), ("Turdus", "Turdidae"),
         ("Turdidae", "P"), ("P", "Aves"), ("Aves", "Chordata"), ("Chordata", "Animalia")},
    ),
    "Open Images": (
        "bbox_labels_600_hierarchy.json", json.dumps(CLASSES),
        {("/m/a", "/m/e"), ("/m/b", "/m/a")},
    ),
    "Label Studio": ("export.json", json.dumps(TASKS), {("A > B", "A"), ("A > C", "A")}),
}  # fmt: skip
"""A file of each recipe, in the order of the page, and the edges that it makes."""
READ = {"multi-level CCS", "Open Images"}
"""Those that are read without a recipe: as levels, and as a tree once its parts are placed."""


def edges(path: Path) -> set[tuple[str, str]]:
    rows = load_hierarchy(path).edge_frame().iter_rows()
    return {(child, parent) for child, parent in rows if parent != SYNTHETIC_ROOT}


def run(recipe: str, folder: Path) -> None:
    subprocess.run([sys.executable, "-c", recipe], cwd=folder, check=True)


@pytest.mark.parametrize(("recipe", "case"), [*zip(RECIPES, FILES, strict=True)], ids=[*FILES])
def test_a_recipe_makes_the_edges_of_a_file(recipe: str, case: str, tmp_path: Path) -> None:
    name, text, expected = FILES[case]
    (tmp_path / name).write_text(text, "utf-8")
    (tmp_path / "llt.asc").write_text("10000099$Low$10000001$$\n10000001$A$10000001$$\n", "utf-8")
    run(recipe, tmp_path)

    assert edges(tmp_path / "edges.csv") == expected


@pytest.mark.parametrize("case", sorted({*FILES} - READ))
def test_a_file_without_its_recipe_is_refused(case: str, tmp_path: Path) -> None:
    name, text, _ = FILES[case]
    (tmp_path / name).write_text(text, "utf-8")

    with pytest.raises(FormatError, match="page of recipes"):
        load_hierarchy(tmp_path / name)


@pytest.mark.skipif("AUDIT_DATA" not in os.environ, reason="AUDIT_DATA names no folder")
@pytest.mark.parametrize(
    ("case", "name", "notes", "columns"),
    [
        ("single-level CCS", "X.dxref.2015.csv", 1, (1,)),
        ("multi-level CCS", "ccs_multi_dx_tool_2015.csv", 0, (1, 3, 5, 7)),
    ],
)
def test_real_tables_are_what_their_rows_say(
    case: str, name: str, notes: int, columns: tuple[int, ...], tmp_path: Path
) -> None:
    text = (Path(os.environ["AUDIT_DATA"]) / "ccs" / name).read_text("utf-8")
    expected = set[tuple[str, str]]()
    for row in [*csv.reader(text.splitlines())][notes + 1 :]:
        cells = [cell.strip(" '\"") for cell in row]
        way = [f"CCS {cells[n]}" for n in columns if cells[n]] + [cells[0]]
        expected |= {*pairwise(reversed(way))} if cells[0] else set()
    (tmp_path / FILES[case][0]).write_text(text, "utf-8")
    run(RECIPES[[*FILES].index(case)], tmp_path)

    assert edges(tmp_path / "edges.csv") == expected
