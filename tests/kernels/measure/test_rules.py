"""What a policy's rules make known; days of codes: the table of spells, and each row on its day."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit import AuditError, Hierarchy, LabelDataset, Policy
from audit.base.errors import InputError, PolicyError, SchemaError
from audit.base.settings import WITH_POLICY
from audit.hierarchies.coding import Companions
from audit.measure.rule_book import associations, first_association, refuse_contradictions
from audit.measure.validity import VALIDITY, days_of, validity
from audit.policy.reading import built_in_policy
from audit.policy.rules import Companion, Expected
from audit.policy.statements import CodeDates, Spell, as_days, read_code_dates
from fixtures.coded import icd9cm
from fixtures.labelled import tree

BODY = tree("a b c d < top", "a1 a2 < a", "b1 b2 < b", "b21 b22 < b2")


def rule(asks: Any, needs: Any, **more: Any) -> Companion:
    return Companion.model_validate({"if": asks, "needs": needs, "source": "A book.", **more})


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_POLICY)
def test_what_is_built_in_does_not_contradict_itself(name: str) -> None:
    import audit

    refuse_contradictions(built_in_policy(name), audit.load_hierarchy(name))


def known(*rules: Companion | Expected) -> tuple[int, ...]:
    """The association of a and b2, a1 and b2, a and b21, a1 and c."""
    pairs = [("a", "b2"), ("a1", "b2"), ("a", "b21"), ("a1", "c")]
    a, b = (np.array([BODY.index(pair[end]) for pair in pairs]) for end in (0, 1))
    in_use = np.array([not BODY.children(node) for node in BODY.nodes])
    there = first_association(BODY, rules, in_use, a, b)

    assert there.tolist() == first_association(BODY, rules, in_use, b, a).tolist()
    return tuple(there.tolist())


def test_a_pair_is_known_where_both_ends_are_part_of_the_sides() -> None:
    for association, expected in [
        (rule("a", "b2"), (0, 0, 0, -1)),
        (rule("b", ["a", "c"]), (0, 0, 0, -1)),
        (rule("a", ["b21", "b22"]), (0, 0, 0, -1)),
        (rule("a", "b21"), (-1, -1, 0, -1)),
        (rule(["a1", "a2"], ["b", "c"]), (0, 0, 0, 0)),
        (rule("a1", "b2"), (-1, 0, -1, -1)),
        (Expected(nodes=("b2", "a"), source="A book."), (0, 0, 0, -1)),
    ]:
        assert known(association) == expected


def test_the_first_association_counts() -> None:
    assert known(rule("a1", "b"), rule("a", "b"), rule("a", "c")) == (1, 0, 1, 2)
    assert known() == (-1, -1, -1, -1)


def test_rules_that_ask_for_the_same_know_what_is_above_them_all() -> None:
    assert known(rule("a1", "b2"), rule("a2", "b2")) == (0, 0, 0, -1)
    assert known(rule("a2", "b2"), rule("a1", "b2")) == (0, 1, 0, -1)
    assert known(rule("a1", "b2"), rule("a2", "c")) == (-1, 0, -1, -1)


def test_expected_pairs_come_before_what_rules_and_notes_ask_for() -> None:
    one, two, three = Expected(nodes=("a", "b"), source="."), rule("a", "b"), rule("a", "c")
    noting: Hierarchy = replace(BODY, companions=Companions("May", (three,)))

    assert associations(noting, Policy(expected=(one,), companions=(two,))) == (one, two, three)


def test_what_is_below_a_part_goes_with_its_whole() -> None:
    related = replace(BODY, related=(("a", "b2"),))
    pairs = [("a", "b2"), ("a1", "b2"), ("b2", "a1"), ("a", "b21"), ("b1", "a"), ("a1", "c")]
    a, b = (np.array([BODY.index(pair[end]) for pair in pairs]) for end in (0, 1))
    found = first_association(related, (), np.ones(len(BODY), np.bool_), a, b)
    assert found.tolist() == [0, 0, 0, -1, -1, -1]
    known = (Expected(nodes=("a1", "b2"), source="."),)
    found = first_association(related, known, np.ones(len(BODY), np.bool_), a, b)
    assert found.tolist() == [1, 0, 0, -1, -1, -1]


NODES = BODY.nodes


@given(
    st.sets(st.sampled_from(NODES)),
    st.tuples(*(st.lists(st.sampled_from(NODES), min_size=1, max_size=3, unique=True),) * 2),
    st.sampled_from(NODES),
    st.sampled_from(NODES),
)
def test_a_pair_is_known_where_sets_of_labels_in_use_say_so(
    used: set[str], sides: tuple[list[str], list[str]], a: str, b: str
) -> None:
    def below(nodes: list[str]) -> set[str]:
        return {low for node in nodes for low in BODY.descendants(node, with_self=True)}

    class Sides:
        def __init__(self) -> None:
            self.sides = sides

    def within(node: str, side: list[str]) -> bool:
        return node in below(side) or below([node]) & used <= below(side)

    fits = any(within(x, sides[0]) and within(y, sides[1]) for x, y in ((a, b), (b, a)))
    pair = (np.array([BODY.index(node)]) for node in (a, b))
    in_use = np.array([node in used for node in NODES])

    found = first_association(BODY, [Sides()], in_use, *pair)  # type: ignore[list-item]
    assert (found[0] == 0) == fits


TREE = tree("b c < a", "d e < b", "a f < top", labelled_ancestors="allowed")
ABOVE = {"a": "", "b": "a", "c": "a", "d": "ba", "e": "ba", "f": ""}
"""What lies above each label of the tree, root left out."""
DAYS = [date(2000, 1, day) for day in range(1, 7)]


def dated(
    rows: list[tuple[str, str, date | str | None]], hierarchy: Hierarchy = TREE
) -> LabelDataset:
    """A dataset of ``instance, label, day``."""
    text = [(instance, label, None if day is None else str(day)) for instance, label, day in rows]
    frame = pl.DataFrame(text, ["instance", "label", "day"], orient="row")
    table = pl.lit("diagnoses" if hierarchy.coding else None, pl.String)
    return LabelDataset.from_rows(frame.with_columns(table=table), hierarchy, strata=["day"])


def dates(*spells: tuple[str, date | None, date | None]) -> CodeDates:
    return CodeDates(column="day", file="d.csv", spells=tuple(Spell(*spell) for spell in spells))


def found(dataset: LabelDataset, stated: CodeDates | None) -> dict[tuple[str, str | None], int]:
    rows = validity(dataset, stated).select("node", "on_day", "rows").iter_rows()
    return {(node, on_day): count for node, on_day, count in rows}


ends = st.none() | st.sampled_from(DAYS)
spells_of = st.lists(st.tuples(st.sampled_from("abcdef"), ends, ends), min_size=1, max_size=6)
rows_of = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.none() | st.sampled_from(DAYS)), min_size=1, max_size=8
)


@given(spells=spells_of, rows=rows_of)
def test_each_row_is_judged_as_asking_every_spell_would(
    spells: list[tuple[str, date | None, date | None]], rows: list[tuple[str, date | None]]
) -> None:
    def covers(code: str, day: date) -> bool:
        return any(
            code == one and not (first and day < first) and not (last and last < day)
            for one, first, last in spells
        )

    def judged(label: str, day: date | None) -> str | None:
        if day is None or label not in {code for code, _, _ in spells}:
            return None
        if covers(label, day):
            return "valid"
        below = [code for code, above in ABOVE.items() if label in above]
        return "heading" if any(covers(code, day) for code in below) else "invalid"

    numbered = [(f"i{n}", label, day) for n, (label, day) in enumerate(rows)]
    told = [(label, judged(label, day)) for label, day in (*rows, ("a", DAYS[0]))]
    dataset = dated([*numbered, ("last", "a", DAYS[0])])

    assert found(dataset, dates(*spells)) == {one: told.count(one) for one in told}


def test_without_dates_no_row_is_dated() -> None:
    dataset = dated([("i", "a", None), ("i", "b", None), ("j", "b", None), ("k", "x", None)])

    assert found(dataset, None) == {("a", None): 1, ("b", None): 2}
    assert validity(dataset, None).schema == VALIDITY


def test_instances_are_counted_once_and_rows_as_they_stand() -> None:
    dataset = dated([("i", "f", DAYS[0]), ("i", "f", DAYS[0]), ("j", "f", DAYS[1])])
    (row,) = validity(dataset, dates(("f", DAYS[2], None))).to_dicts()

    assert row == {
        "node": "f", "on_day": "invalid", "rows": 3, "instances": 2, "valid": "from 2000-01-03",
    }  # fmt: skip


def test_spells_are_told_in_words_the_earliest_first() -> None:
    stated = dates(
        ("a", DAYS[4], None), ("a", None, DAYS[0]), ("a", DAYS[2], DAYS[3]), ("b", None, None)
    )
    rows = validity(dated([("i", "a", DAYS[0]), ("i", "b", DAYS[0])]), stated)

    assert rows["valid"].to_list() == [
        "until 2000-01-01; 2000-01-03 to 2000-01-04; from 2000-01-05",
        "always",
    ]


def test_codes_are_placed_as_labels_are() -> None:
    """With or without the dot; a retired code that the list lacks counts below its category."""
    stated = dates(
        ("4019", None, None), ("25094", None, date(2005, 9, 30)), ("250.9", None, date(1990, 1, 1)),
        ("019.9", None, None),
    )  # fmt: skip
    dataset = dated(
        [("i", "401.9", "2004-01-01"), ("i", "2509", "2004-01-01"), ("j", "2509", "2006-01-01")],
        icd9cm(),
    )

    assert found(dataset, stated) == {
        ("401.9", "valid"): 1, ("250.9", "heading"): 1, ("250.9", "invalid"): 1,
    }  # fmt: skip


def test_a_table_of_other_codes_is_refused() -> None:
    for stated in (dates(("I50.9", None, None)), dates()):
        with pytest.raises(PolicyError, match="must have codes of the hierarchy"):
            validity(dated([("i", "a", DAYS[0])]), stated)


def test_what_is_no_day_is_refused_with_its_instance() -> None:
    with pytest.raises(SchemaError, match="'03/12/2008 of the instance j'"):
        days_of(dated([("i", "a", DAYS[0]), ("j", "a", "03/12/2008")]), "day")


def test_a_column_without_days_is_refused() -> None:
    with pytest.raises(PolicyError, match="none in 'day'"):
        days_of(dated([("i", "a", None)]), "day")


SPELLS = (
    Spell("038.9", None, date(1999, 9, 30)),
    Spell("038.9", date(2001, 10, 1), None),
    Spell("585", date(1979, 1, 1), date(2005, 9, 30)),
)
TEXT = "Last,code,First,note\n,038.9,2001-10-01,again\n1999-09-30, 038.9 ,,\n\n"


def table(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "dates.csv"
    path.write_text(text)
    return path


def test_spells_are_read_by_name_and_sorted(tmp_path: Path) -> None:
    text = f"{TEXT}2005-09-30 00:00:00,585,1979-01-01,\n"

    assert read_code_dates(table(tmp_path, text)) == SPELLS


def test_a_broken_table_is_one_message_with_its_place(tmp_path: Path) -> None:
    for text, told in [
        ("code,first\n585,1979-01-01\n", "a column named 'last' is required"),
        ("code,first,last\n", "at least one code"),
        ("code,first,last\n585,10/01/2005,\n", "'585: 10/01/2005 to (none)'"),
        ("code,first,last\n585,,2005-13-01\n", "written as YYYY-MM-DD"),
        ("code,first,last\n585,,2005-02-30\n", "written as YYYY-MM-DD"),
        ("code,first,last\n585,20051001,\n", "written as YYYY-MM-DD"),
        ("code,first,last\n585,2005-10-01,2005-09-30\n", "must not be before its first"),
        ("code,first,last\n,2005-10-01,\n", "every row must have a code"),
        ("code,first,last\n585,,2005-10-01\n585,2005-10-01,\n", "must not share a day"),
        ("code,first,last\n585,,\n585,,\n", "must not share a day"),
        ("code,first,last\n585,2005-10-01\n", "the 3 fields of the first one"),
    ]:
        path = table(tmp_path, text)

        with pytest.raises(SchemaError) as caught:
            read_code_dates(path)
        assert told in str(caught.value)
        assert str(path) in str(caught.value)


def test_codes_as_numbers_are_refused(tmp_path: Path) -> None:
    frame = pl.DataFrame({"code": [389.0], "first": [None], "last": [None]})
    frame.write_parquet(tmp_path / "d.parquet")

    with pytest.raises(SchemaError, match="no leading zero is lost"):
        read_code_dates(tmp_path / "d.parquet")


ANY_DAY = st.dates(date(1, 1, 1), date(9999, 12, 31))


@given(ANY_DAY, st.sampled_from(["", " 10:20:00", "T10:20", " 10:20:00.000000"]))
def test_a_day_is_read_with_and_without_a_time(day: date, time: str) -> None:
    assert as_days(pl.Series([f"{day.isoformat()}{time}"])).to_list() == [day]


@given(st.text(max_size=12))
def test_a_text_is_a_day_only_where_python_reads_one(text: str) -> None:
    (found,) = as_days(pl.Series([text], dtype=pl.String)).to_list()

    assert found is None or found == date.fromisoformat(text[:10])


near = st.none() | st.dates(date(2000, 1, 1), date(2000, 1, 12))


@given(spells=st.lists(st.tuples(st.sampled_from("ab"), near, near), min_size=1, max_size=5))
def test_a_table_is_read_exactly_when_no_two_spells_share_a_day(
    tmp_path_factory: pytest.TempPathFactory, spells: list[tuple[str, date | None, date | None]]
) -> None:
    path = tmp_path_factory.mktemp("dates") / "dates.csv"
    lines = [f"{code},{first or ''},{last or ''}" for code, first, last in spells]
    path.write_text("\n".join(["code,first,last", *lines]) + "\n")
    span = range(date(1999, 12, 31).toordinal(), date(2000, 1, 14).toordinal())
    days = [
        (code, day)
        for code, first, last in spells
        for day in span
        if (first is None or first.toordinal() <= day) and (last is None or day <= last.toordinal())
    ]
    backward = any(first and last and last < first for _, first, last in spells)

    try:
        read = read_code_dates(path)
    except AuditError:
        assert backward or len(days) > len(set(days))
    else:
        assert not backward
        assert len(days) == len(set(days))
        assert sorted(map(str, read)) == sorted(str(Spell(*spell)) for spell in spells)


def test_text_of_parquet_that_is_no_utf_8_is_refused(tmp_path: Path) -> None:
    """Arrow reads such text, and Polars panics as it gives it to Python."""
    path = tmp_path / "dates.parquet"
    days = {"code": ["zebra"], "first": ["2001-10-01"], "last": ["2002-10-01"]}
    pl.DataFrame(days).write_parquet(path, compression="uncompressed")
    path.write_bytes(path.read_bytes().replace(b"zebra", b"ze\xb1ra"))

    with pytest.raises(InputError, match="Invalid UTF8"):
        read_code_dates(path)
