"""Every table of an analysis is whole, and its chapter is drawn of any rows."""

from __future__ import annotations

from typing import Any

from fixtures.registered import OF_ANALYSES, Rounding, Sentence, figures, kinds
from reports.analysis import analyses
from reports.page import page
from reports.render import ShownTable, table

TABLES = {
    f"{room}.{name}": one for room, (every, _) in OF_ANALYSES.items() for name, one in every.items()
}
HOSTILE = '</td><script>alert("\u202e")</script>&amp;' + "long" * 30
BINS = {"bin": 10, "totals": {"instances": 1000}, "about": [], "note": ""}


def row(columns: kinds.Columns, place: int, kind: str) -> dict[str, Any]:
    """A row whose texts are hostile, and whose numbers are there, 0, negative or not told."""
    number = {"some": 25 + place, "none": None, "zero": 0, "odd": -0.25}[kind]
    return {
        name: f"{HOSTILE}{place}" if one.kind == "text" else number for name, one in columns.items()
    }


def cells(shown: ShownTable) -> list[str]:
    return [one.text for line in shown.rows for one in line]


def test_a_table_names_columns_that_it_has() -> None:
    for name in TABLES:
        declared = TABLES[name]
        named = {declared.order, declared.each, declared.listed, declared.across, declared.headline}
        for figure in declared.figures:
            named |= {one for field in ("x", "value", "name", "panel", "series", "row", "column",
                                        "source", "target")
                      for one in getattr(figure, field, "").split()}  # fmt: skip
            named |= {*figure.where[:1]}
        for column in declared.columns.values():
            named |= {column.title, column.among, *column.ends}
            named |= {column.mark.limit, column.mark.reference} if column.mark else set()
        assert named - {""} <= declared.columns.keys()
        assert not declared.title or declared.row
        headings = [one.heading for one in declared.columns.values() if one.heading]
        assert len(headings) == len({*headings})


def test_a_table_is_drawn_of_any_rows_within_its_first() -> None:
    for kind in ["some", "none", "zero", "odd"]:
        for name in TABLES:
            declared = TABLES[name]
            rows = [row(declared.columns, place, kind) for place in range(70)]

            for rounding in (None, BINS):
                shown = table(declared, rows, rounding)

                assert shown is not None
                assert len(shown.rows) <= declared.first
                assert declared.across or shown.more == 70 - len(shown.rows)
                drawn = "".join(one.svg for one in shown.figures)
                assert "<script" not in drawn
                assert "nan" not in drawn


def chapters(name: str, rows: int, kind: str = "some") -> tuple[str, list[Any]]:
    every, facts = OF_ANALYSES[name]
    part = {one: [row(of.columns, place, kind) for place in range(rows)]
            for one, of in every.items()}  # fmt: skip
    declared = {
        "title": name,
        "sentence": HOSTILE,
        "facts": facts.stored(),
        "tables": {one: of.stored() for one, of in every.items() if of.title},
    }
    view = {
        name: {"facts": row(facts, 0, kind), **part},
        "tables": {name: declared},
        "rounding": None,
    }
    made = analyses(view)
    nothing: dict[str, Any] = dict.fromkeys(("lines", "ten", "before", "blocks", "severities"), ())
    verdict = {"severity": "note", "head": "", "sentences": ()}
    html = page("report.html.jinja", title="", stated="", band="", foot="", paper=False, where="",
                verdict=verdict, seen=made, folded=(), **nothing)  # fmt: skip
    return html, made


def test_a_chapter_shows_few_tables_and_folds_the_others() -> None:
    for name in OF_ANALYSES:
        html, (seen, further) = chapters(name, 30)

        assert 1 <= len(seen.tables) <= 6
        assert not seen.folded
        assert further.folded
        assert "<script>alert" not in html
        assert "&lt;/td&gt;&lt;script&gt;" in html


def test_a_table_that_tells_nothing_is_left_out() -> None:
    for name in OF_ANALYSES:
        _, made = chapters(name, 3, "none")

        every = {one.title: one for one in OF_ANALYSES[name][0].values()}
        for shown in (one for chapter in made for one in chapter.tables if one.title in every):
            kinds = {one.kind for one in every[shown.title].columns.values() if one.heading}
            assert kinds <= {"text", "whole", "setting", "exact", "count"}


def test_a_plugins_analysis_is_drawn_by_its_declaration() -> None:
    columns = kinds.Columns(
        kinds.key("group_of", "Group"),
        kinds.share("share", "Share", of="k n", ends="low high", mark=kinds.Mark()),
        kinds.count("k n"),
        kinds.chance("p"),
    )
    declared = kinds.Table(columns, title="Own", row="a group", first=2,
                     figures=(figures.Dots(value="share", name="group_of"),))  # fmt: skip
    rows = [{"group_of": f"group_{place}", "share": 0.5, "low": 0.4, "high": 0.6, "k": 20, "n": 40,
             "p": 0.01} for place in range(3)]  # fmt: skip
    facts = kinds.Columns(kinds.text("made_by", "Made by"), kinds.count("left_out", "Left out"))
    view = {
        "rounding": None,
        "analyses": {"own": {
            "facts": {"made_by": "hand", "left_out": {"no_text": 3, "no_label": 0}}, "rows": rows,
        }},
        "tables": {"own": {"title": "Own work", "sentence": "It works.", "facts": facts.stored(),
                           "tables": {"rows": declared.stored()}}},
    }  # fmt: skip

    seen, further = analyses(view)

    assert (seen.title, seen.lead, seen.anchor) == ("Own work", "It works.", "own")
    (shown,) = seen.tables
    assert shown.folded
    assert shown.more == 1
    assert len(shown.figures) == 1
    assert [one.text for one in shown.headings] == ["Group", "Share"]
    assert [one.said for one in shown.rows[0]] == ["group 0", "50.0% (40.0% to 60.0%)"]
    assert cells(further.tables[0]) == ["Made by", "hand", "Left out: no text", "3"]


def test_a_sentence_is_told_of_rows_that_have_its_numbers() -> None:
    declared = {
        "rows": kinds.Table(
            kinds.Columns(kinds.text("who"), kinds.share("share", of="k n"), kinds.count("k n"))
        )
    }
    rows = [
        {"who": "all", "share": 0.5, "k": 25, "n": 55},
        {"who": "few", "share": None, "k": 5, "n": 55},
        {"who": "all", "share": None, "k": 5, "n": 55},
    ]
    sentence = Sentence("[Of {n} {k} are told: {share}.]", "rows", where={"who": ["all"]})

    said = sentence.said({"facts": {}, "rows": rows}, kinds.Columns(), declared,
                         Rounding(10, {"instances": 1000}))  # fmt: skip

    assert said == "Of about 55 about 25 are told: 50%."
