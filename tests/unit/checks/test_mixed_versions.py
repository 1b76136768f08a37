"""mixed_versions: rows marked as, or shaped like, another version; never V and E codes."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import audit
from audit.base.readings import AskedError
from audit.checks.rules.mixed_versions import CHECK
from audit.counting.file import count_pairs
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.icd9 import has_shape_of_icd10_alone, readings
from audit.measure.measure import measure
from audit.policy.policy import Policy
from fixtures.coded import measured
from fixtures.labelled import labelled


def test_rows_of_the_tables_of_another_version_are_counted() -> None:
    tables = {"diagnoses": {"a": ["4019"]}, "diagnoses-10": {"a": ["I10", "E119"], "b": ["I10"]}}
    found = CHECK.run(measured(tables))
    (finding,) = found.findings

    assert (finding.id, finding.severity) == ("mixed_versions:marked", "warning")
    assert (found.denominator, found.denominator_unit) == (4, "rows")
    assert [finding.evidence[name].value for name in ("rows", "of", "labels")] == [3, 4, 2]


def test_mimic_iv_says_which_version_a_row_is_of(tmp_path: Path) -> None:
    (tmp_path / "diagnoses_icd.csv").write_text(
        "subject_id,hadm_id,seq_num,icd_code,icd_version\n"
        "1,11,1,4019,9\n1,11,2,V700,9\n2,12,1,I10,10\n2,12,2,E119,10\n"
    )
    asked = measure(audit.load_labels(tmp_path, "icd9cm"), Policy())
    (finding,) = CHECK.run(asked).findings

    assert finding.id == "mixed_versions:marked"
    assert finding.evidence["rows"].value == 2


@pytest.mark.parametrize("table", ["diagnoses", None])
def test_the_shape_of_another_version_alone_is_found(table: str | None) -> None:
    shaped = ["0SRB04Z", "C7A00", "E11.9", "I10", "J18.9", "J189", "M1A.0", "i10"]
    found = measured({table: {"a": [*shaped, "4019"]}}, codes=() if table else "as-written")
    (finding,) = CHECK.run(found).findings

    assert (finding.id, finding.severity) == ("mixed_versions:shaped", "warning")
    assert finding.evidence["rows"].value == len(shaped)
    assert sorted(finding.nodes) == shaped


def test_rows_that_their_column_is_read_as_are_told_with_those_that_are_marked() -> None:
    tenth = ["I10", "J189", "E119", "E875", "N179", "M1A00X0"]
    labels = [*tenth, "4019", "25000", "42731", "5849"]
    (finding,) = CHECK.run(measured({None: {"a": labels}})).findings

    assert finding.id == "mixed_versions:marked"
    assert sorted(finding.nodes) == sorted(tenth)


def test_codes_of_both_versions_and_what_is_no_code_are_no_evidence() -> None:
    both = ["E119", "V700", "V99", "E000"]
    none = ["4019", "000", "40I9", "N/A", "0210093", "I"]

    assert CHECK.run(measured({"diagnoses": {"a": [*both, *none]}})).status == "pass"


@given(st.text(alphabet="0123456789AEIOVZ.", max_size=8))
def test_no_text_has_the_shape_of_both_versions(label: str) -> None:
    assert not (has_shape_of_icd10_alone(label) and readings(label, None))


@pytest.mark.slow
@given(st.from_regex(r"(V[0-9]{2}|E[0-9]{3})(\.?[0-9A-Z]{0,4})", fullmatch=True))
def test_v_and_e_codes_of_no_version_alone_never_count(label: str) -> None:
    assert not has_shape_of_icd10_alone(label)


def test_several_findings_may_stand_side_by_side() -> None:
    tables = {"diagnoses": {"a": ["J189"]}, "diagnoses-10": {"a": ["I10"]}}

    assert [finding.key for finding in CHECK.run(measured(tables)).findings] == [
        ("contradicted",),
        ("marked",),
        ("shaped",),
    ]


def test_it_does_not_apply_without_another_version(toy_hierarchy: Hierarchy) -> None:
    found = CHECK.run(measure(labelled(toy_hierarchy, {"a": ["I10"]}), Policy()))

    assert "no other version" in found.not_applicable
    assert CHECK.run(measured({"diagnoses": {"a": []}})).not_applicable == "no row was read"


ROWS = [
    ("a", "I10"), ("a", "E875"), ("a", "V700"), ("b", "4019"), ("b", "E8788"), ("c", "V5867"),
    ("d", "I10"), ("d", "4019"), ("d", "V700"), ("e", "N179"), ("e", "E119"),
]  # fmt: skip


def test_codes_of_two_versions_are_of_that_of_their_record() -> None:
    rows = pl.DataFrame(ROWS, ["instance", "label"], orient="row")
    dataset = audit.load_labels(rows, "icd9cm", format="long")
    read = measure(dataset, Policy())
    beside = next(one for one in CHECK.run(read).findings if one.key == ("beside",))

    assert beside.evidence["rows"].value == 3
    assert set(beside.nodes) == {"E875", "V700", "E119"}
    assert CHECK.cases is not None
    assert CHECK.cases(read, beside).tolist() == [0, 4]
    assert dataset.ledger.refused["other_version"] == 6
    (reading,) = (one for one in dataset.readings if "two versions" in one.decision)
    assert reading.rows == 3
    every = audit.load_labels(rows, "icd9cm", format="long", codes="as-written")
    assert set(every.mappings["label"]) >= {"E875", "V700"}


def test_where_records_are_not_seen_it_is_asked() -> None:
    rows = pl.DataFrame(ROWS, ["instance", "label"], orient="row")
    with pytest.raises(AskedError, match=r"say it \(4 rows\)"):
        count_pairs(rows, "icd9cm", instance="instance", label="label")


@pytest.mark.parametrize("column", ["icd_version", "dx_v"])
def test_a_version_that_has_no_such_code_is_told(tmp_path: Path, column: str) -> None:
    rows = [("E860", "9"), ("V441", "10"), ("4019", "10"), ("I10", "9"), ("V700", "9"),
            ("I10", "10"), ("4019", "9"), ("XX", "9"), ("V58", "9")]  # fmt: skip
    frame = pl.DataFrame(rows, ["icd_code", column], orient="row").with_columns(hadm_id=pl.lit("a"))
    frame.write_csv(tmp_path / "codes.csv")
    named = {"label": "icd_code", "version_column": column}
    read = measure(audit.load_labels(tmp_path / "codes.csv", "icd9cm", **named), Policy())
    told = next(one for one in CHECK.run(read).findings if one.key == ("contradicted",))
    assert set(told.nodes) == {"E860", "V441", "4019", "I10"}
    assert told.evidence["rows"].value == 4
