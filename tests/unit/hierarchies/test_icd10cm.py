"""The ICD-10-CM that comes with the package."""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from audit.counting.residual_nodes import COMPILED, residual_nodes
from audit.data.dataset import load_labels
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.icd9 import prefixes
from audit.hierarchies.icd.icd10 import table_of
from audit.policy.policy import Policy
from audit.policy.reading import built_in_policy
from fixtures.coded import icd10cm
from scripts.compile_icd10cm import compiled, is_range

SCRIPTS = Path(__file__).parents[3] / "scripts"


@pytest.fixture(scope="module")
def hierarchy() -> Hierarchy:
    return icd10cm()


def test_22_chapters_hang_under_the_root(hierarchy: Hierarchy) -> None:
    chapters = hierarchy.children("ICD-10-CM")

    assert hierarchy.nodes[hierarchy.root] == "ICD-10-CM"
    assert hierarchy.titles[hierarchy.root] == "ICD-10-CM, release April 2026"
    assert len(chapters) == 22
    assert all(is_range(chapter) for chapter in chapters)
    assert hierarchy.titles[hierarchy.index("O00-O9A")] == (
        "Pregnancy, childbirth and the puerperium"
    )


def test_every_node_of_the_library_is_there_with_one_parent(hierarchy: Hierarchy) -> None:
    assert len(hierarchy) == 98_505 + 1
    assert hierarchy.edges.nnz == len(hierarchy) - 1
    assert hierarchy.repeated_edges == 0
    assert all(hierarchy.titles)


def test_the_74719_codes_without_a_longer_one_are_assignable(hierarchy: Hierarchy) -> None:
    assignable = [hierarchy.nodes[i] for i in np.flatnonzero(hierarchy.assignable)]

    assert len(assignable) == 74_719
    assert all(table_of(node) for node in assignable)


def test_each_code_hangs_under_the_longest_code_that_begins_it(hierarchy: Hierarchy) -> None:
    for node in hierarchy.nodes:
        if "." in node:
            known = next(prefix for prefix in prefixes(node) if prefix in hierarchy)
            assert hierarchy.parents(node) == (known,)


def test_each_category_hangs_under_a_block_and_each_block_holds_codes(hierarchy: Hierarchy) -> None:
    for node in hierarchy.nodes:
        if table_of(node) and "." not in node:
            assert all(is_range(parent) for parent in hierarchy.parents(node))
        if is_range(node):
            assert hierarchy.children(node)


@pytest.mark.parametrize(
    ("node", "above"),
    [
        ("B20", ["B20-B20", "A00-B99"]),
        ("C50", ["C50-C50", "C00-C75", "C00-C96", "C00-D49"]),
        ("C7A", ["C7A-C7A", "C00-C96", "C00-D49"]),
        ("D3A", ["D3A-D3A", "C00-D49"]),
        ("W19", ["W00-W19", "W00-X58", "V00-X58", "V00-Y99"]),
        ("X71", ["X71-X83", "V00-Y99"]),
        ("T20", ["T20-T25", "T20-T32", "T07-T88", "S00-T88"]),
        ("T80", ["T80-T88", "T07-T88", "S00-T88"]),
    ],
)
def test_blocks_hang_under_the_headings_that_hold_them(
    hierarchy: Hierarchy, node: str, above: list[str]
) -> None:
    for parent in [*above, "ICD-10-CM"]:
        assert hierarchy.parents(node) == (parent,)
        node = parent


@pytest.mark.parametrize(
    ("node", "title"),
    [
        ("I10", "Essential (primary) hypertension"),
        ("E08-E13", "Diabetes mellitus"),
        ("B20-B20", "Human immunodeficiency virus [HIV] disease"),
        (
            "S72.001A",
            "Fracture of unspecified part of neck of right femur, initial encounter for closed "
            "fracture",
        ),
    ],
)
def test_titles_are_the_official_ones(hierarchy: Hierarchy, node: str, title: str) -> None:
    assert hierarchy.titles[hierarchy.index(node)] == title


def test_5407_notes_are_read_or_kept_as_unread(hierarchy: Hierarchy) -> None:
    found = hierarchy.exclusions
    assert found is not None

    assert found.release == "April 2026"
    assert (len(found.notes), len(found.unparsed)) == (5_226, 181)
    for note in found.notes:
        line = {*hierarchy.ancestors(note.node), *hierarchy.descendants(note.node, with_self=True)}
        assert line.isdisjoint(note.excluded)
        assert all(node in hierarchy for node in note.excluded)


def excluded(hierarchy: Hierarchy, node: str) -> set[str]:
    notes = hierarchy.exclusions.notes if hierarchy.exclusions else ()
    return {other for note in notes if note.node == node for other in note.excluded}


@pytest.mark.parametrize(
    ("node", "some"),
    [
        ("E11", {"E08", "E09", "E10", "O24.4", "P70.2"}),
        ("R73", {"E08-E13", "P70.2"}),
        ("E79", {"M10", "M1A"}),
        ("J20", {"J40"}),
        ("A15-A19", {"B90", "R76.11"}),
    ],
)
def test_notes_are_those_of_the_tabular_list(
    hierarchy: Hierarchy, node: str, some: set[str]
) -> None:
    assert some <= excluded(hierarchy, node)


def test_what_data_adds_keeps_the_notes(hierarchy: Hierarchy, tmp_path: Path) -> None:
    (tmp_path / "diagnoses_icd.csv").write_text(
        "subject_id,hadm_id,seq_num,icd_code,icd_version\n"
        "1,20,1,E119 ,10\n1,20,2,T148XXA,10\n1,20,3,I60.20,10\n1,20,4,25000,9\n"
    )
    (tmp_path / "procedures_icd.csv").write_text(
        "subject_id,hadm_id,seq_num,chartdate,icd_code,icd_version\n"
        "1,20,1,2180-01-01,3605,9\n1,20,2,2180-01-01,02703ZZ,10\n"
    )
    (tmp_path / "d_icd_diagnoses.csv").write_text(
        "icd_code,icd_version,long_title\n25000,9,Diabetes\nE119,10,Type 2\n"
    )
    dataset = load_labels(tmp_path, hierarchy)
    grown = dataset.hierarchy

    mapped = [grown.nodes[i] for i in dataset.assertions["node"]]
    assert sorted(mapped) == ["E11.9", "I60.20", "T14.8XXA"]
    assert dataset.ledger.refused == {"other_version": 2, "no_hierarchy": 1}
    assert dataset.persons
    assert grown.parents("I60.20") == ("I60.2",)
    assert grown.exclusions is hierarchy.exclusions


def test_labelled_ancestors_are_a_fault_and_chapters_may_meet(hierarchy: Hierarchy) -> None:
    assert hierarchy.labelled_ancestors == "fault"
    assert hierarchy.complete_tables == {"diagnoses-10"}
    assert hierarchy.coding is not None
    assert hierarchy.coding.integrity is not None
    assert hierarchy.coding.integrity.editions == {"diagnoses-10": "release April 2026"}
    chapters = hierarchy.children("ICD-10-CM")
    policy = built_in_policy("icd10cm")
    assert {policy.rule_for(a, b).rule for a in chapters for b in chapters} == {"expected"}


@pytest.mark.slow
def test_the_tables_that_come_along_are_what_is_compiled(hierarchy: Hierarchy) -> None:
    fresh = compiled()

    assert fresh.sha256 == hierarchy.sha256
    assert (fresh.exclusions, fresh.companions) == (hierarchy.exclusions, hierarchy.companions)


@pytest.mark.slow
def test_the_catch_alls_that_come_along_are_what_is_compiled() -> None:
    fresh = runpy.run_path(str(SCRIPTS / "compile_catch_alls.py"))["compiled"]()

    assert fresh.equals(pl.read_parquet(COMPILED))


@pytest.mark.slow
def test_catch_alls_are_computed_anew_when_a_title_is_another(hierarchy: Hierarchy) -> None:
    titles = list(hierarchy.titles)
    other = hierarchy.index("I10")
    titles[other] = "Other hypertension"
    changed = replace(hierarchy, titles=tuple(titles))

    before, after = (residual_nodes(one, Policy()) for one in (hierarchy, changed))
    assert other not in before
    assert after.keys() - before.keys() == {other}
