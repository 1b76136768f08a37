"""The chapters of every analysis show the shared view's numbers, and what is missing as missing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import tanh
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from jsonschema import Draft202012Validator

from audit._reports.chapters.analyses import CHAPTERS
from audit._reports.chapters.concepts.concepts import NUMBERS
from audit._reports.chapters.entailment.graph import STEPS
from audit._reports.chapters.report import Report, build, sections
from audit._reports.html import html_text
from audit._reports.words.words import UNDEFINED
from audit.concepts.analysis import SHARED as OF_CONCEPTS
from audit.entailment.analysis import SHARED as OF_ENTAILMENT
from audit.explanations.analysis import SHARED as OF_EXPLANATIONS
from audit.runs.analyses import ANALYSES
from fixtures import concept_results, entailment_results, explanation_results, results
from tests.unit.reports.document import Document
from tests.unit.reports.shown import forms_of, numbers_of, tables_of, text_of

_NUMBER = re.compile(r"[+−]?\d[\d,]*\.?\d*%?")
_WORDS = re.compile(r"428\.3|phrases|<0\.1%|below 0\.0001")
"""What holds digits beside numbers: a name, and bounds."""
SCHEMA = Path(__file__).parents[3] / "docs" / "result.schema.json"
OF_RELEASE = {"release", "pictures", "coverage", "model"}

View = dict[str, Any]


def _means(tested: Mapping[str, Any]) -> Iterator[View]:
    """Shares, and means over splits, by another route than the chapters take."""
    facts = tested["facts"]
    for count in (facts["used"], *facts["left_out"].values()):
        yield {"share": count / facts["instances"]}
    controls = pl.DataFrame(tested["controls"], infer_schema_length=None)
    yield from controls.group_by("dimension", "judged").agg(pl.col(NUMBERS).mean()).to_dicts()
    iterations = pl.DataFrame(tested["iterations"], infer_schema_length=None)
    keys = ("dimension", "ablation", "iteration", "read", "probe")
    measured = pl.col("accuracy", "chance", "removed", "variance_kept").mean()
    yield from iterations.group_by(keys).agg(measured, splits=pl.len()).to_dicts()


def _tuples(stated: Mapping[str, Any]) -> Iterator[float]:
    """Texts by classes of their numbers."""
    shape = pl.DataFrame(stated["graph_shape"]).group_by("relation", "measure", maintain_order=True)
    for _, rows in shape:
        values = rows.select("value", "texts").rows()
        for low, high in zip(STEPS, (*STEPS[1:], 10**9), strict=True):
            yield sum(texts for value, texts in values if low <= value < high)


@dataclass(frozen=True, eq=False)
class Told:
    """An analysis: its views, and what its chapters say.

    Args:
        view: Module of its views ``measured``, ``as_told`` and ``bare``.
        tables: What is shared of it.
        computed: Numbers that chapters compute.
        alone: What its chapters say first of the release, where there is no other one.
        unsaid: What a report without it does not hold.
        uncounted: Tables whose numbers are not those of the view.
    """

    name: str
    view: Any
    tables: Mapping[str, object]
    computed: Callable[[Mapping[str, Any]], object]
    alone: tuple[str, str]
    unsaid: tuple[str, ...]
    uncounted: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name


TOLD = (
    Told(
        "explanations",
        explanation_results,
        OF_EXPLANATIONS,
        lambda view: [*map(tanh, numbers_of(view)), 0.0001],
        ("Explained instances", "212"),
        ("Delta-A", "agreement-0"),
    ),
    Told(
        "concepts",
        concept_results,
        OF_CONCEPTS,
        lambda view: list(_means(view)),
        ("Instances in tests", "907 of 1,037"),
        ("is_token_of_type", ".answers"),
        ("concept-states",),
    ),
    Told(
        "entailment",
        entailment_results,
        OF_ENTAILMENT,
        lambda view: list(_tuples(view)),
        ("Tuples", "347"),
        ("entailment-", "AbsPyramid"),
    ),
)
of_each = pytest.mark.parametrize("told", TOLD, ids=str)


@cache
def report_of(told: Told, view: str = "measured") -> Report:
    return build(getattr(told.view, view)())


def text_cells(told: Told, view: str) -> set[str]:
    tables = tables_of(report_of(told, view).of(told.name))
    return {text_of(cell) for table in tables for row in table.rows for cell in row}


@of_each
def test_the_views_are_results_with_a_row_in_every_table(told: Told) -> None:
    schema = json.loads(SCHEMA.read_text("utf-8"))
    shared = told.view.measured()
    assert {*shared[told.name]} >= {"facts", *told.tables}
    assert all(shared[told.name][name] for name in told.tables)
    for view in (shared, told.view.as_told(), told.view.bare()):
        Draft202012Validator(schema).validate(json.loads(json.dumps(view)))


@pytest.mark.slow
@of_each
def test_every_shared_table_is_told(told: Told) -> None:
    shared = told.view.measured()
    page = html_text(shared)
    for name in told.tables:
        less = {**shared, told.name: {**shared[told.name], name: []}}
        assert html_text(less) != page, name


@of_each
def test_every_number_of_a_table_stands_in_the_shared_view(told: Told) -> None:
    shared = told.view.measured()[told.name]
    written = forms_of([shared, told.computed(shared)])
    tables = list(tables_of(report_of(told).of(told.name)))
    assert len(tables) >= 15
    for table in tables:
        for row in (*table.rows, *([table.total] if table.total else [])):
            for cell, heading in zip(row, table.columns, strict=True):
                if heading.numeric and table.id not in told.uncounted:
                    unknown = {*_NUMBER.findall(_WORDS.sub("", text_of(cell)))} - written
                    assert not unknown, (table.id, heading.heading, unknown)


@of_each
@pytest.mark.parametrize("view", ["measured", "as_told", "bare"])
def test_rows_have_a_cell_for_every_column_and_tables_an_id_of_their_own(
    told: Told, view: str
) -> None:
    tables = {table.id: table for table in tables_of(report_of(told, view).of(told.name))}
    for table in tables_of(report_of(told, view).of(told.name)):
        assert tables[table.id] == table
        assert all(len(row) == len(table.columns) for row in table.rows), table.id
        assert not table.total or len(table.total) == len(table.columns)


@of_each
def test_every_picture_is_drawn_described_and_in_the_order_of_its_section(told: Told) -> None:
    figures = report_of(told).of(told.name).figures
    page = html_text(told.view.measured())
    for figure in figures:
        assert "<path" in figure.drawing.markup
        assert "NaN" not in figure.drawing.markup
        assert figure.table.rows
        assert figure.alt.endswith(".")
    places = [page.index(f'id="figure-{figure.id}"') for figure in figures]
    assert places == sorted(places)


@of_each
def test_small_counts_are_told_as_fewer_and_nothing_else_is_drawn(told: Told) -> None:
    cells = text_cells(told, "as_told")
    assert {"<11", UNDEFINED} <= cells
    figures = report_of(told, "as_told").all_figures
    assert all("NaN" not in figure.drawing.markup for figure in figures)


@of_each
def test_alone_it_is_the_release_and_a_release_has_no_chapters(told: Told) -> None:
    report = report_of(told)
    assert not OF_RELEASE & {section.id for section in sections(report)}
    assert report.release.facts[0] == told.alone


@pytest.mark.slow
@pytest.mark.parametrize("told", TOLD[:2], ids=str)
def test_beside_a_dataset_both_are_told(told: Told) -> None:
    own = {section.id for section in sections(report_of(told))}
    both = {section.id for section in sections(build(told.view.measured(alone=False)))}
    assert own | OF_RELEASE <= both


@of_each
def test_without_it_nothing_is_said_of_it(told: Told) -> None:
    view = results.rich_result().shared()
    page = html_text(view)
    assert build(view).of(told.name) is None
    assert not [words for words in told.unsaid if words in page]


@of_each
def test_a_page_is_sound_and_obeys_no_text(told: Told) -> None:
    document = Document(html_text(told.view.measured()))
    ids = [attributes["id"] for _, attributes in document.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert not document.unbalanced
    assert len(document.of("script")) == 1
    assert told.view.HOSTILE.replace(" ", "") in document.text


def test_the_formats_of_labels_alone_are_those_of_runs() -> None:
    shown = [(chapters.name, chapters.format) for chapters in CHAPTERS]
    assert shown == [(kind.name, kind.format) for kind in ANALYSES]
