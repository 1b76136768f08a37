"""lost_zero: codes that are codes only with a zero, and code sets that have none left."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import audit
from audit.checks.shared.written_labels import UNEXPLAINED, written_labels
from audit.hierarchies.icd.built_in import ICD9CM_NODES
from audit.hierarchies.lint import lint
from audit.hierarchies.titles import TitleList, read_titles, with_titles
from audit.measure.measure import measure
from audit.policy.policy import Policy
from audit.policy.statements import Threshold
from fixtures.checked import CHECK_OF
from fixtures.coded import Tables, icd9cm, measured, of_release
from fixtures.labelled import labelled
from fixtures.synthetic import (
    LostZeros,
    icd9cm_usage,
    make_release,
    with_procedures,
)

CHECK = CHECK_OF["lost_zero"]


def many(label: str, times: int) -> dict[str, list[str]]:
    return {f"n{number:05}": [label] for number in range(times)}


def test_a_label_that_is_a_code_only_with_its_zero_is_found() -> None:
    labels = {"a": ["4019", "42", "0389"], "b": ["42", "7999 "], "c": ["19"]}
    (finding,) = CHECK.run(measured({"diagnoses": labels})).findings

    assert (finding.id, finding.severity) == ("lost_zero:diagnoses", "warning")
    assert finding.evidence == {
        "rows": 3, "of": 6, "share": 0.5, "labels": 2, "ambiguous": 0,
    }  # fmt: skip
    assert [(p.nodes, p.evidence["may_stand_for"]) for p in finding.parts] == [
        (("42",), "Shigella boydii (004.2) or Human immunodeficiency virus [HIV] disease (042)"),
        (("19",), "Cholera, unspecified (001.9)"),
    ]


NOT_LOST = {
    "4111": "a valid code, and 041.11 with its zero",
    "389": "a heading, and 038.9 with its zero",
    "8": "008 is a heading: a label may not be it",
    "0380": "it has its zero",
    "019": "no code, and 001.9 with another zero, but it has one",
    "4019": "04.019 is no code",
    "N/A": "no digits",
    "V10": "V codes never start with 0",
}


def test_what_can_be_read_otherwise_or_not_at_all_is_no_finding() -> None:
    asked = measured({"diagnoses": {label: [label, "42"] for label in NOT_LOST}})
    (finding,) = CHECK.run(asked).findings

    assert finding.nodes == ("42",)


def test_a_heading_lost_its_zero_where_the_code_stands_with_it_in_other_rows() -> None:
    diagnoses = {"a": ["0389", "389"], "b": ["389", "4019"], "c": ["0414", "414"], "d": ["470"]}
    (finding,) = CHECK.run(measured({"diagnoses": diagnoses})).findings

    assert (finding.evidence["rows"], finding.evidence["ambiguous"]) == (3, 0)
    assert {p.nodes[0]: p.evidence["may_stand_for"] for p in finding.parts} == {
        "389": "Unspecified septicemia (038.9)",
        "414": "Escherichia coli [E. coli] infection in conditions classified elsewhere and of "
        "unspecified site (041.4)",
    }


SHIGELLA = "Shigella dysenteriae (004.0)"
VESSEL = "Procedure on single vessel (00.40)"


def told(tables: Tables) -> dict[str, object]:
    """What each label that lost zeros may stand for."""
    return {
        part.nodes[0]: part.evidence["may_stand_for"]
        for finding in CHECK.run(measured(tables)).findings
        for part in finding.parts
    }


@pytest.mark.parametrize("label", ["40", "40.0"])
def test_readings_stay_within_the_code_set_of_the_table(label: str) -> None:
    tables = {"procedures": {"a": [label, "3893"]}, "diagnoses": {"a": ["4019"]}}

    assert told(tables) == {label: VESSEL}


@pytest.mark.parametrize(
    ("beside", "stands_for"),
    [
        (["4019", "25000"], SHIGELLA),
        (["3893", "8856"], VESSEL),
        (["25000", "8856"], f"{VESSEL} or {SHIGELLA}"),
    ],
)
def test_without_a_table_the_code_sets_of_the_other_labels_are_taken(
    beside: list[str], stands_for: str
) -> None:
    assert told({None: {"a": ["40", *beside]}}) == {"40": stands_for}


def test_a_category_of_diagnoses_may_have_been_a_code_one_of_procedures_never() -> None:
    assert told({"diagnoses": {"a": ["389", "4019"]}}) == {}
    assert told({"procedures": {"a": ["40", "3893"]}}) == {"40": VESSEL}


@pytest.mark.parametrize(
    ("table", "label", "stands_for"),
    [
        ("procedures", "0.4", VESSEL),
        ("procedures", ".4", None),
        ("diagnoses", "8.8", "Intestinal infection due to other organism, not elsewhere "
         "classified (008.8)"),
        ("diagnoses", "42.0", "Human immunodeficiency virus [HIV] disease (042)"),
        ("diagnoses", "250.0", None),
    ],
)  # fmt: skip
def test_zeros_are_put_back_at_both_ends_of_codes_with_dots(
    table: str, label: str, stands_for: str | None
) -> None:
    """250.0 may stand for 250.00, but is a heading, and may have been a code."""
    found = told({table: {"a": [label, "38.93" if table == "procedures" else "401.9"]}})

    assert found == ({label: stands_for} if stands_for else {})


def test_what_a_dictionary_lists_is_a_code_and_read_no_other_way(tmp_path: Path) -> None:
    """The file lacks 845, and has 008.45, which 845 may stand for."""
    file = tmp_path / "ICD9_descriptions"
    file.write_text("@\tALL\n000-999.99\tX\n008\tY\n008.4\tB\n008.45\tC\n")
    hierarchy = audit.load_hierarchy(file)
    listed = TitleList("diagnoses", pl.DataFrame({"code": ["845"], "title": ["D"]}))
    rows = {"diagnoses": {"a": ["845", "4019"]}}

    assert CHECK.run(measured(rows, hierarchy)).status == "warn"
    assert CHECK.run(measured(rows, with_titles(hierarchy, [listed]))).status == "pass"


@pytest.mark.parametrize("table", ["diagnoses", "procedures"])
@pytest.mark.parametrize(
    "damage",
    [
        lambda code: str(int(code.replace(".", ""))),
        lambda code: str(float(code.replace(".", ""))),
        lambda code: str(float(code)),
        lambda code: f"{float(code):g}",
    ],
    ids=["int", "float", "dotted float", "dotted number"],
)
def test_each_code_that_a_number_damaged_is_among_those_that_it_may_stand_for(
    table: str, damage: Callable[[str], str]
) -> None:
    """The numbers are made by Python's own; those that are a code again can never be told."""
    frame = pl.read_csv(gzip.decompress(ICD9CM_NODES.read_bytes()), infer_schema=False)
    shape = r"^0\d\.\d+$" if table == "procedures" else r"^0\d\d(\.\d+)?$"
    codes = frame.filter((pl.col("assignable") == "true") & pl.col("node").str.contains(shape))
    undamaged = "99.99" if table == "procedures" else "401.9"
    labels = {damage(code) for code in codes["node"]}
    dotted = damage("99.99") == "99.99"
    beside = undamaged if dotted else undamaged.replace(".", "")
    asked = measured({table: {"a": sorted(labels), "b": [beside]}})
    again = written_labels(asked).select("label", "with_zeros", "may_be_valid").rows()
    found = {label: set(zeros) for label, zeros, _ in again}
    valid = {label for label, zeros, may in again if may and not zeros}

    for code in codes["node"]:
        label = damage(code)
        assert code in found[label] or label in valid


@pytest.mark.parametrize(("beside", "found"), [("42", True), ("3893", False), ("4019", False)])
def test_where_two_faults_explain_a_label_the_surer_one_does(beside: str, found: bool) -> None:
    """7054 is 070.54 without its zero, or procedure 70.54 in the table of diagnoses."""
    asked = measured({"diagnoses": {"a": ["7054", beside]}})
    told = [part.nodes for f in CHECK.run(asked).findings for part in f.parts]

    assert (("7054",) in told) is found


def test_no_zero_where_twenty_are_expected_is_one_finding() -> None:
    labels = many("4019", 997) | {"a": ["389"], "b": ["389"], "c": ["42"]}
    (finding,) = CHECK.run(measured({"diagnoses": labels})).findings

    assert finding.id == "lost_zero:diagnoses:all"
    assert finding.evidence == {"of": 1000, "expected_rows": 20, "rows": 1, "ambiguous": 2}
    assert [part.nodes for part in finding.parts] == [("389",), ("42",)]


@pytest.mark.parametrize("beside", ["0389", "038.9", " 0389", "07"])
def test_one_zero_anywhere_clears_the_release(beside: str) -> None:
    labels = many("4019", 2000) | {"z": [beside]}

    assert CHECK.run(measured({"diagnoses": labels})).status == "pass"


@pytest.fixture(scope="module")
def published() -> pl.DataFrame:
    """Diagnoses of the published list, without dots: ``code, assignable``."""
    nodes = pl.read_csv(gzip.decompress(ICD9CM_NODES.read_bytes()), infer_schema=False)
    return nodes.filter(pl.col("node").str.contains(r"^\d{3}(\.|$)")).select(
        pl.col("node").str.replace(".", "", literal=True).alias("code"),
        pl.col("assignable") == "true",
    )


@pytest.fixture(scope="module")
def numbers(published: pl.DataFrame) -> list[str]:
    """Every assignable code that starts with 0, as a number."""
    codes = published.filter(pl.col("assignable") & pl.col("code").str.starts_with("0"))["code"]
    return [str(int(code)) for code in codes]


def test_of_1064_codes_read_as_numbers_322_are_another_code_and_344_a_heading(
    published: pl.DataFrame, numbers: list[str]
) -> None:
    """Counted from the published list alone, without the rules of spelling."""
    is_code = dict(published.iter_rows())
    found = [is_code.get(number) for number in numbers]

    assert (len(found), found.count(True), found.count(False), found.count(None)) == (
        1064, 322, 344, 398,
    )  # fmt: skip


def test_of_1064_codes_read_as_numbers_398_are_no_code_and_are_found(
    published: pl.DataFrame, numbers: list[str]
) -> None:
    asked = measured(
        {"diagnoses": {f"i{n:04}": [number] for n, number in enumerate(numbers)}},
        policy=Policy(leading_zero_rows=Threshold(value=1000, reason="Labels alone are asked.")),
    )
    (finding,) = CHECK.run(asked).findings
    gone = set(numbers) - set(published["code"])

    assert finding.evidence == {
        "rows": 398, "of": 1064, "share": 398 / 1064, "labels": len(gone), "ambiguous": 344,
    }  # fmt: skip
    assert written_labels(asked).filter(UNEXPLAINED).is_empty()


@pytest.mark.slow
def test_planted_zeros_are_found_where_no_code_is_left_or_a_heading_beside_its_code(
    published: pl.DataFrame,
) -> None:
    hierarchy = with_procedures(icd9cm())
    usage = icd9cm_usage(hierarchy, seed=5, diagnoses=1500)
    clean, faulty = (
        make_release(hierarchy, instances=1500, seed=5, usage=usage, faults=faults)
        for faults in ((), (LostZeros(count=60),))
    )
    rewritten = faulty.rows.filter(pl.col("row").is_in(faulty.planted[0].rewritten))
    without_dot = rewritten["label"].str.replace(".", "", literal=True)
    others = faulty.rows.filter(~pl.col("row").is_in(faulty.planted[0].rewritten))["label"]
    stand = others.str.replace(".", "", literal=True).implode()
    beside = pl.any_horizontal((zeros + without_dot).is_in(stand) for zeros in ("0", "00"))
    codes = published.filter("assignable")["code"].implode()
    listed = without_dot.is_in(published["code"].implode())
    headings = rewritten.select(beside & listed & ~without_dot.is_in(codes)).to_series().sum()
    gone = len(rewritten) - listed.sum()
    (finding,) = CHECK.run(of_release(faulty)).findings

    assert CHECK.run(of_release(clean)).status == "pass"
    assert 0 < gone < gone + headings < 60
    assert finding.evidence["rows"] == gone + headings


def test_a_code_of_two_titles_is_told_of_any_hierarchy_and_by_lint(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("child,parent\nr1,r\nr2,r\n")
    path = tmp_path / "titles.csv"
    path.write_text("code,title\nr1,One\nr1,Two\nr2,Three\n")
    hierarchy = with_titles(audit.load_hierarchy(tmp_path / "edges.csv"), [read_titles(path)])
    (finding,) = CHECK.run(measure(labelled(hierarchy, {"a": ["r1"]}), Policy())).findings
    lints = {one.rule: one for one in lint(tmp_path / "edges.csv", titles=[path]).findings}

    assert finding.parts[0].evidence["may_stand_for"] == "One or Two"
    assert lints["two_titles"].cases == (("r1", "One", "Two"),)
