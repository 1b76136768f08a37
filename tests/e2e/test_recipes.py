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
from audit.base.errors import InputError

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
SYSTEM = {
    "resourceType": "CodeSystem",
    "content": "complete",
    "concept": [
        {"code": "a", "display": "A", "concept": [{"code": "b"}]},
        {"code": "c", "property": [{"code": "parent", "valueCode": one} for one in "ab"]},
    ],
}
CODES = (
    "code,title\n30000000-9,A\n30200000-1,B\n30230000-0,C\n03000000-1,D\n03100000-2,E\nA10,F\n"
    "A10B,G\nA10BA02,H\n"
)
CPC = "A\t\tNeeds\nA01\t\tFarms\nA01B\t\tSoil\nA01B1/00\t0\tHand\nA01B1/02\t1\tSpades\n"
CPC += "A01B1/022\t2\tOdd\nA01B3/00\t0\tPloughs\n"
PRODUCTS = "kind,sort,own\nPets,Cats,Toys\n,,Food\n,Dogs,Toys\nGarden,Hoses,\n"
EUROVOC = {
    "desc_en.xml": "<DESCRIPTEUR><RECORD><DESCRIPTEUR_ID>4</DESCRIPTEUR_ID><LIBELLE>law</LIBELLE>"
    "</RECORD><RECORD><DESCRIPTEUR_ID>7</DESCRIPTEUR_ID><LIBELLE>court</LIBELLE></RECORD>"
    "</DESCRIPTEUR>",
    "relation_bt.xml": "<RELATION_BT><RECORD><SOURCE_ID>7</SOURCE_ID><CIBLE_ID>4</CIBLE_ID>"
    "</RECORD></RELATION_BT>",
}
TAXA = (
    "taxonID\tparentNameUsageID\tacceptedNameUsageID\tscientificName\n1\t\t\tAves\n"
    "3\t1\t3\tCorvus\n4\t3\t\tCorvus corax\n9\t1\t4\tCorvus maximus\n"
)
SNOMED = (
    "id\tactive\tsourceId\tdestinationId\ttypeId\n1\t1\t22\t11\t116680003\n"
    "2\t0\t22\t33\t116680003\n3\t1\t22\t44\t363698007\n"
)


def in_xml(name: str, numbers: list[str], ui: str) -> str:
    places = "".join(f"<TreeNumber>{one}</TreeNumber>" for one in numbers)
    return (
        f"<DescriptorRecord><DescriptorUI>{ui}</DescriptorUI><DescriptorName><String>{name}"
        f"</String></DescriptorName><TreeNumberList>{places}</TreeNumberList></DescriptorRecord>"
    )


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
    "digits": (
        "codes.csv", CODES,
        {("30200000-1", "30000000-9"), ("30230000-0", "30200000-1"), ("03100000-2", "03000000-1"),
         ("A10B", "A10"), ("A10BA02", "A10B")},
    ),
    "CPC": (
        "cpc-section-A.txt", CPC,
        {("A01", "A"), ("A01B", "A01"), ("A01B1/00", "A01B"), ("A01B1/02", "A01B1/00"),
         ("A01B1/022", "A01B1/02"), ("A01B3/00", "A01B")},
    ),
    "products": (
        "products.csv", PRODUCTS,
        {("Pets > Cats", "Pets"), ("Pets > Cats > Toys", "Pets > Cats"),
         ("Pets > Cats > Food", "Pets > Cats"), ("Pets > Dogs", "Pets"),
         ("Pets > Dogs > Toys", "Pets > Dogs"), ("Garden > Hoses", "Garden")},
    ),
    "EuroVoc": ("desc_en.xml", EUROVOC["desc_en.xml"], {("7", "4")}),
    "Darwin Core": ("taxon.txt", TAXA, {("3", "1"), ("4", "3")}),
    "SNOMED CT": ("sct2_Relationship.txt", SNOMED, {("22", "11")}),
    "iNaturalist": (
        "train.json", json.dumps(SPECIES),
        {("Turdus merula", "Turdus"), ("Turdus pilaris", "Turdus"), ("Turdus", "Turdidae"),
         ("Turdidae", "P"), ("P", "Aves"), ("Aves", "Chordata"), ("Chordata", "Animalia")},
    ),
    "FHIR": ("codesystem.json", json.dumps(SYSTEM), {("b", "a"), ("c", "a"), ("c", "b")}),
}  # fmt: skip
"""A file of each recipe, in the order of the page, and the edges that it makes."""
BESIDE = {
    "MedDRA": ("llt.asc", "10000099$Low$10000001$$\n10000001$A$10000001$$\n"),
    "EuroVoc": ("relation_bt.xml", EUROVOC["relation_bt.xml"]),
}
"""A second file that a recipe reads."""


def edges(path: Path) -> set[tuple[str, str]]:
    rows = load_hierarchy(path).edge_frame().iter_rows()
    return {(child, parent) for child, parent in rows if parent != SYNTHETIC_ROOT}


def run(recipe: str, folder: Path) -> None:
    subprocess.run([sys.executable, "-c", recipe], cwd=folder, check=True)


@pytest.mark.parametrize(("recipe", "case"), [*zip(RECIPES, FILES, strict=True)], ids=[*FILES])
def test_a_recipe_makes_the_edges_of_a_file(recipe: str, case: str, tmp_path: Path) -> None:
    name, text, expected = FILES[case]
    for own, content in ((name, text), *([BESIDE[case]] if case in BESIDE else [])):
        (tmp_path / own).write_text(content, "utf-8")
    run(recipe, tmp_path)

    assert edges(tmp_path / "edges.csv") == expected


@pytest.mark.parametrize("case", sorted(FILES))
def test_a_file_without_its_recipe_is_refused_or_asked(case: str, tmp_path: Path) -> None:
    name, text, _ = FILES[case]
    (tmp_path / name).write_text(text, "utf-8")

    with pytest.raises(InputError):
        load_hierarchy(tmp_path / name)


def test_the_page_is_short() -> None:
    assert len(PAGE.read_bytes()) <= 12_000


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
