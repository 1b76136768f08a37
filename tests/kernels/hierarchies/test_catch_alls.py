"""Which titles make a catch-all against those around them."""

from __future__ import annotations

import string
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.counting.residual_nodes import residual_nodes
from audit.hierarchies.catch_alls import CatchAlls, read_title
from audit.policy.policy import Policy
from fixtures.coded import icd9cm
from fixtures.labelled import tree


def kinds(parent: str, *children: str) -> list[str | None]:
    """The kind of each child of a titled parent; an empty title is none."""
    names = [f"c{number}" for number in range(len(children))]
    titles = dict(zip(names, children, strict=True)) | {"p": parent}
    hierarchy = tree(f"{' '.join(names)} < p", "p x < top", titles=titles)
    found = CatchAlls(hierarchy)
    return [found.kind(hierarchy.index(name)) for name in names]


def test_names_are_titles_where_no_node_but_a_root_has_one() -> None:
    edges = ("other_cup paper_cup < cup", "cup jar < top")
    for titles, found in (({}, ["other_cup"]), ({"top": "Top"}, ["other_cup"]), ({"jar": "J"}, [])):
        hierarchy = tree(*edges, titles=titles)
        residual = residual_nodes(hierarchy, Policy())
        assert [hierarchy.nodes[index] for index in residual] == found


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("Other anemias", "other"),
        ("Anemia, unspecified", "unspecified"),
        ("Unspecified anemia", "unspecified"),
        ("Anemia not elsewhere classified", "other"),
        ("Anemia, NEC", "other"),
        ("Anemia NOS", "unspecified"),
        ("Anemia, not otherwise specified", "unspecified"),
        ("Anemia of site not specified", "unspecified"),
        ("Other and unspecified anemia", "other"),
        ("Anemia due to a cause other than blood loss", None),
        ("Anemia, chronic or unspecified", None),
        ("Anemia, type II or unspecified type, not stated as uncontrolled", None),
        ("Another anemia", None),
        ("Nosocomial anemia", None),
        ("Specified anemia", None),
        ("Other thalassemia", None),
        ("Anemia, unspecified, in pregnancy", None),
    ],
)
def test_a_title_beside_a_specific_one_below_the_same_heading(title: str, kind: str | None) -> None:
    assert kinds("Diseases with anemia", title, "Iron deficiency anemia") == [kind, None]


def test_a_word_that_a_sibling_says_too_names_nothing() -> None:
    lipids = kinds("Disorders of lipids", "Other hyperlipidemia", "Mixed hyperlipidemia")

    assert lipids == ["other", None]
    assert kinds("Disorders of lipids", "Other hyperlipidemia", "Xanthoma") == [None, None]


def test_what_the_heading_says_is_no_news() -> None:
    machines = (
        "Other dependence on machines, supplemental oxygen",
        "Dependence on respirator",
        "Unspecified machine dependence",
    )

    assert kinds("Other dependence on machines", *machines) == [None, None, "unspecified"]


def test_siblings_that_all_leave_something_open_tell_apart_what_they_name() -> None:
    joints = kinds(
        "Osteoarthrosis",
        "Osteoarthrosis, unspecified whether localized, site unspecified",
        "Osteoarthrosis, unspecified whether localized, hand",
        "Osteoarthrosis, unspecified whether localized, lower leg",
    )

    assert joints == ["unspecified", None, None]


def test_siblings_that_are_catch_alls_only_are_judged_beside_their_heading_s() -> None:
    edges = ("p s < top", "c0 c1 < p")
    titles = {"c0": "Unspecified mood disorder", "c1": "Other specified mood disorder"}
    above = {"top": "Mood disorders", "s": "Manic mood disorder"}
    hierarchy = tree(*edges, "top y < root", titles=titles | above)
    found = CatchAlls(hierarchy)

    assert [found.kind(hierarchy.index(node)) for node in titles] == ["unspecified", "other"]


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("Other iatrogenic hypotension", "other"),
        ("Herpes with other specified complications", "other"),
        ("Volume depletion, unspecified", "unspecified"),
        ("Hypertrophy with obstruction and other lower symptoms", None),
        ("Other infections, mycoplasma", None),
    ],
)
def test_below_a_heading_without_a_title_one_phrase_repeats_it(
    title: str, kind: str | None
) -> None:
    hierarchy = tree("a b < p", "p < top", "x < top", titles={"a": title, "b": "Dialysis"})

    assert CatchAlls(hierarchy).kind(hierarchy.index("a")) == kind


def test_two_that_would_repeat_it_are_told_apart_by_what_they_name() -> None:
    titles = {"a": "Other puncture of artery", "b": "Other puncture of vein", "c": "Catheter"}
    hierarchy = tree("a b c < p", "p x < top", titles=titles)

    assert CatchAlls(hierarchy).kind(hierarchy.index("b")) is None


@pytest.mark.parametrize("care", ["episode of care unspecified", "initial episode of care"])
def test_the_episode_of_care_is_no_axis(care: str) -> None:
    site = f"Infarction of unspecified site, {care}"
    infarctions = kinds("Infarction", site, f"Infarction of anterior wall, {care}")

    assert infarctions == ["unspecified", None]


def test_alone_in_a_hierarchy_nothing_is_a_catch_all() -> None:
    hierarchy = tree("a < top", titles={"a": "Other"})

    assert CatchAlls(hierarchy).kind(hierarchy.index("a")) is None


def test_a_long_chain_of_only_children_is_climbed() -> None:
    top = sys.getrecursionlimit() + 200
    chain = [f"n{number:04} < n{number + 1:04}" for number in range(top)]
    hierarchy = tree(*chain, f"b < n{top:04}", titles={"n0000": "Other"})

    assert CatchAlls(hierarchy).kind(hierarchy.index("n0000")) == "other"


@given(st.text(string.printable, max_size=40), st.text(string.printable, max_size=40))
def test_a_title_without_a_catch_all_s_words_never_is_one(a: str, b: str) -> None:
    first, second = kinds("Heading", a, b)

    assert read_title(a).marks or first is None
    assert read_title(b).marks or second is None


@given(st.permutations(["Other anemia", "Anemia, unspecified", "Aplastic anemia", "Other ulcer"]))
def test_the_order_of_siblings_changes_nothing(titles: list[str]) -> None:
    found = dict(zip(titles, kinds("Anemia", *titles), strict=True))

    assert found == {
        "Other anemia": "other",
        "Anemia, unspecified": "unspecified",
        "Aplastic anemia": None,
        "Other ulcer": None,
    }


# --- the real titles ----------------------------------------------------------------------------

MISREAD = (
    "600.00", "600.01", "600.20", "600.21", "V46.2", "041.02", "041.11", "041.12", "041.2",
    "041.3", "041.5", "041.6", "041.7", "041.81", "041.83", "715.89", "403.00", "403.10",
    "416.8", "411.89", "410.00", "550.90", "553.00", "250.01", "140.5", "E812.9", "369.66",
    "010.06", "599.0", "711.40", "305.00", "428.30", "789.00", "998.59",
)  # fmt: skip
"""Codes whose titles hold a catch-all's words and name something."""
CATCH_ALLS = {
    "401.9": "unspecified", "584.9": "unspecified", "585.9": "unspecified",
    "285.9": "unspecified", "272.4": "other", "486": "unspecified", "041.9": "unspecified",
    "041.09": "other", "V46.9": "unspecified", "410.91": "unspecified", "648.91": "other",
    "416.9": "unspecified", "250.92": "unspecified", "459.89": "other", "296.90": "unspecified",
    "296.99": "other", "820.8": "unspecified", "458.29": "other", "276.50": "unspecified",
    "V58.69": "other", "997.79": "other", "600.90": "unspecified", "600.91": "unspecified",
    "715.31": "unspecified", "715.36": "unspecified", "715.95": "unspecified",
    "403.90": "unspecified", "403.91": "unspecified", "404.90": "unspecified",
    "404.91": "unspecified", "402.91": "unspecified", "250.80": "other",
    "941.02": "unspecified", "428.0": "unspecified", "715.90": "unspecified",
    "715.98": "unspecified", "719.80": "other",
}  # fmt: skip


def test_codes_of_icd9cm_that_name_something_are_specific() -> None:
    hierarchy = icd9cm()
    found = residual_nodes(hierarchy, Policy())

    assert [code for code in MISREAD if hierarchy.index(code) in found] == []


def test_codes_of_icd9cm_that_leave_open_what_their_siblings_tell_are_residual() -> None:
    hierarchy = icd9cm()
    found = residual_nodes(hierarchy, Policy())

    assert {code: found[hierarchy.index(code)].kind for code in CATCH_ALLS} == CATCH_ALLS


def test_the_titles_of_headings_above_codes_change_nothing() -> None:
    built_in = icd9cm()
    lists = zip(built_in.nodes, built_in.titles, built_in.assignable.tolist(), strict=True)
    bare = tuple("" if "." in node and not may else title for node, title, may in lists)

    assert sum(map(bool, built_in.titles)) - sum(map(bool, bare)) > 2_000
    found = residual_nodes(built_in, Policy())
    assert residual_nodes(replace(built_in, titles=bare), Policy()) == found
