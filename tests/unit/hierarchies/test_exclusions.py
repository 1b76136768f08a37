"""Excludes1 notes: what a sentence names, and which nodes that is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.hierarchies.coding import Exclusion
from scripts.compile_icd10cm import Reference, Tabular, exclusions, is_range, references

codes = st.from_regex(r"[A-Z]([0-9][0-9A-Z]|[A-Z][0-9])(\.[0-9A-Z]{1,4})?", fullmatch=True).map(str)
ends = st.sampled_from(["", "-", ".-"])


@st.composite
def written(draw: st.DrawFn) -> tuple[str, tuple[Reference, ...]]:
    """A list of codes and ranges as notes write it, and what it means."""
    items, meant = [], []
    for _ in range(draw(st.integers(1, 4))):
        first, last = draw(codes), draw(codes)
        if draw(st.booleans()):
            items.append(first + draw(ends))
            meant.append(Reference(first, first))
        else:
            items.append(first + draw(ends) + draw(st.sampled_from(["-", " - ", " to "])) + last)
            meant.append(Reference(first, last))
    between = draw(st.sampled_from([", ", ",", "; ", " and ", " or ", ", and "]))
    return between.join(items), tuple(meant)


@given(
    written(), st.sampled_from(["type 1 (acute) {}", "gout ({})", "see ({}", "x ({}))", "a ({},)"])
)
def test_a_list_is_read_however_it_is_punctuated(
    listed: tuple[str, tuple[Reference, ...]], sentence: str
) -> None:
    text, meant = listed

    assert references(sentence.format(text)) == meant


@given(st.text() | st.text("ABE0189.-–(),; withandor", max_size=40))
def test_any_text_can_be_read(text: str) -> None:
    for named in references(text):
        assert named.first in text
        assert named.last in text


@given(written(), st.sampled_from(["with .44", "with fifth character 1", "unless cured", "NOS"]))
def test_a_condition_leaves_the_note_unread(
    listed: tuple[str, tuple[Reference, ...]], condition: str
) -> None:
    assert references(f"diabetes ({listed[0]} {condition})") == ()
    assert references(f"diabetes ({listed[0]}) {condition}") == ()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("gestational diabetes (O24.4-)", [("O24.4", "O24.4")]),
        ("diabetes mellitus (E08-E13)", [("E08", "E13")]),
        ("sequelae (A15-A19, B90.-)", [("A15", "A19"), ("B90", "B90")]),
        ("polymyositis (M33.2.-)", [("M33.2", "M33.2")]),
        ("limbs (I70.2--I70.7-)", [("I70.2", "I70.7")]),
        ("limbs (Q70.0- -Q70.3-)", [("Q70.0", "Q70.3")]),
        ("eating disorders (F98.2.-F98.3)", [("F98.2", "F98.3")]),
        ("deficiency (G6PD) without anemia (D75.A)", [("D75.A", "D75.A")]),
        ("effects (A00-R94 and T80-T88.6)", [("A00", "R94"), ("T80", "T88.6")]),
        ("subluxation (M43.3-M43.5X9)", [("M43.3", "M43.5X9")]),
        ("injury (S06.0X-)", [("S06.0X", "S06.0X")]),
        ("hearing loss as classified in H90.-", [("H90", "H90")]),
        ("conditions classified to Q67.0-Q67.4", [("Q67.0", "Q67.4")]),
        ("torticollis, any type in M43 (Q68.0)", [("Q68.0", "Q68.0")]),
        ("pericarditis (in):", []),
        ("current injury - see injury of joint by body region", []),
        ("chronic disease (I05-I09) unless fever is present", []),
        ("aphasia (I69. with final characters -20)", []),
        ("acidosis - see categories E08-E10, E13 with ketoacidosis", []),
        ("", []),
    ],
)  # fmt: skip
def test_sentences_as_notes_have_them(text: str, named: list[tuple[str, str]]) -> None:
    assert references(text) == tuple(Reference(*ends) for ends in named)


PARENTS: dict[str, str | None] = {
    "ICD-10-CM": None,
    "C00-D49": "ICD-10-CM",
    "C43-C44": "C00-D49",
    "C43": "C43-C44",
    "C43.0": "C43",
    "C43.1": "C43",
    "C4A": "C43-C44",
    "C44": "C43-C44",
    "C50-C50": "C00-D49",
    "C50": "C50-C50",
    "C50.0": "C50",
    "E00-E89": "ICD-10-CM",
    "E08-E13": "E00-E89",
    "E08": "E08-E13",
    "E09": "E08-E13",
    "E09.0": "E09",
    "E09.1": "E09",
    "E13": "E08-E13",
    "E15-E16": "E00-E89",
    "E15": "E15-E16",
    "E16": "E15-E16",
}
TABULAR = Tabular(PARENTS)
CODES = [node for node in PARENTS if not is_range(node)]


def path(node: str | None) -> list[str]:
    return [] if node is None else [node, *path(PARENTS[node])]


def codes_below(node: str) -> set[str]:
    return {code for code in CODES if node in path(code)}


@given(st.sampled_from(CODES), st.sampled_from(CODES), st.sampled_from(list(PARENTS)))
def test_what_covers_a_range_holds_its_codes_and_nothing_of_the_noted_node(
    first: str, last: str, noted: str
) -> None:
    end = max(CODES.index(code) for code in codes_below(last))
    listed = set(CODES[CODES.index(first) : end + 1])
    whole = {code for code in listed if codes_below(code) <= listed}
    meant = whole - codes_below(noted) - set(path(noted))
    found = list(TABULAR.covering(Reference(first, last), noted))

    assert sorted(code for node in found for code in codes_below(node)) == sorted(meant)
    for node in found:
        assert not codes_below(PARENTS[node] or "") <= meant or node + "-" + node == PARENTS[node]


@pytest.mark.parametrize(
    ("node", "text", "excluded", "wide"),
    [
        ("C50", "diabetes (E08-E13)", ("E08-E13",), False),
        ("C50", "melanoma (C43-C44)", ("C43-C44",), False),
        ("C50", "some (C43-C4A)", ("C43", "C4A"), False),
        ("C50", "any (E08-E16)", ("E00-E89",), True),
        ("C50", "two (C43-C44, E08-E13)", ("C43-C44", "E08-E13"), True),
        ("C00-D49", "diabetes (E09.-)", ("E09",), True),
        ("E09.0", "other diabetes (E08-E13)", ("E08", "E09.1", "E13"), False),
        ("E09", "other diabetes (E08-E13)", ("E08", "E13"), False),
        ("E09", "with coma (E09.0)", (), False),
        ("E08", "breast (C50)", ("C50",), False),
        ("E08", "one twice (C50, C50.-)", ("C50",), False),
    ],
)
def test_a_note_excludes_nodes(node: str, text: str, excluded: tuple[str, ...], wide: bool) -> None:
    found = exclusions(TABULAR, [(node, text)], release="of May")

    assert found.notes == (Exclusion(node, excluded, text, wide),)
    assert (found.release, found.unparsed) == ("of May", ())


@pytest.mark.parametrize(
    "text", ["see elsewhere", "gone (E77.-)", "partly (E08, E77.-)", "(E08-E12)"]
)
def test_a_note_without_known_codes_is_kept_as_unparsed(text: str) -> None:
    found = exclusions(TABULAR, [("C50", text), ("C50", "diabetes (E08-E13)")], release="of May")

    assert found.unparsed == (("C50", text),)
    assert len(found.notes) == 1
