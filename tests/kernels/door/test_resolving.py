"""What is asked runs and reads what it says: over tables of all kinds of columns at once, at shares
of nodes that decide; a run shows one table, and the sentence of one question."""

from __future__ import annotations

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
from audit.data.columns import Columns
from audit.data.resolving import IDS, LABELS, Request, resolved

TREE = audit.load_hierarchy({"animal": {"pet": {"cat": {}, "dog": {}}, "fox": {}}, "plant": {}})
LEAVES = ("cat", "dog", "fox", "plant")
ICD10, ICD9 = (audit.load_hierarchy(name) for name in ("icd10cm", "icd9cm"))
CODES = ("I10", "E11.9", "E785", "N179", "J44.9", "K219", "D649", "R079")


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
    labels = [CODES[n % len(CODES)] for n in range(good)] + ["nonsense"] * bad
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
    codes = [*CODES, *CODES]
    data = {"id": [*map(str, range(16))], "DX1": codes, "DX2": [None] * 16, "DX3": codes[::-1]}

    assert request(data, label="DX#").resolved().label == ("DX1", "DX2", "DX3")
    assert offered({**data, "DX4": ["Y", "N"] * 8}, label="DX#") == {"label": ("DX1", "DX2", "DX3")}
    with pytest.raises(audit.AuditError, match="DX#"):
        request(data, label="DX*").resolved()


@pytest.mark.parametrize(
    ("labels", "sets"),
    [
        (["4019", "4280", "25000", "V5867"] * 3, "diagnoses"),
        (["8856", "9904", "3961", "3722"] * 3, "procedures"),
        (["401.9", "36.05", "428.0", "042"] * 3, None),
        (["401.9", "428.0", "042", "486"] * 3, "diagnoses"),
        (["401.9", "V58.67", "E885.9"] * 3, None),
    ],
)
def test_a_code_set_is_said_by_dots_or_by_clearly_more_codes(
    labels: list[str], sets: str | None
) -> None:
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
    data = {"": [str(n) for n in range(16)], "dx": [*CODES, *CODES]}

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
    data = {"visit": [f"v{n // 2}" for n in range(16)], **beside, "dx": [*CODES, *CODES[::-1]]}
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
