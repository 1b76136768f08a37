"""CCS, CCSR, phecodes and MeSH in the layouts of their publishers, against plain Python."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

from audit.base.dag import SYNTHETIC_ROOT
from audit.base.errors import AuditError
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.reading import load_hierarchy

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
PHECODES = (
    "ICD9,ICD9 String,PheCode,Phenotype,Excl. Phecodes,Excl. Phenotypes,Rollup,Leaf\n"
    "250.11,DM1,250.11,Type 1 with x,249-250.99,D,1,1\n250,DM,250,Diabetes,249-250.99,D,1,0\n"
    "251,Low,251.1,Hypoglycemia,249,D,0,1\n"
)
DEFINED = (
    "phecode,phenotype,phecode_exclude_range,sex,rollup,leaf,category_number,category\n"
    "008,Infection,1-9,Both,1,0,1,infectious\n008.5,Bacterial,1-9,Both,1,1,1,infectious\n"
)
TREE = "Body;A01\nTorso;A01.923\nEye;A01.456\nEye;A09.371\nSense;A09\n"
ASCII = "".join(
    f"*NEWRECORD\nRECTYPE = D\nMH = {name}\n{numbers}UI = {ui}\n\n"
    for name, numbers, ui in (
        ("Body", "MN = A01\n", "D1"), ("Torso", "MN = A01.923\n", "D2"),
        ("Eye", "MN = A01.456\nMN = A09.371\n", "D3"), ("Sense", "MN = A09\n", "D4"),
    )
)  # fmt: skip
XML = '<?xml version="1.0"?><!DOCTYPE DescriptorRecordSet SYSTEM "d.dtd"><DescriptorRecordSet>' + (
    "".join(
        f"<DescriptorRecord><DescriptorUI>{ui}</DescriptorUI><DescriptorName><String>{name}"
        f"</String></DescriptorName><TreeNumberList>{numbers}</TreeNumberList></DescriptorRecord>"
        for name, numbers, ui in (
            ("Body", "<TreeNumber>A01</TreeNumber>", "D1"),
            ("Torso", "<TreeNumber>A01.923</TreeNumber>", "D2"),
            ("Eye", "<TreeNumber>A01.456</TreeNumber><TreeNumber>A09.371</TreeNumber>", "D3"),
            ("Sense", "<TreeNumber>A09</TreeNumber>", "D4"),
        )
    )
    + "</DescriptorRecordSet>"
)
AS_DAG = {("D2", "D1"), ("D3", "D1"), ("D3", "D4")}
FILES: dict[str, tuple[str, str, set[tuple[str, str]]]] = {
    "ccsr": ("h.csv", CCSR, {("A0104", "MUS001"), ("MUS001", "MUS"), ("A0104", "INF003"),
             ("INF003", "INF"), ("I10", "CIR007"), ("CIR007", "CIR")}),
    "ccsr of procedures": ("h.csv", PRCCSR, {("001607A", "CNS010"),
                           ("CNS010", "Central Nervous System Procedures")}),
    "phecode": ("h.csv", PHECODES, {
        ("250.11", "phecode 250.11"), ("phecode 250.11", "phecode 250.1"),
        ("phecode 250.1", "phecode 250"), ("250", "phecode 250"), ("251", "phecode 251.1")}),
    "phecode alone": ("h.csv", DEFINED, {("008.5", "008"), ("008", "infectious")}),
    "mesh": ("mtrees.bin", TREE, {("Torso", "Body"), ("Eye", "Body"), ("Eye", "Sense")}),
    "mesh ascii": ("d.bin", ASCII, AS_DAG),
    "mesh xml": ("desc.xml", XML, AS_DAG),
}  # fmt: skip


def edges(hierarchy: Hierarchy) -> set[tuple[str, str]]:
    rows = hierarchy.edge_frame().iter_rows()
    return {(child, parent) for child, parent in rows if parent != SYNTHETIC_ROOT}


@pytest.mark.parametrize("case", FILES)
def test_each_layout_is_recognised_and_read_by_its_name(case: str, tmp_path: Path) -> None:
    name, text, expected = FILES[case]
    (tmp_path / name).write_text(text)
    found = load_hierarchy(tmp_path / name)

    assert edges(found) == expected
    named = load_hierarchy(tmp_path / name, format=case.split()[0])
    assert named.sha256 == found.sha256


def test_labels_have_dots_or_none_and_headings_any_name(tmp_path: Path) -> None:
    for name, text in (("c.csv", CCSR), ("p.csv", PHECODES), ("d.bin", ASCII)):
        (tmp_path / name).write_text(text)
    ccsr, phecodes, mesh = (load_hierarchy(tmp_path / n) for n in ("c.csv", "p.csv", "d.bin"))

    assert [ccsr.place(one, None).node for one in ("A01.04", "A0104")] == ["A0104"] * 2
    assert phecodes.place("25011", None).node == "250.11"
    for column, code, dotted in (
        ("ICD-10-CM CODE", "E119", "E11.9"), ("ICD-10-CM CODE", "A000", "A00.0"),
        ("ICD-9-CM CODE", "E0010", "E001.0"), ("ICD-9-CM CODE", "4019", "401.9"),
        ("ICD-9-CM CODE", "3610", "36.10"),
    ):  # fmt: skip
        (tmp_path / "one.csv").write_text(f"{column},CCS CATEGORY\n,0\n{code},1\n")
        assert load_hierarchy(tmp_path / "one.csv").place(dotted, None).node == code
    assert mesh.place("A09.371", None).node == "D3"
    assert any("one node" in one.decision for one in mesh.readings)
    assert mesh.titles[mesh.index("D3")] == "Eye"


@pytest.mark.parametrize(("name", "text", "said"), [
    ("d.bin", "*NEWRECORD\nMH = Body\n\n", "UI and MH"), ("d.xml", XML[:-9], "whole XML"),
    ("d.bin", "*NEWRECORD\nMH = Male\nUI = D1\n", "tree numbers"),
    ("h.csv", PHECODES.split("\n")[0] + "\nx,,,,,,,\n", "phecode"),
    ("ccs.csv", "a,b\n1,2\n", "codes of ICD .*\nFound: the columns 'a', 'b'"),
    ("ccsr.csv", "a,b\n1,2\n", "codes of ICD .*\nFound: the columns 'a', 'b'"),
])  # fmt: skip
def test_what_lacks_something_is_refused(name: str, text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)

    with pytest.raises(AuditError, match=said) as caught:
        load_hierarchy(tmp_path / name, format=name.partition(".")[0] if "ccs" in name else None)
    assert caught.value.exit_status == 2


@pytest.mark.skipif("AUDIT_DATA" not in os.environ, reason="AUDIT_DATA names no folder")
@pytest.mark.parametrize(
    ("name", "notes", "columns"),
    [("X.dxref.2015.csv", 1, (1,)), ("ccs_multi_dx_tool_2015.csv", 0, (1, 3, 5, 7))],
)
def test_real_tables_are_what_their_rows_say(
    name: str, notes: int, columns: tuple[int, ...]
) -> None:
    path = Path(os.environ["AUDIT_DATA"]) / "ccs" / name
    expected = set[tuple[str, str]]()
    for row in [*csv.reader(path.read_text("utf-8").splitlines())][notes + 1 :]:
        cells = [cell.strip(" '\"") for cell in row]
        way = [f"CCS {cells[n]}" for n in columns if cells[n]] + [cells[0]]
        expected |= {*zip(way[1:], way, strict=False)} if cells[0] else set()
    found = load_hierarchy(path)

    assert edges(found) == expected
    assert [found.place(code, None).node for code in ("250.00", "E812.0")] == ["25000", "E8120"]
