"""Placing: what words read, what is asked of refused labels, and that what is offered reads it."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import audit
from audit.base.readings import AskedError
from audit.data.columns import Columns, stripped
from audit.data.placing import place, placed
from fixtures.coded import icd9cm, icd10cm

CODES = ("401.9", "250.00", "428.0", "V58.67", "E885.9", "414.01", "584.9", "38.93")
SIGNS = st.text(alphabet="aXcz19:.|( )-", min_size=1, max_size=4)


def asked(labels: Mapping[str, int], hierarchy: audit.Hierarchy | None = None) -> AskedError:
    """The question that is asked of labels with their numbers of rows."""
    counts = pl.DataFrame(
        {"label": [*labels], "table": None, "rows": [*labels.values()]},
        {"label": pl.String, "table": pl.String, "rows": pl.Int64},
    )
    with pytest.raises(AskedError) as caught:
        placed(counts, hierarchy or icd9cm(), columns=Columns())
    placed(counts, hierarchy or icd9cm(), columns=Columns(unlisted="refuse"))
    placed(counts, hierarchy or icd9cm())
    return caught.value


@given(st.sampled_from(CODES), SIGNS, SIGNS)
def test_a_text_is_taken_off_at_either_end_and_parts_no_word_and_no_number(
    code: str, before: str, behind: str
) -> None:
    label = f"{before}{code}{behind}"
    found = stripped(label, [before, behind])
    kept_before = (before[-1] + code[0]).isalpha() or (before[-1] + code[0]).isdigit()
    kept_behind = (code[-1] + behind[0]).isdigit()
    if not kept_before and not kept_behind and code not in (before, behind):
        assert code in found
        assert len(found) <= len(label)
    assert stripped(label, []) == label
    assert stripped(code, [code]) == code
    assert found.strip()


@given(st.sampled_from(CODES), SIGNS)
def test_a_label_that_is_a_node_is_read_as_written_whatever_is_stated(code: str, sign: str) -> None:
    words = Columns(strip=(sign, code[0]), missing=(code, sign), by_title=True)
    assert place(code, None, icd9cm(), words) == place(code, None, icd9cm())


@pytest.mark.parametrize("label", ["N/A", " n/a ", "ICD:N/A", "N/A;"])
def test_missing_words_are_compared_without_case_and_what_is_taken_off(label: str) -> None:
    words = Columns(missing=("n/a",), strip=("ICD:", ";"))
    assert place(label, None, icd9cm(), words).reason == "missing_code"
    assert place("401.9", None, icd9cm(), words).node == "401.9"


def test_titles_are_read_where_that_is_stated_and_one_node_has_them() -> None:
    title = "Intermediate coronary syndrome"
    assert place(title, None, icd9cm()).node is None
    by_title = Columns(by_title=True, strip=("Dx ",))
    assert place(title.upper(), None, icd9cm(), by_title).node == "411.1"
    assert place(f"Dx {title}", None, icd9cm(), by_title).node == "411.1"
    assert place(title, "diagnoses-10", icd9cm(), by_title).reason == "other_version"


WAYS = {
    "strip": lambda code: f"ICD9CM:{code}",
    "strip behind": lambda code: f"{code} (ICD)",
    "sep": lambda code: f"{code},401.9",
    "take": lambda code: f"{code} a name of it",
    "missing": lambda code: "no code",
}


@pytest.mark.parametrize("way", WAYS)
@given(st.lists(st.sampled_from(CODES), min_size=4, unique=True), st.integers(1, 6))
def test_what_is_offered_reads_what_it_says(way: str, codes: list[str], clean: int) -> None:
    """Rows of which a third or more are written in another way, read as the question offers."""
    labels = [WAYS[way](code) for code in codes] + ["25000"] * min(clean, len(codes))
    rows = {"id": [*map(str, range(len(labels)))], "label": labels}
    given = {"id": "id", "label": "label", "codes": "as-written"}
    with pytest.raises(AskedError) as caught:
        audit.load_labels(rows, "icd9cm", **given)
    error = caught.value
    found = audit.load_labels(rows, "icd9cm", **given | error.options)
    said = int(error.reads.split()[1].replace(",", ""))
    refused = found.ledger.refused.get("malformed_code", 0)
    assert said <= len(codes)
    assert refused <= len(codes) - said
    if way == "missing":
        assert found.ledger.refused["missing_code"] == said == len(codes)


def test_one_row_in_ten_is_refused_without_a_question_and_half_of_all_is_asked() -> None:
    def read(odd: int) -> audit.LabelDataset:
        labels = ["401.9"] * (20 - odd) + [f"#{n}?" for n in range(odd)]
        rows = {"id": [*map(str, range(20))], "label": labels}
        return audit.load_labels(rows, "icd9cm", codes="diagnoses")

    assert read(2).readings == ()
    (told,) = read(3).readings
    assert (told.rows, read(10).ledger.rows_mapped) == (3, 10)
    with pytest.raises(AskedError, match="labels that are nodes of icd9cm are required"):
        read(11)


def test_codes_of_the_other_classification_are_asked() -> None:
    tenth = {"E11.9": 5, "E78.5": 2, "V43.52": 1, "E87.5": 3}
    assert asked(tenth).options == {"hierarchy": "icd10cm"}
    assert asked({"4019": 5, "25000": 3, "V5867": 1}, icd10cm()).options == {"hierarchy": "icd9cm"}
    assert "one version of ICD" in asked({"4019": 10, "I10": 3, "E875": 2, "E119": 2}).required


def test_a_layout_of_both_versions_refuses_those_of_the_other_as_such() -> None:
    counts = pl.DataFrame(
        [("401.9", None, 3), ("I10", None, 4), ("nonsense", None, 1),
         ("4280", None, 7)],
        {"label": pl.String, "table": pl.String, "rows": pl.Int64}, orient="row",
    )  # fmt: skip
    found = placed(counts, icd9cm(), columns=Columns(both=True)).frame
    reasons = dict(found.select("label", "reason").rows())
    assert reasons == {
        "401.9": None,
        "4280": None,
        "I10": "other_version",
        "nonsense": "malformed_code",
    }
