"""Which nodes are residual, by title, by digits and by the policy's own lists."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from audit.counting.residual_nodes import residual_nodes
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.icd9 import ICD9
from audit.policy.policy import Policy
from fixtures.coded import icd9cm
from fixtures.labelled import tree


def codes(*edges: str, titles: dict[str, str] | None = None) -> Hierarchy:
    return tree(*edges, titles=titles, coding=ICD9)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("401.8", "other"),
        ("401.9", "unspecified"),
        ("250.09", "unspecified"),
        ("250.80", "other"),
        ("250.01", None),
        ("V58.9", "unspecified"),
        ("E812.9", "unspecified"),
        ("401.1", None),
        ("36.19", "other"),
        ("36.1", None),
        ("36.9", None),
    ],
)
def test_digits_decide_where_an_icd9_code_has_no_title(code: str, kind: str | None) -> None:
    hierarchy = codes(f"{code} x < top")
    found = residual_nodes(hierarchy, Policy()).get(hierarchy.index(code))

    assert (found.kind if found else None) == kind


def test_digits_do_not_decide_where_there_is_a_title() -> None:
    hierarchy = codes("401.9 x < top", titles={"401.9": "A specific thing"})

    assert residual_nodes(hierarchy, Policy()) == {}


def test_digits_do_not_decide_outside_icd9() -> None:
    assert residual_nodes(tree("401.9 x < top"), Policy()) == {}


def test_a_heading_is_never_residual() -> None:
    hierarchy = tree("leaf x < heading", "heading < top", titles={"heading": "Other diseases"})

    assert residual_nodes(hierarchy, Policy(residual_nodes=("heading",))) == {}


def test_an_assignable_inner_node_may_be() -> None:
    hierarchy = Hierarchy.build(
        pl.DataFrame({"child": ["leaf", "inner", "side"], "parent": ["inner", "top", "top"]}),
        pl.DataFrame(
            {
                "node": ["leaf", "inner", "side", "top"],
                "title": ["A", "Other", "B", "Other"],
                "assignable": [True, True, True, False],
            }
        ),
        name="inner",
    )

    assert [hierarchy.nodes[i] for i in residual_nodes(hierarchy, Policy())] == ["inner"]


def test_the_lists_of_a_policy_overrule_titles() -> None:
    hierarchy = tree("a b c < top", titles={"a": "Other", "b": "Specific", "c": "Other"})
    policy = Policy(residual_nodes=("b", "c"), specific_nodes=("a", "c"))
    found = residual_nodes(hierarchy, policy)

    assert {hierarchy.nodes[i]: r.rule for i, r in found.items()} == {"b": "policy"}


def test_the_rule_that_fired_is_told() -> None:
    hierarchy = tree("a b < top", titles={"a": "Anemia NOS", "b": "Anemia of pregnancy"})

    assert residual_nodes(hierarchy, Policy())[hierarchy.index("a")].rule == "title: nos"


@pytest.mark.parametrize(
    ("title", "word"),
    [
        ("misc", "misc"),
        ("Miscellaneous tools", "miscellaneous"),
        ("Tools, et cetera", "et cetera"),
        ("Various tools", "various"),
        ("Sundry tools", "sundry"),
        ("Miscellaneous saws", None),
        ("Tools", None),
        ("Miscreants", None),
        ("Unlabelled tools", "unlabelled"),
        ("Unidentified litter", "unidentified"),
        ("N/A", "n/a"),
        ("Background", "background"),
        ("Background noise", None),
        ("Unidentified flying objects", None),
    ],
)
def test_a_word_makes_a_catch_all_where_the_title_says_no_more_than_its_parents(
    title: str, word: str | None
) -> None:
    titles = {"top": "Tools", "a": title, "b": "Hammers"}
    words = Policy(residual_words=("Sundry",))
    found = residual_nodes(tree("a b < top", titles=titles), words).values()

    assert [one.word.lower() for one in found] == ([word] if word else [])
    assert not residual_nodes(tree("a < top", titles=titles), words)
    coded = codes("780.1 780.2 < 780", titles={"780": "Tools", "780.1": title, "780.2": "Hammers"})
    assert not residual_nodes(coded, words)


def test_only_below_the_root_is_one_word_what_all_are() -> None:
    for title in ("Unknown soldiers", "Background"):
        titles = {"top": "All", "mid": "Tools", "a": "Hammers", "b": title, "c": "Saws"}
        assert not residual_nodes(tree("a b < mid", "mid c < top", titles=titles), Policy())
        assert residual_nodes(tree("a b c < top", titles=titles), Policy())


def test_a_reviewed_decision_overrules_a_title_and_a_policy_overrules_both() -> None:
    titles = {"416.8": "Other chronic pulmonary heart diseases", "416.0": "Primary hypertension"}
    hierarchy = codes("416.8 416.0 < 416", titles=titles)
    stated = Policy(residual_nodes=("416.8",))

    assert residual_nodes(hierarchy, Policy()) == {}
    assert residual_nodes(hierarchy, stated)[hierarchy.index("416.8")].rule == "policy"


def test_icd9cm_has_residual_codes_and_no_residual_heading() -> None:
    hierarchy = icd9cm()
    found = residual_nodes(hierarchy, Policy())

    assert hierarchy.assignable[list(found)].all()
    assert found[hierarchy.index("401.9")].kind == "unspecified"
    assert 0.1 < len(found) / np.count_nonzero(hierarchy.assignable) < 0.6
