"""What is asked of labels and columns runs and reads what it says, at the shares that decide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import audit
from audit.base.errors import InputError
from audit.base.readings import AskedError
from audit.base.table import table_of
from audit.data.asking.seen import NEARLY_ALL, Seen
from audit.data.columns import Columns, stripped
from audit.data.placing import place, placed
from audit.data.resolving import IDS, LABELS, Request, resolved
from fixtures.coded import icd9cm, icd10cm
from fixtures.examples import examples

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
@examples(25)
@given(st.lists(st.sampled_from(CODES), min_size=4, unique=True), st.integers(1, 6))
def test_what_is_offered_reads_what_it_says(way: str, codes: list[str], clean: int) -> None:
    """Rows of which a third or more are written in another way, read as the question offers."""
    labels = [WAYS[way](code) for code in codes] + ["25000"] * min(clean, len(codes))
    rows = {"id": [*map(str, range(len(labels)))], "label": labels}
    given = {"id": "id", "label": "label", "codes": "as-written"}
    with pytest.raises(AskedError) as caught:
        audit.load_labels(rows, icd9cm(), **given)
    error = caught.value
    found = audit.load_labels(rows, icd9cm(), **given | error.options)
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
        return audit.load_labels(rows, icd9cm(), codes="diagnoses")

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


TREE = audit.load_hierarchy({"animal": {"pet": {"cat": {}, "dog": {}}, "fox": {}}, "plant": {}})
LEAVES = ("cat", "dog", "fox", "plant")
ICD10, ICD9 = icd10cm(), icd9cm()
TENTH = ("I10", "E11.9", "E785", "N179", "J44.9", "K219", "D649", "R079")


def request(data: Any, hierarchy: audit.Hierarchy = ICD10, **stated: Any) -> Request:
    columns: dict[str, Any] = {k: v if isinstance(v, bool) else (v,) for k, v in stated.items()}
    return Request(table_of(pl.DataFrame(data), "t"), Columns(**columns), hierarchy)


def offered(data: Any, hierarchy: audit.Hierarchy = ICD10, **stated: Any) -> Any:
    with pytest.raises(AskedError) as caught:
        request(data, hierarchy, **stated).resolved()
    return caught.value.options


def one_of(*texts: str | None) -> st.SearchStrategy[str | None]:
    return st.sampled_from(texts)


CELLS = st.sampled_from(
    [
        one_of(*LEAVES), one_of("cat", "dog", "cow"), one_of(*LEAVES, None), one_of("cat", None),
        one_of("cat,dog", "fox", "dog,cat,fox"), one_of("a:cat", "a:dog", "a:fox"),
        one_of("['cat', 'dog']", "[]", '["fox"]'), one_of("CAT", "dog"), one_of("0", "1", None),
        one_of("0", "1", "2", "3"), one_of("2020-01-02", "2021-02-03"), one_of("1.5", "2,25"),
        one_of("no words of any kind at all", "some other words of the same kind"),
        one_of("1.00E+05", "2.00E+05"), one_of("DX", "PX"), one_of(None),
        st.integers(0, 30).map(str), st.uuids().map(str),
    ]
)  # fmt: skip
NAMES = st.sampled_from(
    ["id", "instance", "label", "labels", "code", "cat", "dog", "x1", "x2", "x_3", "", "group",
     "Unnamed: 0", "split", "text", "fox", "hadm_id", "row"]
)  # fmt: skip


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list[str | None]]:
    rows = draw(st.integers(0, 24))
    names = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    cells = {name: draw(CELLS) for name in names}
    return {n: draw(st.lists(of, min_size=rows, max_size=rows)) for n, of in cells.items()}


@given(tables(), st.sampled_from([{}, {"id": "row"}, {"label": "x#"}, {"flags": True}]))
def test_a_table_is_read_for_a_reason_or_what_is_offered_reads_it(
    data: dict[str, list[str | None]], stated: dict[str, Any]
) -> None:
    frame = pl.DataFrame(data, schema=dict.fromkeys(data, pl.String))
    asking = request(frame, TREE, **stated)
    found: Columns | audit.AuditError
    try:
        found = asking.resolved()
    except audit.AuditError as caught:
        found = caught
    if isinstance(found, AskedError) and found.options:
        again = asking.with_options(found.options)
        assert again.reads(again.resolved()) == found.reads != ""
    if isinstance(found, audit.AuditError):
        return
    assert {*found.label} <= {*data}
    named = found.id[0] in IDS and found.label[0] in LABELS
    sure = asking.seen.share(found.label[0]).of_complete >= NEARLY_ALL
    assert stated.get("label") or found.flags or named or sure or found.label[0] in LABELS


def long(good: int, bad: int, **beside: list[str]) -> dict[str, list[str]]:
    """A table of visits of two rows, so many labels that are codes and that are none."""
    labels = [TENTH[n % len(TENTH)] for n in range(good)] + ["nonsense"] * bad
    return {"visit": [f"v{n // 2}" for n in range(good + bad)], "dx": labels, **beside}


def test_the_only_column_of_nine_in_ten_nodes_is_taken_beside_one_other() -> None:
    found = request(long(18, 2)).resolved()

    assert (found.id, found.label) == (("visit",), ("dx",))
    assert [reading.option for reading in found.readings] == ["--label COLUMN", "--id COLUMN"]
    assert offered(long(17, 3)) == {"id": ("visit",), "label": ("dx",), "missing": ("nonsense",)}
    beside = long(18, 2, note=["I10, E119", "x"] * 10)
    assert offered(beside)["label"] == ("dx", "note"), "half of another column's parts are nodes"


@pytest.mark.parametrize(
    ("kinds", "kept"), [((9, 1, 10, 10), True), ((8, 2, 10, 10), False), ((9, 1, 11, 9), False)]
)
def test_a_kind_of_row_has_nine_in_ten_nodes_and_another_at_most_half(
    kinds: tuple[int, int, int, int], kept: bool
) -> None:
    good, bad, others, none = kinds
    labels = ["I10"] * good + ["x"] * bad + ["E119"] * others + ["y"] * none
    kind = ["DX"] * (good + bad) + ["PX"] * (others + none)
    data = {"id": [*map(str, range(len(labels)))], "label": labels, "kind": kind}

    if kept:
        assert offered(data, id="id", label="label") == {"where": ("kind=DX",)}
    else:
        assert request(data, id="id", label="label").resolved().where == ()


def test_a_pattern_takes_columns_of_labels_and_empty_ones() -> None:
    codes = [*TENTH, *TENTH]
    data = {"id": [*map(str, range(16))], "DX1": codes, "DX2": [None] * 16, "DX3": codes[::-1]}

    assert request(data, label="DX#").resolved().label == ("DX1", "DX2", "DX3")
    assert offered({**data, "DX4": ["Y", "N"] * 8}, label="DX#") == {"label": ("DX1", "DX2", "DX3")}
    with pytest.raises(audit.AuditError, match="DX#"):
        request(data, label="DX*").resolved()


def test_a_code_set_is_said_by_dots_or_by_clearly_more_codes() -> None:
    for labels, sets in [
        (["4019", "4280", "25000", "V5867"] * 3, "diagnoses"),
        (["8856", "9904", "3961", "3722"] * 3, "procedures"),
        (["401.9", "36.05", "428.0", "042"] * 3, None),
        (["401.9", "428.0", "042", "486"] * 3, "diagnoses"),
        (["401.9", "V58.67", "E885.9"] * 3, None),
    ]:
        data = {"id": [*map(str, range(len(labels)))], "label": labels}

        assert request(data, ICD9).resolved().sets == (sets,)


def test_two_code_sets_that_fit_alike_are_asked_unless_they_are_stated() -> None:
    labels = ["4019", "4280", "V5867", "25000", "8856", "9904", "3893", "3722"] * 3
    data = {"id": [*map(str, range(24))], "label": labels}

    assert offered(data, ICD9) == {"codes": ("as-written",)}
    for word, of in (("diagnoses", "diagnoses"), ("as-written", None)):
        assert request(data, ICD9, codes=word).resolved().sets == (of,)
    with pytest.raises(audit.AuditError, match="it has 'diagnoses', 'procedures'"):
        request(data, ICD9, codes="dx").resolved()


def test_numbers_of_another_kind_are_headings_unless_a_set_is_stated() -> None:
    data = {"id": [*map(str, range(12))], "label": ["470", "871", "291", "885"] * 3}

    assert offered(data, ICD9) == {}
    assert request(data, ICD9, codes="diagnoses").resolved().sets == ("diagnoses",)
    groups = audit.load_hierarchy({"ccs": {"470": {"47": {}}, "871": {}, "291": {}, "885": {}}})
    assert request(data, groups).resolved().label == ("label",)


def test_lists_of_0_and_1_are_flags_of_as_many_classes() -> None:
    data = {"id": ["a", "b"], "labels": [[1, 1, 0], [0, 0, 1]]}
    table = table_of(pl.DataFrame(data), "t")

    classes = {"0": "cat", "1": "dog", "2": "fox"}
    assert resolved(table, Columns(), TREE, classes).flags
    with pytest.raises(audit.AuditError, match="must be as long as the 2 classes"):
        resolved(table, Columns(), TREE, {"0": "cat", "1": "dog"})
    with pytest.raises(AskedError, match="--classes"):
        resolved(table, Columns(), TREE)


def test_an_index_of_pandas_is_no_id() -> None:
    data = {"": [str(n) for n in range(16)], "dx": [*TENTH, *TENTH]}

    assert offered(data) == {"id": ("row",), "label": ("dx",)}
    assert request({**data, "visit": [f"v{n // 2}" for n in range(16)]}).resolved().id == ("visit",)
    assert request(data, id="").resolved().id == ("",), "what is stated is an id"


@pytest.mark.parametrize(
    ("beside", "ids"),
    [
        ({"row": range(16)}, ("visit",)),
        ({"visit": [f"p{n // 4}" for n in range(16)], "n": [1, 1, 2, 2] * 4}, ("visit", "n")),
        ({"visit": [f"p{n // 4}" for n in range(16)], "n": [1, 2, 3, 4] * 4}, ("visit",)),
        ({"visit": range(20, 36), "age": [30, 31, 32, 33] * 4}, ("visit",)),
        ({"visit": ["a", None] * 8, "note": ["a text of words", "others of it"] * 8}, ("row",)),
    ],
)
def test_the_finest_column_that_does_not_number_rows_is_offered_as_the_id(
    beside: dict[str, Any], ids: tuple[str, ...]
) -> None:
    data = {"visit": [f"v{n // 2}" for n in range(16)], **beside, "dx": [*TENTH, *TENTH[::-1]]}
    frame = pl.DataFrame(data).with_columns(pl.all().cast(pl.String), ward=pl.lit("A"))

    assert offered(frame)["id"] == ids


def test_a_table_of_many_rows_is_known_by_its_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audit.data.asking.seen.WHOLE", 10)
    monkeypatch.setattr("audit.data.asking.seen.PART", 8)
    asking = request(long(16, 0, ward=["A", "B"] * 8))

    assert (asking.seen.frame.height, asking.seen.whole) == (8, False)
    with pytest.raises(AskedError, match=r"in the first 8 rows"):
        asking.resolved()
    assert Seen.of(asking.table, asking.seen.nodes, Columns()).frame.height == 8


def test_a_star_is_refused_with_an_option_for_each_family_that_it_would_take() -> None:
    data = {"key": ["a", "b"], "DX1": ["I10", "N179"], "DXCCS1": ["98", "157"]}
    with pytest.raises(InputError) as caught:
        request(data, id="key", label="DX*").resolved()
    assert "of these --label DX# or --label DXCCS#" in str(caught.value)
