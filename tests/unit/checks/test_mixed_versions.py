"""mixed_versions: rows marked as, or shaped like, another version; never V and E codes."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import audit
from audit.hierarchies.icd.icd9 import has_shape_of_icd10_alone, readings
from audit.measure.measure import measure
from audit.policy.policy import Policy
from fixtures.checked import CHECK_OF
from fixtures.coded import measured

CHECK = CHECK_OF["mixed_versions"]


def test_mimic_iv_says_which_version_a_row_is_of(tmp_path: Path) -> None:
    (tmp_path / "diagnoses_icd.csv").write_text(
        "subject_id,hadm_id,seq_num,icd_code,icd_version\n"
        "1,11,1,4019,9\n1,11,2,V700,9\n2,12,1,I10,10\n2,12,2,E119,10\n"
    )
    asked = measure(audit.load_labels(tmp_path, "icd9cm"), Policy())
    (finding,) = CHECK.run(asked).findings

    assert finding.id == "mixed_versions:marked"
    assert finding.evidence["rows"] == 2


@pytest.mark.parametrize("table", ["diagnoses", None])
def test_the_shape_of_another_version_alone_is_found(table: str | None) -> None:
    shaped = ["0SRB04Z", "C7A00", "E11.9", "I10", "J18.9", "J189", "M1A.0", "i10"]
    found = measured({table: {"a": [*shaped, "4019"]}})
    (finding,) = CHECK.run(found).findings

    assert (finding.id, finding.severity) == ("mixed_versions:shaped", "warning")
    assert finding.evidence["rows"] == len(shaped)
    assert sorted(finding.nodes) == shaped


@given(st.text(alphabet="0123456789AEIOVZ.", max_size=8))
def test_no_text_has_the_shape_of_both_versions(label: str) -> None:
    assert not (has_shape_of_icd10_alone(label) and readings(label, None))


@pytest.mark.slow
@given(st.from_regex(r"(V[0-9]{2}|E[0-9]{3})(\.?[0-9A-Z]{0,4})", fullmatch=True))
def test_v_and_e_codes_of_no_version_alone_never_count(label: str) -> None:
    assert not has_shape_of_icd10_alone(label)


def test_a_version_that_has_no_such_code_is_told(tmp_path: Path) -> None:
    rows = [("E860", "9"), ("V441", "10"), ("4019", "10"), ("I10", "9"), ("V700", "9"),
            ("I10", "10"), ("4019", "9"), ("XX", "9"), ("V58", "9")]  # fmt: skip
    frame = pl.DataFrame(rows, ["icd_code", "icd_version"], orient="row")
    frame.with_columns(hadm_id=pl.lit("a")).write_csv(tmp_path / "codes.csv")
    read = measure(audit.load_labels(tmp_path / "codes.csv", "icd9cm"), Policy())
    told = next(one for one in CHECK.run(read).findings if one.key == ("contradicted",))
    assert set(told.nodes) == {"E860", "V441", "4019", "I10"}
    assert told.evidence["rows"] == 4
