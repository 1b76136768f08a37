"""Sentences name a node by its title and its code, whichever check or report writes them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from audit.base.plurals import title_and_code
from audit.hierarchies.hierarchy import Hierarchy
from fixtures.labelled import tree
from reports.words import node

codes = st.text("0123456789.VE", min_size=1, max_size=6)
titles = st.text(min_size=1, max_size=20)


@given(codes, titles)
def test_the_title_stands_first_and_the_code_after_it(code: str, title: str) -> None:
    said = title_and_code(code, title)

    assert said.count(code) >= 1
    assert said == code if title == code else said.startswith(title)
    assert said == code if title == code else said.removeprefix(title) == f" ({code})"


@given(codes)
def test_a_node_without_a_title_is_its_code(code: str) -> None:
    assert title_and_code(code, "") == title_and_code(code, None) == code


@given(codes, titles)
def test_reports_name_a_node_as_checks_do(code: str, title: str) -> None:
    assert node(code, title) == title_and_code(code, title)


def described(hierarchy: Hierarchy, node: str) -> str:
    return hierarchy.describe(hierarchy.index(node))


def test_the_nearest_titled_node_above_is_named_with_its_code_after_it() -> None:
    named = {"390-459": "Diseases of the circulatory system", "401": "Essential hypertension"}
    hierarchy = tree("390-459 < top", "401 < 390-459", "401.9 < 401", titles=named)

    assert described(hierarchy, "401") == "Essential hypertension (401)"
    assert described(hierarchy, "401.9") == "401.9 (below Essential hypertension, 401)"
    assert described(hierarchy, "top") == "top"
