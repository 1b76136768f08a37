"""Policy: reading, refusing, overruling, and which rule decides."""

from __future__ import annotations

import json
import math
import re
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from jsonschema import Draft202012Validator, ValidationError

from audit.base.errors import InputError, PolicyError
from audit.base.settings import WITH_POLICY
from audit.data.dataset import LabelDataset
from audit.hierarchies.applied_policy import policy_for
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.reading import load_hierarchy
from audit.policy.policy import Policy
from audit.policy.reading import built_in_policy, line_of, load_policy, policy_schema
from audit.policy.rules import Exclusive, Expected
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


def test_a_rule_knows_its_order() -> None:
    assert rule("*", "a").fits_in_order("z", "a")
    assert not rule("*", "a").fits_in_order("a", "z")


def test_the_first_rule_that_fits_decides() -> None:
    policy = Policy(branch_rules=(rule("a", "b", kind="disjoint"), rule("a", "*")))

    assert policy.rule_for("b", "a").rule == "disjoint"
    assert policy.rule_for("a", "c").rule == "expected"


def test_without_a_rule_nothing_is_said_of_two_branches() -> None:
    assert Policy().rule_for("a", "b") is None


def test_small_cells_are_eleven_for_persons_and_one_otherwise() -> None:
    assert (Policy().min_cell_for(True), Policy().min_cell_for(False)) == (11, 1)
    assert Policy(min_cell=5).min_cell_for(True) == 5


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[least_joint]\nvalue = 1\nreason = 'x'", "least_joint must be between 2 and inf, not 1"),
        ("[excess_ratio]\nvalue = 0.9\nreason = 'x'", "excess_ratio must be between 1 and inf"),
        ("decision_threshold = {value = -0.1, reason = 'x'}", "must be between"),
        ("min_cell = " + "9" * 5000, "a TOML file is required"),
        ("[[expected]]\nnodes = ['a']\nsource = 'x'", "expected.0.nodes"),
        ("[[expected]]\nnodes = ['a', 'b']\nsource = ''", "expected.0.source (line 3)"),
        ("[[expected]]\nnodes = ['a', 'b']", "expected.0.source"),
    ],
)
def test_what_pairs_cannot_be_judged_by_is_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(PolicyError, match=re.escape(told)):
        load_policy(written(tmp_path, text))


def test_associations_that_are_known_are_read(tmp_path: Path) -> None:
    text = "[[expected]]\nnodes = ['a', 'b']\nsource = 'A book.'\n"
    policy = load_policy(written(tmp_path, text))

    assert policy.expected == (Expected(nodes=("a", "b"), source="A book."),)
    assert ("expected", "a") in policy.nodes_by_key()


def test_every_threshold_has_a_unit_and_a_reason() -> None:
    for threshold in Policy().thresholds():
        assert threshold["unit"]
        assert threshold["reason"]


def test_a_file_overrules_only_what_it_says(tmp_path: Path) -> None:
    stated = load_policy(written(tmp_path, 'max_findings = 3\nresidual_nodes = ["x"]\n'))
    applied = policy_for(icd9cm(), stated)

    assert (applied.max_findings, applied.residual_nodes, applied.name) == (3, ("x",), "strict")
    assert applied.branch_rules == ICD9CM.branch_rules


def test_a_file_may_hold_everything(tmp_path: Path) -> None:
    policy = load_policy(
        written(
            tmp_path,
            'min_cell = 5\nlabelled_ancestors = "fault"\n'
            'residual_share = { value = 0.25, reason = "ours" }\n'
            '[[branch_rules]]\nbranches = ["a", "*"]\nrule = "disjoint"\nreason = "by rule"\n'
            'alone_or_first = ["a1"]\nbreak_down_depth = 2\n',
        )
    )

    assert policy.residual_share.value == 0.25
    assert policy.branch_rules[0].alone_or_first == ("a1",)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("min_cell = 0", "min_cell"),
        ("max_findings = 0", "max_findings"),
        ("no_such_key = 1", "no_such_key"),
        ("rachet = true", "rachet (line 1): there is no such key'\nHint: did you mean ratchet?"),
        ('min_cell = "11"', "min_cell"),
        ('labelled_ancestors = "sometimes"', "labelled_ancestors"),
        ("residual_share = { value = 0.5 }", "residual_share.reason"),
        (
            '[[branch_rules]]\nbranches = ["a"]\nrule = "watch"\nreason = ""',
            "branch_rules.0.branches",
        ),
        (
            '[[branch_rules]]\nbranches = ["a", "b"]\nrule = "no"\nreason = ""',
            "branch_rules.0.rule",
        ),
        ("min_cell = = 3", "TOML"),
    ],
)
def test_what_cannot_be_applied_is_refused_by_its_key(tmp_path: Path, text: str, told: str) -> None:
    path = written(tmp_path, text)

    with pytest.raises(PolicyError) as caught:
        load_policy(path)
    assert told in str(caught.value)
    assert str(path) in str(caught.value)


def test_the_digest_tells_policies_apart() -> None:
    assert Policy().sha256 == Policy().sha256
    assert Policy().sha256 != Policy(max_findings=19).sha256


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


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("00-99", "001-999", "expected"),
        ("00-99", "V01-V91", "expected"),
        ("E000-E999", "00-99", "expected"),
        ("E000-E999", "001-999", "expected"),
        ("V01-V91", "E000-E999", "expected"),
        ("V01-V91", "001-999", "watch"),
    ],
)
def test_icd9cm_says_which_branches_may_meet(a: str, b: str, expected: str) -> None:
    assert ICD9CM.rule_for(a, b).rule == expected


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


def test_the_sides_of_exclusive_nodes() -> None:
    assert Exclusive(nodes=("a", ("b", "c")), reason="").sides == (("a",), ("b", "c"))


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


def test_a_companion_rule_is_read(tmp_path: Path) -> None:
    stated = RULE + "valid_from = 2002-10-01\nunless = 'd'\nposition = 'after'\n"
    (one,) = load_policy(written(tmp_path, stated)).companions

    assert (one.asking, one.needed, one.excusing) == (("a",), ("b", "c"), ("d",))
    assert (one.position, one.severity) == ("after", "warning")
    assert (one.valid_from, one.valid_to) == (date(2002, 10, 1), None)
    assert one.key != Policy.model_validate(tomllib.loads(RULE)).companions[0].key


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            RULE + "valid_from = 2002-10-01\nvalid_to = 2002-09-30\n",
            "valid_to 2002-09-30 must not be before valid_from",
        ),
        (RULE + "position = 'first'\n", "companions.0.position (line 5)"),
        (RULE + "unless = ['c']\n", "c of needs must not be in unless"),
        (RULE.replace('"b"', '"a"'), "a of if must not be in needs"),
        (RULE.replace("if =", "when ="), "companions.0.when"),
        (RULE.replace('["b", "c"]', "[]"), "companions.0.needs"),
        (RULE.replace('"A book."', '""'), "companions.0.source (line 4)"),
        (RULE + RULE, "entry 2 repeats an earlier one"),
    ],
)
def test_a_companion_rule_that_says_nothing_is_refused(
    tmp_path: Path, text: str, told: str
) -> None:
    with pytest.raises(PolicyError, match=re.escape(told)):
        load_policy(written(tmp_path, text))


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


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[person]\n", "a column of the sex or of the age must be named"),
        (PERSON.replace("male = [", "others = ["), "person.others"),
        (PERSON.replace('female = "F"\n', ""), "go together"),
        (PERSON.replace('sex = "gender"\n', "age = 'years'\n"), "go together"),
        (PERSON.replace('"1"', '"F"'), "F must mean female or male, not both"),
        (OF_PERSONS, "a rule must state a sex, or ages"),
        (OF_PERSONS + "sex = 'female'\nage_to = 3\n", "two rules state both"),
        (OF_PERSONS + "sex = 'woman'\n", "person_rules.0.sex (line 4)"),
        (OF_PERSONS + "age_from = -1\n", "person_rules.0.age_from (line 4)"),
        (OF_PERSONS + "age_from = 4\nage_to = 3\n", "age_to 3 must not be less than age_from 4"),
        (2 * (OF_PERSONS + "age_to = 3\n"), "entry 2 repeats an earlier one"),
    ],
)
def test_what_says_nothing_of_persons_is_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(PolicyError, match=re.escape(told)):
        load_policy(written(tmp_path, text))


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


# --- what the documentation says --------------------------------------------------------------

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "policy.md").read_text("utf-8")


def examples() -> list[str]:
    return re.findall(r"^```toml\n(.*?)^```", PAGE, re.M | re.S)


def test_the_example_of_the_page_is_a_policy(tmp_path: Path) -> None:
    (text,) = examples()
    policy = load_policy(written(tmp_path, text))
    stated = json.loads(json.dumps(tomllib.loads(text), default=str))

    assert policy.waivers[0].subtree == "460-519"
    assert policy.exclusive[0].severity == "error"
    Draft202012Validator(policy_schema()).validate(stated)
    with pytest.raises(ValidationError):
        Draft202012Validator(policy_schema()).validate({**stated, "surprise": 1})
    share = {"residual_share": {"value": 2, "reason": ""}}
    with pytest.raises(ValidationError):
        Draft202012Validator(policy_schema()).validate({**stated, **share})


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


@pytest.mark.parametrize(
    ("stated", "told"),
    [
        ('column = "day"', "code_dates.file"),
        ('file = "dates.csv"', "code_dates.column"),
        ('column = ""\nfile = "dates.csv"', "code_dates.column"),
        ('column = "day"\nfile = "dates.csv"\nspells = [["585"]]', "code_dates.spells"),
        ('column = "day"\nfile = "dates.csv"\nend = "last"', "code_dates.end"),
        ('column = "day"\nfile = "nowhere.csv"', "nowhere.csv: a file is required"),
        ('column = "day"\nfile = "dates.csv"', "a column named 'first' is required"),
    ],
)
def test_code_dates_that_cannot_be_read_are_refused(tmp_path: Path, stated: str, told: str) -> None:
    (tmp_path / "dates.csv").write_text("code,last\n585,2005-09-30\n")

    with pytest.raises(InputError) as caught:
        load_policy(written(tmp_path, f"[code_dates]\n{stated}\n"))
    assert told in str(caught.value)


def test_the_column_of_days_parts_no_instances_unless_it_is_named_again() -> None:
    dates = CodeDates(column="day", file="dates.csv")
    alone, again = Policy(code_dates=dates), Policy(code_dates=dates, drift=("day",))

    assert alone.columns == again.columns == ("day",)
    assert (alone.columns_of_values, again.columns_of_values) == (frozenset({"day"}), frozenset())


def test_columns_are_those_of_strata_and_drift_each_once(tmp_path: Path) -> None:
    policy = load_policy(written(tmp_path, 'strata = ["site", "ward"]\ndrift = ["year", "site"]\n'))

    assert policy.columns == ("site", "ward", "year")
    assert Policy().columns == ()
