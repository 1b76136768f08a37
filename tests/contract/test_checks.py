"""What every check keeps to, whatever it looks for."""

from __future__ import annotations

import ast
import math
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote, unquote

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import audit
from audit import CheckResult, Finding, Hierarchy, LabelDataset, Policy
from fixtures.coded import icd9cm
from fixtures.coded import measured as damaged_in
from fixtures.counted import counted_of, standing_alone
from fixtures.doors import Exclusion, Exclusions, made, read_entailment
from fixtures.entailed import measured_tuples
from fixtures.explained_releases import explained_release, thirty_nodes, write_release
from fixtures.labelled import labelled, repeated, tree
from fixtures.predicted import predicted
from fixtures.registered import (
    ALL_CHECKS,
    ANALYSES,
    CHECKS,
    ON_WAIVERS,
    SHALLOWER,
    Check,
    LabelDepths,
    Measurements,
    Reference,
    WaiverCheck,
    WaiverUse,
    built_in_policy,
    counted,
    filled,
    line_count,
    measure,
)
from fixtures.strategies import hierarchies, trees
from fixtures.tuple_files import SAMPLE

ROOT = Path(__file__).parents[2]
SEARCHED = [ROOT / "tests/laws/test_judgements.py", *(ROOT / "fixtures").glob("searches*.py")]
CASES = sorted((ROOT / "tests" / "cases" / "audit").rglob("*.toml"))
BUSY = tree(
    "lung heart < body",
    "tool < top",
    "body < top",
    "asthma other_lung < lung",
    "attack other_heart < heart",
    "saw hammer < tool",
    titles={"other_lung": "Other {things}", "other_heart": "Unspecified"},
    labelled_ancestors="fault",
)
BUSY = replace(
    BUSY,
    exclusions=Exclusions(
        "of May",
        (
            Exclusion("lung", ("tool",), "work with {things} (tool)", wide=False),
            Exclusion("tool", ("lung",), "lung (lung)", wide=False),
            Exclusion("body", ("saw",), "saw (saw)", wide=True),
        ),
    ),
)
COUNTS = [
    (40, ["other_lung"]), (35, ["other_heart", "saw"]), (9, ["asthma", "lung", "hammer"]),
    (4, ["elf:1", "no/such"]), (3, []), (2, ["saw", "attack", "saw"]),
]  # fmt: skip
RULED = Policy.model_validate(
    {
        "branch_rules": [
            {"branches": ("tool", "body"), "rule": "disjoint", "reason": "By rule."},
        ],
        "exclusive": [{"nodes": ("heart", "tool"), "reason": "By rule."}],
        "companions": [{"if": "other_lung", "needs": "heart", "source": "A {book}."}],
        "person": {"sex": "sex", "female": "F", "male": "M"},
        "person_rules": [{"nodes": "lung", "sex": "female", "source": "A {book}."}],
    }
)


@cache
def busy(order: int = 1) -> Measurements:
    labels = dict(list(repeated(COUNTS).items())[::order])
    reordered = {instance: given[::order] for instance, given in labels.items()}
    sexes = {"sex": {instance: "MFFU"[int(instance[1:]) % 4] for instance in labels}}
    return measure(labelled(BUSY, reordered, strata=sexes, persons=True), RULED)


@cache
def icd() -> Measurements:
    codes = ["4019", "401", "V202", "E8120", "40199", "000", "x", "25000"]
    rows = {f"i{n:02}": codes[n % 5 :] for n in range(50)}
    dataset = labelled(icd9cm(), rows, positions=True, table="diagnoses")
    return measure(dataset, built_in_policy("icd9cm"))


@cache
def damaged() -> Measurements:
    """Codes that lost a zero, stand in the wrong table, are retired, of another version, first."""
    labels = ["42", "25094", "3893", "J189", "0414", "4111", "389", "0389", "4019"]
    rows = {f"i{n:02}": ["E8120", *labels[n % 8 :]] for n in range(40)}
    procedures = {f"i{n:02}": ["3606", "3601", "360"] for n in range(20)}
    tables = {"diagnoses": rows, "procedures": procedures, "diagnoses-10": {"i00": ["I10"]}}
    return damaged_in(tables)


LEAVES = ("asthma", "hammer", "attack", "other_lung", "other_heart", "saw")


@cache
def modelled(order: int = 1) -> Measurements:
    """Two nodes taken for each other, a catch-all repeated, two branches brought together."""
    said = [
        (40, ["asthma"], ["hammer"]),
        (40, ["hammer"], ["asthma"]),
        (60, ["other_heart"], ["other_heart"]),
        (40, ["attack", "saw"], ["attack", "saw"]),
        (60, ["attack"], ["attack", "saw"]),
        *((5, [a], [b]) for a in LEAVES for b in LEAVES if a != b),
    ]
    each = [(labels, answers) for times, labels, answers in said for _ in range(times)]
    labels = {f"i{n:03}": given for n, (given, _) in list(enumerate(each))[::order]}
    scores = {f"i{n:03}": dict.fromkeys(answers, 1.0) for n, (_, answers) in enumerate(each)}
    dataset = labelled(BUSY, labels)
    return measure(dataset, Policy(), predicted(dataset, scores, set_valued=True))


@cache
def suspected(order: int = 1) -> Measurements:
    """Scores that are sure of their labels, some of another one and some of one that is missing."""
    sure = dict.fromkeys(LEAVES, 0.02)
    each = [([leaf], sure | {leaf: 0.9 + n / 500}) for n in range(20) for leaf in LEAVES]
    each += [
        (["asthma"], sure | {"other_lung": 0.95}),
        (["saw"], sure | {"saw": 0.95, "attack": 0.96}),
    ] * 9
    labels = {f"i{n:03}": given for n, (given, _) in list(enumerate(each))[::order]}
    scores = {f"i{n:03}": given for n, (_, given) in enumerate(each)}
    dataset = labelled(BUSY, labels)
    return measure(dataset, Policy(), predicted(dataset, scores))


@cache
def parted(order: int = 1) -> Measurements:
    """Records cut at five labels, entered twice, in both splits; a node of one site."""
    five = ["asthma", "other_lung", "attack", "other_heart", "saw"]
    said = [(40, five), (6, five[1:]), (5, five[2:]), (9, five[3:]), (70, ["other_lung"])]
    each = list(enumerate(given for times, given in said for _ in range(times)))
    labels = {f"i{n:03}": given for n, given in each[::order]}
    dataset = labelled(
        BUSY,
        labels,
        groups={instance: f"p{int(instance[1:]) // 2}" for instance in labels},
        splits={instance: "test" if instance < "i041" else "train" for instance in labels},
        strata={"site": {i: "ab"["i060" < i < "i095"] for i in labels}},
    )
    return measure(dataset, Policy())


@cache
def habits(order: int = 1) -> Measurements:
    """Two sites that share three labels; one writes attacks as the other heart disease."""
    labels = {f"i{n:03}": ["attack"] if n % 3 else ["other_heart"] for n in range(120)}
    labels |= {f"i{n:03}": ["other_heart"] if n % 3 else ["attack"] for n in range(120, 240)}
    dataset = labelled(
        BUSY,
        dict(list(labels.items())[::order]),
        strata={"site": {i: "ab"[i >= "i120"] for i in labels}},
    )
    return measure(dataset, Policy(coding_columns=("site",)))


@cache
def stays(order: int = 1) -> Measurements:
    """Persons with asthma on their first two stays, and on one of three later ones."""
    labels = {
        f"i{n:03}": ["asthma", "attack"] if n % 5 < 2 or n % 5 == n // 5 % 3 + 2 else ["saw"]
        for n in range(150)
    }
    dataset = labelled(
        BUSY,
        dict(list(labels.items())[::order]),
        groups={instance: f"p{int(instance[1:]) // 5}" for instance in labels},
        strata={"on": {i: f"2020-01-{int(i[1:]) % 5 + 1:02}" for i in labels}},
    )
    chronic = {"condition": "asthma", "nodes": "asthma", "sure": False}
    return measure(dataset, Policy.model_validate({"day": "on", "lifelong": [chronic]}))


@cache
def associated(order: int = 1) -> Measurements:
    """Specific labels beside specific ones at one site, catch-alls beside catch-alls at another."""
    said = [
        (60, ["asthma", "attack"]),
        (60, ["other_lung", "other_heart"]),
        (10, ["asthma", "other_heart"]),
        (10, ["other_lung", "attack"]),
    ]
    labels = dict(list(repeated(said).items())[::order])
    site = {instance: "b" if instance >= "i0060" else "a" for instance in labels}
    return measure(labelled(BUSY, labels, strata={"site": site}), Policy())


@cache
def shallower(order: int = 1) -> Measurements:
    """Labels at parents, where an earlier release had those below."""
    labels = {f"i{n:03}": ["lung"] if n % 3 else ["attack", "saw"] for n in range(90)}
    before = LabelDepths(np.array([0, 0, 0, 0, 150]), 90)
    dataset = labelled(BUSY, dict(list(labels.items())[::order]))
    without = measure(dataset, Policy()).residuals
    return measure(dataset, Policy(), reference=Reference(without, before))


def on_toy(labels: dict[str, list[str]]) -> Measurements:
    from fixtures.toy import toy

    return measure(labelled(toy(), labels), Policy())


def on_one_node(labels: dict[str, list[str]]) -> Measurements:
    import polars as pl

    edges = pl.DataFrame(schema={"child": pl.String, "parent": pl.String})
    hierarchy = Hierarchy.build(edges, pl.DataFrame({"node": ["only"]}), name="one")
    return measure(labelled(hierarchy, labels), Policy(labelled_ancestors="fault"))


DATASETS = {
    "toy": cache(lambda: on_toy({"a": ["dog", "pet"], "b": ["cow", "tool", "elf"], "c": []})),
    "without labels": cache(lambda: on_toy({"a": [], "b": []})),
    "all refused": cache(lambda: on_toy({"a": ["elf"], "b": ["orc"]})),
    "one node": cache(lambda: on_one_node({"a": ["only"], "b": []})),
    "one node without labels": cache(lambda: on_one_node({"a": []})),
    "busy": busy,
    "icd9cm": icd,
    "damaged": damaged,
    "modelled": modelled,
    "suspected": suspected,
    "parted": parted,
    "associated": associated,
    "stays": stays,
    "habits": habits,
}


RICH = (*(busy, icd, damaged, modelled, suspected, parted, associated, stays, habits), shallower)
"""Datasets that make checks find something; each is measured once for all tests."""


@cache
def results() -> tuple[CheckResult, ...]:
    return tuple(check.run(make()) for make in RICH for check in CHECKS)


def found() -> Iterator[Finding]:
    for result in results():
        yield from result.findings


def test_names_are_unique() -> None:
    assert max(Counter(check.name for check in ALL_CHECKS).values()) == 1


def test_a_title_is_one_question() -> None:
    for check in CHECKS:
        assert check.title.endswith("?")
        assert "\n" not in check.title
        assert check.title[0].isupper()


def test_it_runs_on_any_dataset_or_says_why_it_does_not_apply() -> None:
    for check in CHECKS:
        for name, make in DATASETS.items():
            result = check.run(make())

            assert (result.name, result.title) == (check.name, check.title), name
            assert result.denominator >= 0, name
            assert result.denominator_unit, name
            assert not result.crashed, name
            assert all(finding.check == check.name for finding in result.findings), name
            if result.not_applicable:
                assert (result.status, result.findings) == ("not_applicable", ()), name


@pytest.mark.parametrize("name", ["without labels", "one node without labels"])
def test_without_labels_it_finds_nothing_but_their_lack(name: str) -> None:
    for check in CHECKS:
        lack = ("note",) if check.name == "empty_instance" else ("pass", "not_applicable")
        assert check.run(DATASETS[name]()).status in lack


def test_the_order_of_rows_changes_nothing() -> None:
    for check in CHECKS:
        for make in (busy, *RICH[3:]):
            first, second = check.run(make()), check.run(make(-1))

            assert second == first
            assert [finding.id for finding in second.findings] == [f.id for f in first.findings]


def tables_of(measured: Measurements) -> tuple[pl.DataFrame, ...]:
    return measured.pairs.frame.collect(), measured.residuals, measured.nodes


def test_it_does_not_modify_what_it_looks_at() -> None:
    measured = busy.__wrapped__()
    before = [table.clone() for table in tables_of(measured)]
    values = measured.loaded.aggregated.toarray()
    for check in CHECKS:
        check.run(measured)

        after = tables_of(measured)
        assert all(a.equals(b) for a, b in zip(after, before, strict=True)), check.name
        assert (measured.loaded.aggregated.toarray() == values).all(), check.name


def test_every_check_finds_something_somewhere() -> None:
    silent = {check.name for check in CHECKS} - {finding.check for finding in found()}
    assert not silent, "put a dataset in which they find something into RICH"


def test_ids_are_unique_and_their_parts_percent_encoded() -> None:
    for result in results():
        ids = [finding.id for finding in result.findings]
        assert len(set(ids)) == len(ids)
        for finding in result.findings:
            parts = finding.id.split(":")
            assert parts == [quote(unquote(part), safe="") for part in parts]
            assert [unquote(part) for part in parts][1:] == list(finding.key or finding.nodes)


def test_every_placeholder_of_a_statement_has_its_evidence() -> None:
    for finding in found():
        named = set(re.findall(r"\{(\w+)\}", finding.statement)) - {"things", "book", "mostly"}
        assert named
        assert named <= set(finding.evidence), finding.id


NOUNS = "instances|rows|nodes|labels|pairs|classes|records|groups|codes|findings"
WRONG_AT_ONE = (
    rf"\b1 ((different|dated|repeated|other|more) )?({NOUNS})\b",
    r"\b1 different \w+s\b",
    r"(?:^|[.;:] )1 of 1 [^.;:]*\) (have|carry|stand|are|were|lack)\b",
    r"\b1 \w+ (that )?(have|carry|stand|are|were|count|never occur) ",
)
WRONG_AT_MORE = (
    r"\b(2|than 11) ((different|dated|repeated|other|more) )?(instance|row|node|label|pair)\b",
    r"(?:^|[.;:] )(2|than 11) of 2 [^.;:]*\) (has|carries|stands|is|was|lacks)\b",
    rf"\b(2|than 11) ({NOUNS}) (that )?(has|carries|stands|is|was|counts|never occurs) ",
)
LEAST_TWO = {"group_confined", "missing_stratum", "waiver_unused"}
"""Checks whose counts are never one: they need several, or tell of none."""


def read_at(statement: str, value: int, few: str = "") -> str:
    """A statement with each count in it at a value; or as few, but for the whole."""
    names = set(re.findall(r"\{(\w+)[|}]", statement)) - {"things", "book", "mostly"}
    evidence: dict[str, int | float | str | None] = dict.fromkeys(names, value)
    shares = {name for name in names if name.endswith("share")}
    evidence |= dict.fromkeys(shares, None if few else 1 / value)
    said = dict.fromkeys(names - shares - {"of", "classes"}, few) if few else {}
    return filled(statement, evidence, said)


def templates() -> Iterator[tuple[str, str]]:
    """Every sentence with a placeholder in the source of a check, as far as it stands there."""
    for path in sorted((ROOT / "audit" / "checks").glob("[rs]*/**/*.py")):
        joined = [
            node for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.JoinedStr | ast.Constant)
        ]  # fmt: skip
        parts = {
            id(part) for node in joined if isinstance(node, ast.JoinedStr) for part in node.values
        }
        for node in joined:
            text = _text_of(node) if id(node) not in parts else ""
            if re.search(r"\{\w+\}", text) and "``" not in text:
                yield path.stem, text


def _text_of(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_text_of, node.values))
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else "X"


STATEMENTS = sorted({*templates()})


def test_a_statement_in_the_source_reads_rightly_at_one_and_at_more() -> None:
    for name, text in STATEMENTS:
        at_one = "" if name in LEAST_TWO else read_at(text, 1)

        assert [wrong for wrong in WRONG_AT_ONE if re.search(wrong, at_one)] == [], at_one
        for few in ("", "fewer than 11"):
            at_more = read_at(text, 2, few)
            assert [wrong for wrong in WRONG_AT_MORE if re.search(wrong, at_more)] == [], at_more


def test_a_finding_reads_rightly_at_one_and_at_more() -> None:
    for finding in found():
        at_one = "" if finding.check in LEAST_TWO else read_at(finding.statement, 1)
        assert [wrong for wrong in WRONG_AT_ONE if re.search(wrong, at_one)] == [], at_one
        for few in ("", "fewer than 11"):
            at_more = read_at(finding.statement, 2, few)
            assert [wrong for wrong in WRONG_AT_MORE if re.search(wrong, at_more)] == [], at_more


NOT_ALWAYS = {*("share", "ratio", "difference", "end", "mean", "factor", "estimate", "chance")}
"""Kinds of numbers that are left out where too few are counted, or everywhere."""


def test_what_is_not_always_told_stands_where_it_may_be_left_out() -> None:
    kinds = {check.name: check for check in ALL_CHECKS if isinstance(check, Check)}
    for finding in (*found(), *of_analyses()):
        bare = re.sub(r"\[[^]]*\]|\(\{\w*share\}\)", "", finding.statement)
        named = finding.evidence.keys() & {*re.findall(r"\{(\w+)\}", bare)}
        declared = kinds[finding.check].evidence
        assert NOT_ALWAYS.isdisjoint(declared[name].kind for name in named), finding.statement


CONSTANTS = r"95%|\b5 or more|accuracy 0\.9|0\.5\b|\b\d of \d votes"
NAMED = r"\{[^}]*\}|“[^”]*”|'[^']*'|\([^)]*\)|The rule:.*|\b[A-Z]\S*\d\S*|version \d+|\d\d\.\d+"


def test_every_number_in_a_sentence_is_in_its_evidence() -> None:
    """But for constants, and numbers in names of nodes and editions, in quotations and rules."""
    for finding in found():
        assert not re.search(r"\d", re.sub(f"{NAMED}|{CONSTANTS}", "", finding.statement))


def test_a_denominator_of_one_reads_rightly() -> None:
    units = {result.denominator_unit for result in results()}

    for told in (counted(1, unit) for unit in units):
        assert not re.search(rf"\b1 (dated )?({NOUNS}|parents|columns|waivers)\b", told), told


def test_every_number_of_a_finding_and_its_parts_is_declared() -> None:
    kinds = {check.name: check for check in ALL_CHECKS if isinstance(check, Check)}
    for finding in (*found(), *of_analyses()):
        check = kinds[finding.check]
        assert {*finding.evidence} <= {*check.evidence}, finding.id
        for part in finding.parts:
            assert {*part.evidence} <= {*check.of_parts}, finding.id


def test_a_finding_says_what_both_readers_should_do() -> None:
    for finding in found():
        assert finding.curator.endswith(".")
        assert finding.data_user.endswith(".")
        assert finding.statement.rstrip("] ").endswith(".")
        assert finding.touched > 0
        assert finding.nodes


def test_parts_stand_largest_first_and_are_at_most_ten() -> None:
    for finding in found():
        sizes = [line_count(part.evidence) or 0 for part in finding.parts]
        assert sizes == sorted(sizes, reverse=True)
        assert len(sizes) <= 10


def test_columns_speak_of_evidence_that_findings_have() -> None:
    for check in CHECKS:
        there = {name for one in found() if one.check == check.name for name in one.evidence}

        names: dict[str, set[str]] = {}
        for column in check.evidence.values():
            names.setdefault(column.heading, set()).add(column.name)
        for heading, of in names.items():
            assert not heading or of & there, heading


def with_cases(measured: Measurements) -> Iterator[tuple[Finding, list[int]]]:
    for check in CHECKS:
        assert check.cases, check.name
        for finding in check.run(measured).findings:
            yield finding, check.cases(measured, finding).tolist()


def told_wrong(measured: Measurements) -> list[str]:
    """Findings whose cases are not as many instances of the dataset, in its order, as they tell.

    They tell so as evidence, and none of their lines tells more. Findings on rows tell rows alone,
    of instances only those with each label: an instance may have several, and a row may name none.
    """
    wrong = []
    for finding, cases in with_cases(measured):
        in_order = cases == sorted(set(cases)) and set(cases) <= set(range(measured.n_instances))
        told = finding.evidence.get("instances")
        lines = [int(part.evidence.get("instances") or 0) for part in finding.parts]
        as_many = len(cases) <= finding.touched if told is None else len(cases) == told
        as_many = as_many and max(lines, default=0) <= len(cases)
        if not (in_order and as_many):
            wrong.append(finding.id)
    return wrong


@pytest.mark.parametrize("name", DATASETS)
def test_there_are_as_many_cases_as_a_finding_tells_instances(name: str) -> None:
    assert told_wrong(DATASETS[name]()) == []


def test_cases_are_those_that_a_finding_touches_unless_it_compares_or_counts_rows() -> None:
    """A residual share that differs touches all below the parent; its cases are the residual.

    A loss of depth touches all with labels; its cases are those that lie less deep.
    """
    for make in RICH:
        for finding, cases in with_cases(make()):
            compares = finding.check == "residual_overuse" and bool(finding.key)
            compares |= (finding.check, finding.key) == SHALLOWER
            assert compares or "rows" in finding.evidence or finding.touched == len(cases)


WAIVED = {
    "check": "*",
    "node": "a",
    "owner": "Office",
    "reason": "Old.",
    "expires": date(2030, 1, 1),
}
(WAIVER,) = Policy.model_validate({"waivers": [WAIVED]}).waivers
USES = (WaiverUse(WAIVER, expired=True, findings=2), WaiverUse(WAIVER, expired=False, findings=0))


def test_a_check_on_waivers_keeps_to_the_same() -> None:
    for check in ON_WAIVERS:
        result, without = check.run(USES), check.run(())
        (finding,) = result.findings

        assert (
            (result.name, result.title)
            == (without.name, without.title)
            == (check.name, check.title)
        )
        assert without.status == "not_applicable"
        assert check.title.endswith("?")
        assert finding.check == check.name
        assert set(re.findall(r"\{(\w+)\}", finding.statement)) == set(finding.evidence)
        assert all(s.endswith(".") for s in (finding.statement, finding.curator, finding.data_user))
        assert finding.nodes == ("a",)


LAWS = sorted((ROOT / "tests" / "laws").glob("*.py"))


def test_it_says_what_it_tells_and_has_a_test_of_its_own() -> None:
    for check in ALL_CHECKS:
        first, _, rest = (check.rule.__doc__ or "").partition("\n\n")
        assert first.endswith("."), f"{check.name}: say what it tells, when, and how it misleads"
        assert "**Severity.**" in rest, check.name
        room = next((kind.name for kind in ANALYSES if check in kind.checks), "")
        if room:
            shelf = [*(ROOT / "tests" / "kernels" / room).rglob("*.py"), *LAWS]
            for files in ((ROOT / "audit" / "analyses" / room).rglob("*.py"), shelf):
                assert any(check.name in path.read_text("utf-8") for path in files), check.name
        else:
            search = f'("{check.name}", ' if check in ON_WAIVERS else f"def {check.name}("
            searched = any(search in path.read_text("utf-8") for path in SEARCHED)
            told = any(f'["{check.name}:' in path.read_text("utf-8") for path in CASES)
            assert searched or told, f"write a search for {check.name}, or a case that finds it"
            named = sys.modules[check.rule.__module__].__doc__ or ""
            assert isinstance(check, WaiverCheck) or check.name in named, (
                "say in which module it is"
            )


def test_the_dataset_without_labels_has_instances() -> None:
    dataset: LabelDataset = DATASETS["without labels"]().loaded.dataset

    assert (dataset.ledger.instances, dataset.ledger.instances_without_labels) == (2, 2)


ON_COUNTS = tuple(check for check in CHECKS if check.needs == "counts")
TOLD_OTHERWISE = {"residual_overuse": {"folded_into": ()}, "cross_branch": {"parts": ()}}
"""What counts tell in a way of their own: the checks' own tests say how."""


@cache
def both_ways(name: str) -> tuple[Measurements, Measurements]:
    measured = standing_alone(DATASETS[name]())
    return measured, counted_of(measured)


def alike(result: CheckResult) -> CheckResult:
    """The result without what counts tell otherwise, or do not tell: records beside each other."""
    bare = TOLD_OTHERWISE.get(result.name, {})
    told = [f for f in result.findings if f.check != "duplicates" or f.key == ("labels",)]
    return replace(result, findings=tuple(replace(f, **bare) for f in told))  # type: ignore[arg-type]


def same_on_counts(check: Check, measured: Measurements, counted: Measurements) -> bool:
    return alike(check.run(counted)) == alike(check.run(measured))


def test_checks_on_counts_are_those_that_look_at_no_instance_beside_another() -> None:
    assert [check.name for check in ON_COUNTS] == [
        "unknown_code", "malformed_code", "lost_zero", "wrong_table", "retired_code",
        "mixed_versions", "not_specific", "parent_and_child", "duplicates", "empty_instance",
        "record_cap", "residual_overuse", "cross_branch", "unexpected_pair", "redundant_nodes",
    ], "name a new one here; one that looks at instances says needs='instances'"  # fmt: skip


@pytest.mark.parametrize("name", DATASETS)
def test_on_counts_it_tells_the_same(name: str) -> None:
    measured, counted = both_ways(name)

    assert [c.name for c in ON_COUNTS if not same_on_counts(c, measured, counted)] == []


def test_on_counts_it_finds_something_somewhere() -> None:
    for check in ON_COUNTS:
        assert any(check.run(both_ways(name)[1]).findings for name in DATASETS)


@st.composite
def releases(draw: st.DrawFn) -> Measurements:
    """Any labels, repeated and refused ones too, under a policy that reports nearly everything."""
    hierarchy = draw(st.one_of(trees(), hierarchies()))
    nodes = st.sampled_from(hierarchy.nodes)
    label = st.one_of(nodes, nodes, nodes, st.sampled_from(["no such node", None]))
    sets = st.tuples(st.sampled_from([1, 2, 25]), st.lists(label, max_size=5))
    drawn = draw(st.lists(sets, min_size=1, max_size=5))
    each = [labels for times, labels in drawn for _ in range(times)]
    rule = {
        "branches": ("*", "*"),
        "rule": draw(st.sampled_from(["watch", "disjoint"])),
        "reason": "So.",
        "break_down_depth": draw(st.sampled_from([None, 1, 2])),
    }
    limits = {"residual_instances": 1, "residual_share": 0.1, "least_joint": 2, "excess_ratio": 1}
    limits |= {"false_discovery_rate": 0.5}
    policy = Policy.model_validate(
        {
            "labelled_ancestors": "fault",
            "residual_nodes": sorted(draw(st.sets(nodes))),
            "branch_rules": [rule],
            **{name: {"value": value, "reason": ""} for name, value in limits.items()},
        }
    )
    return measure(labelled(hierarchy, {f"i{n:03}": own for n, own in enumerate(each)}), policy)


@given(releases())
def test_on_counts_of_any_release_it_tells_the_same(measured: Measurements) -> None:
    counted = counted_of(measured)

    assert [c.name for c in ON_COUNTS if not same_on_counts(c, measured, counted)] == []


@given(releases())
def test_of_any_release_there_are_as_many_cases_as_a_finding_tells(measured: Measurements) -> None:
    assert told_wrong(measured) == []


def test_what_needs_the_instances_says_so_on_counts_and_nothing_else_does() -> None:
    for check in CHECKS:
        counted = both_ways("busy")[1]
        result = check.run(counted)

        if check.needs == "counts":
            assert result == check.run(counted)
        else:
            assert (result.name, result.title, result.denominator) == (check.name, check.title, 0)
            assert (result.status, result.findings) == ("not_applicable", ())
            assert "one by one" in result.not_applicable


BY_A_BOUND = {
    "residual_overuse", "redundant_nodes", "chronic_gap", "duplicates",
    "methods_disagree", "evidence_ignored",
}  # fmt: skip
"""Checks that report where the end of an interval is beyond a limit."""
WITHOUT_LIMIT = {
    "empty_instance", "excludes1", "sibling_exclusive", "malformed_code",
    "parent_and_child", "cross_branch", "unknown_code", "retired_code", "missing_companion",
}  # fmt: skip


@cache
def of_analyses() -> tuple[Finding, ...]:
    with TemporaryDirectory() as held:
        rows = explained_release(1, hierarchy=thirty_nodes(), ignored="b", instances=130)
        path, tree, _ = write_release(Path(held), rows, thirty_nodes())
        made("explanations", path, "--hierarchy", tree, "--no-pdf", "--out", Path(held) / "run")
        explained = audit.read_run(Path(held) / "run").checks
    tuples = measured_tuples(
        read_entailment(SAMPLE / "tuples.csv", columns={"votes": "worker_*"}).tuples
    )
    told = [
        one.run(tuples)
        for one in ALL_CHECKS
        if isinstance(one, Check) and one.reads in tuples.analyses
    ]
    return tuple(f for result in (*explained, *told) for f in result.findings)


def test_every_finding_says_how_many_times_its_limit_it_is() -> None:
    every = [*found(), *of_analyses()]

    assert all(math.isfinite(one.beyond) and one.beyond >= 0 for one in every)
    of_bounds = [f for f in every if f.check in BY_A_BOUND and "difference" not in f.evidence]
    assert [(f.id, f.beyond) for f in of_bounds if f.beyond < 1] == []
    assert {f.check for f in of_bounds if f.beyond > 1} >= {
        *("residual_overuse", "redundant_nodes", "chronic_gap", "duplicates"),
        "evidence_ignored",
    }
    assert {f.beyond for f in every if f.check in WITHOUT_LIMIT} == {1.0}
