"""The chapters on an entailment graph show the shared view's numbers, and what is missing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit._reports.chapters.entailment.entailment import Entailment
from audit._reports.chapters.entailment.graph import graph
from audit._reports.chapters.finding_lines import evidence_lines
from audit._reports.chapters.report import Report, build, sections
from audit._reports.charts.curves import CURVES, reliability_spec
from audit._reports.words.entailment_words import (
    BASELINES,
    DETECTION,
    KINDS,
    LEFT_OUT,
    RULES,
)
from audit._reports.words.parts import Ranged, Table
from audit.entailment.reading import REASONS
from audit.entailment.tuple_files import KINDS as READ_KINDS
from audit.entailment.validity_answers import BASELINES as MEASURED_BASELINES
from audit.entailment.validity_measures import MEASURES
from audit.hierarchies.lint import RULES as LINTS
from fixtures import entailment_results
from fixtures.entailment_results import MODELS
from fixtures.examples import examples
from tests.unit.reports.shown import figure_of, tables_of, text_of

CHAPTERS = ("around", "dataset", "votes", "graph", "detection", "generation")


@pytest.fixture(scope="module")
def shared() -> dict[str, Any]:
    return entailment_results.measured()


@pytest.fixture(scope="module")
def report(shared: dict[str, Any]) -> Report:
    return build(shared)


@pytest.fixture(scope="module")
def bare() -> Report:
    return build(entailment_results.bare())


def of(report: Report) -> Entailment:
    return report.of("entailment")


def table_of(report: Report, id_: str) -> Table:
    return next(table for table in tables_of(of(report)) if table.id == id_)


def test_texts_are_dealt_into_classes_without_loss(shared: dict[str, Any]) -> None:
    chapter = graph(shared["entailment"])
    assert chapter is not None
    table = next(one for one in chapter.tables if one.id == "entailment-shape")
    for place, relation in enumerate(("Noun-Entail", "Verb-Entail", "Event-Entail")):
        for called, measure in (("Depth", "depth"), ("Instances", "children")):
            told = sum(int(text_of(row[2 + place])) for row in table.rows if row[0] == called)
            rows = shared["entailment"]["graph_shape"]
            assert told == sum(
                row["texts"]
                for row in rows
                if (row["relation"], row["measure"]) == (relation, measure)
            )


def test_around_a_finding_every_edge_of_its_neighbourhood_is_drawn(
    shared: dict[str, Any], report: Report
) -> None:
    rows = shared["entailment"]["graph_neighbourhoods"]
    findings = list(dict.fromkeys(row["finding"] for row in rows))
    around = of(report).around
    assert around is not None
    assert len(around.figures) == len(findings)
    for finding, figure in zip(findings, around.figures, strict=True):
        own = [row for row in rows if row["finding"] == finding]
        lines = re.findall(
            r'stroke-width="1.5"(?: stroke-dasharray="[\d. ]+")?/>', figure.drawing.markup
        )
        diamonds = sum(bool(row["valid"] and row["invalid"]) for row in own)
        assert len(lines) == len(own) + diamonds
        assert figure.drawing.markup.count("stroke-dasharray") == sum(
            not row["valid"] for row in own
        )
        assert len(figure.table.rows) == len(own)
        shapes = {key.shape for key in figure.key}
        assert ("denied" in shapes) == any(not row["valid"] for row in own)
        assert ("both" in shapes) == (diamonds > 0)
        assert all(row["child"] in figure.alt for row in own[:3])


def test_pictures_are_named_by_what_they_are_around(report: Report) -> None:
    around = of(report).around
    assert around is not None
    titles = [figure.title for figure in around.figures]
    assert titles[0] == "A cycle of Noun-Entail, around “companion”"
    assert "Contradictions of Noun-Entail, under one head" in titles
    assert "Denied conclusions of Noun-Entail, across heads" in titles


def test_the_first_tables_are_those_of_the_paper(shared: dict[str, Any], report: Report) -> None:
    totals = table_of(report, "entailment-totals")
    counted = [[int(text_of(cell)) for cell in row[1:]] for row in totals.rows]
    whole = [int(text_of(cell)) for cell in totals.total[1:]]
    assert [column.heading for column in totals.columns] == [
        "Relation",
        "train",
        "valid",
        "test",
        "All",
    ]
    assert [sum(column) for column in zip(*counted, strict=True)] == whole
    assert all(sum(row[:-1]) == row[-1] for row in (*counted, whole))
    assert whole[-1] == shared["entailment"]["facts"]["tuples"]
    valid = table_of(report, "entailment-valid")
    shares = [text_of(row[-1]).split()[0] for row in (*valid.rows, valid.total)]
    sums = [int(text_of(row[1])) for row in (*valid.rows, valid.total)]
    sizes = [row[-1] for row in (*counted, whole)]
    assert shares == [f"{k / n:.1%}" for k, n in zip(sums, sizes, strict=True)]


@pytest.mark.parametrize(
    ("id_", "part", "whole", "share"),
    [
        ("entailment-concepts", "Valid edges", "Of", "Share"),
    ],
)
def test_a_share_is_that_of_the_counts_beside_it(
    report: Report, id_: str, part: str, whole: str, share: str
) -> None:
    told = list(_cells(report, id_))
    assert any(row[part] != "0" for row in told)
    for row in told:
        some, every = (int(row[name].replace(",", "")) for name in (part, whole))
        assert row[share].split()[0] == (f"{some / every:.1%}" if every else "–")


@pytest.mark.parametrize(
    ("id_", "parts", "whole"),
    [
        ("entailment-coverage", ("Answered", "Neither", "No answer"), "Tuples"),
        ("entailment-generated", ("With a text", "Without a text"), "Instances with a reference"),
        ("entailment-consistency", ("Closed", "Broken", "Open"), "Chains"),
        ("entailment-generation-set", ("In both", "Only valid here"), "Valid here"),
    ],
)
def test_parts_add_up_to_their_whole(
    report: Report, id_: str, parts: tuple[str, ...], whole: str
) -> None:
    told = list(_cells(report, id_))
    assert told
    for row in told:
        assert sum(int(row[name]) for name in parts) == int(row[whole])


def _cells(report: Report, id_: str) -> Iterator[dict[str, str]]:
    """The texts of each row by heading."""
    table = table_of(report, id_)
    for row in (*table.rows, *([table.total] if table.total else [])):
        headings = (column.heading for column in table.columns)
        yield dict(zip(headings, map(text_of, row), strict=True))


def test_a_share_stands_with_its_interval(report: Report) -> None:
    for name in ("entailment-valid", "entailment-accuracy"):
        cells = [cell for row in table_of(report, name).rows for cell in row]
        assert any(isinstance(cell, Ranged) for cell in cells), name


def test_models_come_first_and_closed_forms_beside_their_baselines(report: Report) -> None:
    rows = table_of(report, "entailment-macro-f1-numbers").rows
    names = [text_of(row[0]) for row in rows]
    told = [name if on is None else f"{name}, trained on {on}" for name, on in MODELS]
    assert sorted(names[: len(MODELS)]) == sorted(told)
    assert names[len(MODELS) :][:4] == [
        "Majority", "Majority, in closed form", "Random", "Random, in closed form",
    ]  # fmt: skip
    figure = figure_of(report, "entailment-models")
    placed = re.findall(
        r'<text[^>]*translate\(-12,([\d.]+)\)"[^>]*>([^<>]+)</text>', figure.drawing.markup
    )
    lines = [text for _, text in sorted(placed, key=lambda one: float(one[0]))]
    assert lines[: len(MODELS) + 2] == [*names[: len(MODELS)], "Majority", "Random"]


def test_the_two_estimators_of_average_precision_are_told_apart(report: Report) -> None:
    captions = [table.caption for table in of(report).further]
    assert any(caption.startswith("APS, in steps,") for caption in captions)
    assert any(caption.startswith("APS, by trapezoids,") for caption in captions)


def test_transfer_is_told_against_the_relation_itself(report: Report) -> None:
    table = table_of(report, "entailment-transfer")
    rows = {text_of(row[1]): row for row in table.rows}
    headings = [column.heading for column in table.columns]
    for trained_on, row in rows.items():
        own = headings.index(trained_on)
        assert row[own] == "–"
        assert any(isinstance(cell, Ranged) for cell in row)
    assert {*rows} == {on for _, on in MODELS if on is not None}


def test_what_was_left_out_adds_up(shared: dict[str, Any], report: Report) -> None:
    rows = [tuple(map(text_of, row)) for row in of(report).read.rows]
    for name in dict.fromkeys(row[0] for row in rows):
        own = [(what, int(number)) for of_, what, number in rows if of_ == name]
        (read,) = (number for what, number in own if what == "read")
        assert sum(number for what, number in own if what != "read") == read
    assert len({row[0] for row in rows}) == 4


def test_names_in_words_are_those_that_are_measured() -> None:
    assert tuple(DETECTION) == MEASURES
    assert tuple(BASELINES) == MEASURED_BASELINES
    assert {*RULES} == {*LINTS}
    assert {*REASONS} <= {*LEFT_OUT}
    assert {*KINDS} == {*READ_KINDS}


def test_such_a_report_speaks_of_tuples(report: Report) -> None:
    assert "347 tuples, " in report.verdict.sentence
    assert report.title == "Entailment graph"
    names = [name for name, _ in report.release.facts]
    assert names[:3] == ["Tuples", "Of them valid", "Relations"]
    assert not {"Hierarchy", "Normaliser"} & set(names)
    assert report.ledger_facts == (("Tuples", "347"),)


def test_a_share_is_of_the_edges_and_not_of_the_tuples() -> None:
    evidence = {
        "instances": 47, "edges": 1, "of": 70, "share": 1 / 70, "low": 0.003, "high": 0.077,
        "chains": 28, "open": 27,
    }  # fmt: skip
    lines = dict(evidence_lines(evidence))
    assert (lines["edges"], lines["instances"]) == ("1 of 70", "47")


def test_what_is_not_there_has_no_chapter(report: Report, bare: Report) -> None:
    assert {*CHAPTERS} <= {section.id for section in sections(report)}
    ids = {section.id for section in sections(bare)}
    assert ids & {*CHAPTERS} == {"dataset", "graph"}
    assert {"tuples", "ledger", "policy"} <= ids
    assert not {"release", "pictures", "coverage", "model"} & ids
    assert of(bare).figures == ()
    assert ("Splits", "none") in of(bare).facts


@examples(15)
@given(st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=10), max_size=len(CURVES)))
def test_each_point_of_a_reliability_curve_is_at_its_numbers(curves: list[list[float]]) -> None:
    rows = [
        [{"mean_score": x, "valid_share": 1 - x, "low": None, "high": None} for x in sorted(curve)]
        for curve in curves
    ]
    specification = reliability_spec(rows)
    points = [layer for layer in specification["layer"] if layer["mark"]["type"] == "point"]
    assert len(points) == len(curves)
    for layer, curve in zip(points, rows, strict=True):
        assert layer["data"]["values"] == curve
        assert layer["encoding"]["x"]["scale"]["domain"] == [0, 1]
        assert layer["encoding"]["y"]["scale"]["domain"] == [0, 1]
