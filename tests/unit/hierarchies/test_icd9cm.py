import os
from collections import Counter
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import polars as pl
import pytest

from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.built_in import ICD9CM_NODES
from audit.hierarchies.icd.icd9 import prefixes, table_of
from fixtures import coded

REAL = os.environ.get("AUDIT_DATA")
needs_data = pytest.mark.skipif(not REAL, reason="AUDIT_DATA does not name the folder of real data")

BRANCHES = ("00-99", "001-999", "E000-E999", "V01-V91")


@pytest.fixture(scope="module")
def hierarchy() -> Hierarchy:
    return coded.icd9cm()


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return pl.read_csv(ICD9CM_NODES, infer_schema=False)


def holds(outer: str, inner: str) -> bool:
    first, _, last = outer.partition("-")
    low, _, high = inner.partition("-")
    return len(first) == len(low) and first <= low and (high or low) <= last


def children_of_kind(hierarchy: Hierarchy, nodes: list[str]) -> list[str]:
    return [child for node in nodes for child in hierarchy.children(node)]


def test_four_branches_hang_under_the_root(hierarchy: Hierarchy) -> None:
    assert hierarchy.nodes[hierarchy.root] == "ICD-9-CM"
    assert hierarchy.children("ICD-9-CM") == BRANCHES


def test_every_node_stands_once_with_one_parent(table: pl.DataFrame, hierarchy: Hierarchy) -> None:
    assert table["node"].is_unique().all()
    assert table["node"].to_list() == sorted(table["node"].to_list())
    assert table["parent"].null_count() == 1
    assert len(hierarchy) == len(table) == 22_434


def test_14567_diagnoses_and_3882_procedures_are_assignable_and_titled(
    hierarchy: Hierarchy,
) -> None:
    assignable = [hierarchy.nodes[i] for i in np.flatnonzero(hierarchy.assignable)]
    assert Counter(map(table_of, assignable)) == {"diagnoses": 14_567, "procedures": 3_882}
    assert all(hierarchy.titles[hierarchy.index(node)] for node in assignable)
    assert hierarchy.leaf[hierarchy.assignable].all()


def test_only_headings_after_the_dot_lack_a_title(hierarchy: Hierarchy) -> None:
    untitled = [
        node for node, title in zip(hierarchy.nodes, hierarchy.titles, strict=True) if not title
    ]
    assert all("." in node for node in untitled)
    assert not any(hierarchy.assignable[hierarchy.index(node)] for node in untitled)


def test_each_code_hangs_under_its_prefix(hierarchy: Hierarchy) -> None:
    for node in hierarchy.nodes:
        if table_of(node) and "." in node:
            assert hierarchy.parents(node) == prefixes(node)[:1]


def test_each_range_and_category_lies_within_the_range_above(hierarchy: Hierarchy) -> None:
    within = [node for node in hierarchy.nodes if "." not in node and "ICD" not in node]
    for node in set(within) - set(BRANCHES):
        (parent,) = hierarchy.parents(node)
        assert holds(parent, node)


def test_ranges_of_one_depth_do_not_overlap(hierarchy: Hierarchy) -> None:
    ranges = [node for node in hierarchy.nodes if "-" in node and "ICD" not in node]
    for node in ranges:
        siblings = hierarchy.children(hierarchy.parents(node)[0])
        assert not any(holds(other, node) for other in siblings if other != node)


def test_diseases_have_17_chapters_with_sections_below(hierarchy: Hierarchy) -> None:
    chapters = hierarchy.children("001-999")
    assert len(chapters) == 17
    sections = children_of_kind(hierarchy, list(chapters))
    assert all("-" in section for section in sections)
    categories = children_of_kind(hierarchy, sections)
    assert all(len(node) == 3 and node.isdigit() for node in categories)
    assert {int(hierarchy.depth[hierarchy.index(node)]) for node in categories} == {4}


@pytest.mark.parametrize("branch", ["V01-V91", "E000-E999"])
def test_v_and_e_codes_have_sections_directly_below(hierarchy: Hierarchy, branch: str) -> None:
    sections = list(hierarchy.children(branch))
    categories = children_of_kind(hierarchy, sections)
    assert all("-" in section for section in sections)
    assert all(table_of(node) == "diagnoses" for node in categories)


def test_procedures_are_the_hundred_two_digit_categories(hierarchy: Hierarchy) -> None:
    categories = children_of_kind(hierarchy, list(hierarchy.children("00-99")))
    assert sorted(categories) == [f"{number:02}" for number in range(100)]
    assert not any(hierarchy.assignable[hierarchy.index(node)] for node in categories)


def test_every_category_of_a_code_exists(hierarchy: Hierarchy) -> None:
    codes = [node for node in hierarchy.nodes if table_of(node)]
    assert all(node.partition(".")[0] in hierarchy for node in codes)


@pytest.mark.parametrize(
    ("node", "title"),
    [
        ("042", "Human immunodeficiency virus [HIV] disease"),
        ("250", "Diabetes mellitus"),
        ("250.0", "Diabetes mellitus without mention of complication"),
        ("410-414", "Ischemic heart disease"),
        ("280-280", "Iron deficiency anemias"),
        ("386.00", "Ménière's disease, unspecified"),
        ("V22", "Normal pregnancy"),
        ("E849", "Place of occurrence"),
        ("36", "Operations on vessels of heart"),
        ("36.0", "Removal of coronary artery obstruction"),
        ("36.06", "Insertion of non-drug-eluting coronary artery stent(s)"),
    ],
)
def test_titles_are_the_official_ones(hierarchy: Hierarchy, node: str, title: str) -> None:
    assert hierarchy.titles[hierarchy.index(node)] == title


@needs_data
@pytest.mark.parametrize(("table", "file"), [("diagnoses", "DX"), ("procedures", "SG")])
def test_codes_and_titles_are_those_of_the_published_text_files(
    hierarchy: Hierarchy, table: str, file: str
) -> None:
    """The archive has each list as a text too, which the compiled file was not made from."""
    with ZipFile(Path(REAL or "") / "icd9cm" / "cms_v32.zip") as archive:
        lines = archive.read(f"CMS32_DESC_LONG_{file}.txt").decode("latin-1").splitlines()
    listed = {code: title.strip() for code, title in (line.split(maxsplit=1) for line in lines)}
    assignable = np.flatnonzero(hierarchy.assignable)
    own = {
        hierarchy.nodes[i].replace(".", ""): hierarchy.titles[i]
        for i in assignable
        if table_of(hierarchy.nodes[i]) == table
    }

    assert own.keys() == listed.keys()
    assert sum(own[code] != listed[code] for code in own) <= (20 if table == "diagnoses" else 0)


def test_labelled_ancestors_are_a_fault_and_both_tables_complete(hierarchy: Hierarchy) -> None:
    assert hierarchy.labelled_ancestors == "fault"
    assert hierarchy.complete_tables == {"diagnoses", "procedures"}
    assert hierarchy.coding is not None
    assert hierarchy.coding.persons
