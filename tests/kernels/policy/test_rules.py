"""Policy: reading, refusing, overruling, and which rule decides."""

from __future__ import annotations

import json
import math
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from jsonschema import Draft202012Validator

from audit.base.errors import PolicyError
from audit.base.settings import WITH_POLICY
from audit.data.dataset import LabelDataset
from audit.hierarchies.applied_policy import policy_for
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.reading import load_hierarchy
from audit.policy.policy import Policy
from audit.policy.reading import built_in_policy, line_of, load_policy, policy_schema
from audit.policy.rules import Exclusive
from audit.policy.statements import BranchRule, CodeDates, Spell, Waiver
from audit.runs.audit import run_audit
from fixtures.coded import icd9cm

ICD9CM = built_in_policy("icd9cm")


def rule(*branches: str, kind: str = "expected") -> BranchRule:
    return BranchRule.model_validate({"branches": branches, "rule": kind, "reason": "because"})


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "strict.toml"
    path.write_text(text)
    return path


def test_a_rule_fits_in_either_order() -> None:
    assert rule("a", "b").fits("b", "a")
    assert not rule("a", "b").fits("a", "c")


def test_a_star_fits_any_other_branch() -> None:
    assert rule("a", "*").fits("z", "a")
    assert rule("*", "a").fits("a", "z")
    assert not rule("a", "*").fits("y", "z")


def test_the_first_rule_that_fits_decides() -> None:
    policy = Policy(branch_rules=(rule("a", "b", kind="disjoint"), rule("a", "*")))

    assert policy.rule_for("b", "a").rule == "disjoint"
    assert policy.rule_for("a", "c").rule == "expected"


def test_small_cells_are_eleven_for_persons_and_one_otherwise() -> None:
    assert (Policy().min_cell_for(True), Policy().min_cell_for(False)) == (11, 1)
    assert Policy(min_cell=5).min_cell_for(True) == 5


def test_every_threshold_has_a_unit_and_a_reason() -> None:
    for threshold in Policy().thresholds():
        assert threshold["unit"]
        assert threshold["reason"]


def test_a_file_overrules_only_what_it_says(tmp_path: Path) -> None:
    stated = load_policy(written(tmp_path, 'max_findings = 3\nresidual_nodes = ["x"]\n'))
    applied = policy_for(icd9cm(), stated)

    assert (applied.max_findings, applied.residual_nodes, applied.name) == (3, ("x",), "strict")
    assert applied.branch_rules == ICD9CM.branch_rules


def test_a_hierarchy_without_a_policy_of_its_own_gets_the_default() -> None:
    assert built_in_policy("toy") == Policy()
    assert built_in_policy("icd9cm") is ICD9CM


@pytest.mark.parametrize("name", WITH_POLICY)
def test_a_part_of_a_classification_is_not_judged_by_the_rules_of_the_whole(
    name: str, tmp_path: Path
) -> None:
    """A file keeps its ending in the name; what Python calls so is refused with what to do."""
    edges = pl.DataFrame({"child": ["250.0", "250.1"], "parent": ["250", "250"]})
    labels = pl.DataFrame({"instance": ["a", "b"], "label": ["250.0", "250.1"]})
    edges.write_csv(tmp_path / f"{name}.csv")
    part = load_hierarchy(tmp_path / f"{name}.csv")
    called_so = LabelDataset.from_rows(labels, Hierarchy.build(edges, name=name))

    assert run_audit(LabelDataset.from_rows(labels, part)).policy["name"] == "default"
    with pytest.raises(PolicyError, match=f"needs the whole {name}; give a part"):
        run_audit(called_so)


def test_icd9cm_rules_speak_of_branches_and_nodes_that_exist() -> None:

    hierarchy = icd9cm()
    branches = {hierarchy.nodes[i] for i in hierarchy.branches}
    for each in ICD9CM.branch_rules:
        assert set(each.branches) <= branches | {"*"}
        assert set(each.alone_or_first) <= set(hierarchy.nodes)


# --- waivers, severities, exclusive nodes -----------------------------------------------------

WAIVER: dict[str, Any] = {
    "check": "*",
    "owner": "Office",
    "reason": "Agreed.",
    "expires": date(2030, 1, 1),
}


def test_a_waiver_names_one_place_or_the_whole_check() -> None:
    assert Waiver(**WAIVER).place == {}
    assert Waiver(**WAIVER, subtree="a").nodes == ("a",)
    assert Waiver(**WAIVER, pair=("b", "a")).place == {"pair": ("b", "a")}
    alone = {**WAIVER, "check": "a_check", "finding": "a_check:a"}
    assert Waiver(**alone).place == {"finding": "a_check:a"}
    assert Waiver(**alone).nodes == ()
    with pytest.raises(ValueError, match="one of node, finding may be given"):
        Waiver(**alone, node="a")
    for check in ("*", "a", "a_check_too"):
        with pytest.raises(ValueError, match="check must be that of the finding a_check:a"):
            Waiver(**{**alone, "check": check})
    with pytest.raises(ValueError, match="one of node, pair may be given"):
        Waiver(**WAIVER, node="a", pair=("a", "b"))


def test_a_waiver_holds_on_its_last_day() -> None:
    assert not Waiver(**WAIVER).expired(date(2030, 1, 1))
    assert Waiver(**WAIVER).expired(date(2030, 1, 2))


def test_a_waiver_may_be_added_on_its_last_day_and_not_after() -> None:
    assert Waiver(**WAIVER, added=date(2030, 1, 1)).added == date(2030, 1, 1)
    with pytest.raises(ValueError, match="must not be after expires"):
        Waiver(**WAIVER, added=date(2030, 1, 2))


def test_the_same_thing_is_waived_once() -> None:
    with pytest.raises(ValueError, match="entry 2 repeats"):
        Policy(waivers=(Waiver(**WAIVER, node="a"), Waiver(**WAIVER, node="a")))
    assert len(Policy(waivers=(Waiver(**WAIVER, node="a"), Waiver(**WAIVER, subtree="a"))).waivers)


@pytest.mark.parametrize("nodes", [["a"], ["a", "a"], ["a", ["b", "a"]], ["a", []], []])
def test_exclusive_nodes_are_two_sides_apart(nodes: Any) -> None:
    with pytest.raises(ValueError, match="nodes"):
        Exclusive(nodes=nodes, reason="")


def test_every_node_and_check_that_a_policy_names_is_told() -> None:
    policy = Policy(
        waivers=(Waiver(**WAIVER | {"check": "x"}, pair=("a", "b")), Waiver(**WAIVER, node="c")),
        exclusive=(Exclusive(nodes=("d", ("e", "f")), reason=""),),
        severities={"y": "note"},
    )

    assert [node for _, node in policy.nodes_by_key()] == list("abcdef")
    assert list(policy.checks_named()) == [("severities", "y"), ("waivers", "x")]


def test_a_policy_written_as_json_reads_back_the_same() -> None:
    policy = Policy(waivers=(Waiver(**WAIVER, added=date(2029, 1, 1)),)).over(ICD9CM)

    assert Policy.model_validate_json(json.dumps(policy.model_dump(mode="json"))) == policy


# --- rules that ask for a companion -----------------------------------------------------------

RULE = '[[companions]]\nif = "a"\nneeds = ["b", "c"]\nsource = "A book."\n'


# --- sex and age ------------------------------------------------------------------------------

PERSON = '[person]\nsex = "gender"\nfemale = "F"\nmale = ["M", "1"]\n'
OF_PERSONS = '[[person_rules]]\nnodes = ["a", "b"]\nsource = "A book."\n'


def test_columns_and_rules_of_persons_are_read(tmp_path: Path) -> None:
    text = f"strata = ['gender']\n{PERSON}age = 'years'\n{OF_PERSONS}age_from = 3\n"
    policy = load_policy(written(tmp_path, text))
    (one,) = policy.person_rules
    assert policy.person is not None

    assert policy.person.values == {"female": ("F",), "male": ("M", "1")}
    assert policy.columns == ("gender", "years")
    assert policy.columns_of_values == {"years"}
    assert (one.nodes_named, one.ages, one.severity) == (("a", "b"), (3, math.inf), "warning")
    assert list(policy.nodes_by_key()) == [("person_rules", "a"), ("person_rules", "b")]


# --- where a mistake stands -------------------------------------------------------------------

TEXT = """title = "x"
exclusive = [{ nodes = ["a"] }]

[residual_share]
value = 1
[[waivers]]
check = "*"
[[ waivers ]]
"owner" = "o"
expires = 2030-01-01
"""


@pytest.mark.parametrize(
    ("key", "line"),
    [
        (("title",), 1),
        (("residual_share",), 4),
        (("residual_share", "value"), 5),
        (("residual_share", "reason"), 4),
        (("waivers", 0, "check"), 7),
        (("waivers", 0, "expires"), 6),
        (("waivers", 1, "owner"), 9),
        (("waivers", 1, "expires"), 10),
        (("exclusive", 0, "nodes"), 2),
        (("nowhere",), None),
        ((), None),
    ],
)
def test_the_line_of_a_key(key: tuple[str | int, ...], line: int | None) -> None:
    assert line_of(key, TEXT) == line


def test_code_dates_are_read_from_beside_the_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dates.csv").write_text("code,first,last\n585,,2005-09-30\n")
    text = '[code_dates]\ncolumn = "day"\nfile = "dates.csv"\n'
    policy = load_policy(written(tmp_path, text))
    assert policy.code_dates is not None
    assert policy.code_dates.spells == (Spell("585", None, date(2005, 9, 30)),)
    assert Policy.model_validate_json(policy.model_dump_json()) == policy
    Draft202012Validator(policy_schema()).validate(tomllib.loads(text))

    monkeypatch.chdir(tmp_path)
    assert load_policy(Path("strict.toml")) == policy
    (tmp_path / "dates.csv").write_text("code,first,last\n585,,2005-10-01\n")
    assert load_policy(Path("strict.toml")).sha256 != policy.sha256


def test_the_column_of_days_parts_no_instances_unless_it_is_named_again() -> None:
    dates = CodeDates(column="day", file="dates.csv")
    alone, again = Policy(code_dates=dates), Policy(code_dates=dates, drift=("day",))

    assert alone.columns == again.columns == ("day",)
    assert (alone.columns_of_values, again.columns_of_values) == (frozenset({"day"}), frozenset())


def test_columns_are_those_of_strata_and_drift_each_once(tmp_path: Path) -> None:
    policy = load_policy(written(tmp_path, 'strata = ["site", "ward"]\ndrift = ["year", "site"]\n'))

    assert policy.columns == ("site", "ward", "year")
    assert Policy().columns == ()
