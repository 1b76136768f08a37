"""The built-in code sets: their compiled tables are the published lists, each node in its place."""

from __future__ import annotations

import os
import runpy
from collections import Counter
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import polars as pl
import pytest

from audit import Hierarchy, Policy
from audit.counting.residual_nodes import COMPILED, residual_nodes
from audit.hierarchies.catch_alls import CatchAlls, reviewed, reviews
from audit.hierarchies.icd import icd9, icd10
from audit.hierarchies.icd.built_in import ICD10CM_NODES, ICD10CM_NOTES
from fixtures.coded import icd9cm, icd10cm
from scripts.compile_icd10cm import compiled, is_range

SCRIPTS = Path(__file__).parents[3] / "scripts"
REAL = os.environ.get("AUDIT_DATA")
needs_data = pytest.mark.skipif(not REAL, reason="AUDIT_DATA does not name the folder of real data")


def assignable(hierarchy: Hierarchy) -> list[str]:
    return [hierarchy.nodes[i] for i in np.flatnonzero(hierarchy.assignable)]


def within(outer: str, inner: str) -> bool:
    first, _, last = outer.partition("-")
    low, _, high = inner.partition("-")
    return len(first) == len(low) and first <= low and (high or low) <= last


def test_icd9cm_has_the_codes_of_version_32() -> None:
    hierarchy = icd9cm()
    codes = assignable(hierarchy)
    assert len(hierarchy) == 22_434
    assert Counter(map(icd9.table_of, codes)) == {"diagnoses": 14_567, "procedures": 3_882}
    assert all(hierarchy.titles[hierarchy.index(code)] for code in codes)
    assert hierarchy.leaf[hierarchy.assignable].all()
    assert hierarchy.children("ICD-9-CM") == ("00-99", "001-999", "E000-E999", "V01-V91")
    assert len(hierarchy.children("001-999")) == 17
    assert hierarchy.titles[hierarchy.index("386.00")] == "Ménière's disease, unspecified"


def test_codes_of_icd9cm_hang_below_prefixes_and_ranges_that_hold_them() -> None:
    hierarchy = icd9cm()
    for node in hierarchy.nodes:
        above = hierarchy.parents(node)
        assert len(above) == (node != "ICD-9-CM")
        if icd9.table_of(node) and "." in node:
            assert above == icd9.prefixes(node)[:1]
        elif node != "ICD-9-CM" and above != ("ICD-9-CM",):
            assert within(above[0], node)
            beside = [one for one in hierarchy.children(above[0]) if one != node]
            assert not any(within(one, node) for one in beside)


@needs_data
@pytest.mark.parametrize(("table", "file"), [("diagnoses", "DX"), ("procedures", "SG")])
def test_codes_and_titles_are_those_of_the_published_text_files(table: str, file: str) -> None:
    """The archive has each list as a text too, which the compiled file was not made from."""
    with ZipFile(Path(REAL or "") / "icd9cm" / "cms_v32.zip") as archive:
        lines = archive.read(f"CMS32_DESC_LONG_{file}.txt").decode("latin-1").splitlines()
    listed = {code: title.strip() for code, title in (line.split(maxsplit=1) for line in lines)}
    hierarchy = icd9cm()
    own = {
        code.replace(".", ""): hierarchy.titles[hierarchy.index(code)]
        for code in assignable(hierarchy)
        if icd9.table_of(code) == table
    }
    assert own.keys() == listed.keys()
    assert sum(own[code] != listed[code] for code in own) <= (20 if table == "diagnoses" else 0)


def test_icd10cm_has_the_codes_of_its_release_below_their_blocks() -> None:
    hierarchy = icd10cm()
    codes = assignable(hierarchy)
    assert (len(hierarchy), len(codes)) == (98_506, 74_719)
    assert len(hierarchy.children("ICD-10-CM")) == 22
    assert all(hierarchy.titles)
    assert all(map(icd10.table_of, codes))
    for node in hierarchy.nodes:
        above = hierarchy.parents(node)
        assert len(above) == (node != "ICD-10-CM")
        if "." in node:
            assert above[0] == next(one for one in icd9.prefixes(node) if one in hierarchy)
        elif icd10.table_of(node):
            assert is_range(above[0])
    for node, block in (("C7A", "C7A-C7A"), ("C7A-C7A", "C00-C96"), ("T07-T88", "S00-T88")):
        assert hierarchy.parents(node) == (block,)


def test_notes_of_icd10cm_are_read_or_kept_as_unread() -> None:
    hierarchy, found = icd10cm(), icd10cm().exclusions
    assert found is not None
    assert (len(found.notes), len(found.unparsed)) == (5_226, 181)
    for note in found.notes:
        line = {*hierarchy.ancestors(note.node), *hierarchy.descendants(note.node, with_self=True)}
        assert line.isdisjoint(note.excluded)
        assert all(node in hierarchy for node in note.excluded)
    of_e11 = {other for note in found.notes if note.node == "E11" for other in note.excluded}
    assert of_e11 >= {"E08", "E09", "E10", "O24.4", "P70.2"}


@pytest.mark.parametrize(
    ("table", "codes", "code", "years"),
    [
        ("diagnoses", 289, "438", "FY1997"),
        ("procedures", 25, "36.01", "FY1997 to FY2005"),
        ("diagnoses-10", 1013, "T81.4XXA", "FY2014 to FY2018"),
        ("procedures-10", 0, "", None),
    ],
)
def test_each_code_set_has_its_retired_codes(
    table: str, codes: int, code: str, years: str | None
) -> None:
    found = icd9.once_valid(table)
    assert (len(found), found.get(code)) == (codes, years)
    assert not set(found) & set(assignable(icd9cm()))


def test_every_reviewed_decision_names_nodes_and_changes_what_a_title_says() -> None:
    hierarchy = icd9cm()
    by_title, found = CatchAlls(hierarchy), reviewed(hierarchy)
    needed = {r.reason for i, r in found.items() if (by_title.kind(i) or "specific") != r.decision}
    diagnoses = [r for r in reviews() if not r.nodes or set(r.nodes) & set(hierarchy.nodes)]
    assert {r.reason for r in diagnoses} <= needed
    assert all(node in hierarchy or node[:2].isdigit() for r in reviews() for node in r.nodes)
    assert hierarchy.assignable[list(found)].all()


@pytest.mark.slow
def test_the_tables_that_come_along_are_what_is_compiled() -> None:
    nodes, notes, unread = compiled()
    assert nodes.equals(pl.read_parquet(ICD10CM_NODES))
    assert notes.equals(pl.read_parquet(ICD10CM_NOTES))
    assert int(pl.read_parquet_metadata(ICD10CM_NOTES)["unread"]) == unread
    found = runpy.run_path(str(SCRIPTS / "compile_catch_alls.py"))["compiled"]()
    assert found.equals(pl.read_parquet(COMPILED))


@pytest.mark.slow
def test_catch_alls_are_computed_anew_where_a_title_is_another() -> None:
    titles, other = list(icd10cm().titles), icd10cm().index("I10")
    titles[other] = "Other hypertension"
    changed = replace(icd10cm(), titles=tuple(titles))
    before, after = (residual_nodes(one, Policy()) for one in (icd10cm(), changed))
    assert after.keys() - before.keys() == {other}
