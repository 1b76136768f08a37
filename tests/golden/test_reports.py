"""Parts of the reports, each against its snapshot."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from audit._reports.chapters.report import Report, build
from audit._reports.charts import charts, curves
from audit._reports.charts.graph_picture import GraphEdge, draw_graph
from audit._reports.charts.palette import variables_css
from audit._reports.charts.parts import dots_spec
from audit._reports.html import environment
from fixtures import concept_results, entailment_results, explanation_results, results
from tests.unit.reports.document import Document

Golden = Callable[[str, str], None]


@pytest.fixture(scope="module")
def report() -> Report:
    return build(results.rich_result().shared())


@pytest.fixture(scope="module")
def hostile() -> Report:
    return build(results.hostile_result().shared())


def test_block(report: Report, golden: Golden) -> None:
    golden("block.html", _block(report, "residual_overuse"))


def test_block_with_small_cells(report: Report, golden: Golden) -> None:
    golden("block_small.html", _block(report, "model_habit"))


def test_hostile_block(hostile: Report, golden: Golden) -> None:
    golden("block_hostile.html", _block(hostile, "cross_branch"))


def test_check_table(report: Report, golden: Golden) -> None:
    golden("checks.html", _macro("parts/table.html.jinja", "table", report.checks))


def test_ledger(report: Report, golden: Golden) -> None:
    golden("ledger.html", _macro("parts/table.html.jinja", "table", report.ledger))


def test_cover(report: Report, golden: Golden) -> None:
    source = environment().get_template("parts/cover.html.jinja").render(report=report, paper=True)
    document = Document(source)
    lines = [re.sub(r"\s+", " ", piece).strip() for piece in document.pieces]
    text = "\n".join(filter(None, lines)).replace(report.result_sha256, "(digest)")
    golden("cover.txt", text + "\n")


def test_chart_specification(golden: Golden) -> None:
    rows = [{"label": "401.9 Hyper…", "share": 0.7, "low": 0.6, "high": 0.8, "counts": "70 of 100"}]
    specification = dots_spec(rows, "share", limit=0.5)
    golden("residual_spec.json", json.dumps(specification, indent=1, ensure_ascii=False) + "\n")


def test_alignment_specification(golden: Golden) -> None:
    row = {"label": "401-405 Hyper…", "net": 0.5, "low": 0.4, "high": 0.6, "counts": "50% of 90"}
    specification = charts.alignment_spec([{**row, "recovered": 0.56, "lost": -0.06}])
    golden("alignment_spec.json", json.dumps(specification, indent=1, ensure_ascii=False) + "\n")


def test_beside_specification(golden: Golden) -> None:
    marks = {"data": 0.02, "predicted": None, "confusion": 0.04, "low": 0.03, "high": 0.05}
    specification = charts.beside_spec([{"label": "a × b", "relation": "siblings", **marks}])
    golden("beside_spec.json", json.dumps(specification, indent=1, ensure_ascii=False) + "\n")


@pytest.mark.parametrize("chapter", ["model", "behaviour", "exchanges", "beside"])
def test_chapter_on_a_model(report: Report, golden: Golden, chapter: str) -> None:
    golden(f"{chapter}.txt", _words(f"sections/{chapter}.html.jinja", report))


ANALYSES = {
    "explanations": (
        explanation_results,
        ("explained", "reasons", "where", "agreement", "against", "ledger"),
    ),
    "concepts": (
        concept_results,
        ("tested", "matrix", "accuracies", "nodes", "ablation", "ledger"),
    ),
    "entailment": (entailment_results, ("around",)),
}
"""What the pins of whole runs do not hold of each analysis, by its views made by hand."""


@pytest.mark.parametrize("name", ANALYSES)
def test_chapters_on_an_analysis(golden: Golden, name: str) -> None:
    view, chapters = ANALYSES[name]
    report = build(view.measured())
    for chapter in chapters:
        golden(f"{name}_{chapter}.txt", _words(f"sections/{chapter}.html.jinja", report))


def test_picture_of_a_graph(golden: Golden) -> None:
    edges = [
        GraphEdge(0, 1, "valid"),
        GraphEdge(1, 2, "valid"),
        GraphEdge(0, 2, "denied"),
        GraphEdge(3, 1, "both"),
        GraphEdge(2, 3, "valid"),
    ]
    drawing = draw_graph(["dog", "pet", "companion", "cat"], edges)
    golden("graph.svg", drawing.markup.replace("><", ">\n<") + "\n")


def test_accuracies_specification(golden: Golden) -> None:
    row = {
        "line": 0, "label": "site", "panel": 1, "value": 0.8, "low": 0.7, "high": 0.9,
        "chance": 0.4, "zone_from": 0.75, "zone_to": 1.0, "counts": "",
    }  # fmt: skip
    specification = curves.accuracies_spec([row], ["rest", "one"], 0.75)
    golden("accuracies_spec.json", json.dumps(specification, indent=1, ensure_ascii=False) + "\n")


def test_curves_specification(golden: Golden) -> None:
    ends = {"low": 0.55, "high": 0.65}
    curve = [
        {"k": "1", "value": 0.6, "chance": 0.5, **ends},
        {"k": "peaks", "value": 0.6, "chance": 0.5, **ends},
    ]
    specification = curves.agreement_spec([curve], ["1", "peaks"])
    golden("curves_spec.json", json.dumps(specification, indent=1, ensure_ascii=False) + "\n")


def test_descriptions_of_the_pictures(report: Report, golden: Golden) -> None:
    golden(
        "alt.txt",
        "\n\n".join(f"{figure.title}\n{figure.alt}" for figure in report.all_figures) + "\n",
    )


def test_colours(golden: Golden) -> None:
    golden("colours.css", variables_css() + "\n")


def _words(template: str, report: Report) -> str:
    """The text of a part of the printed report, a line for each piece, without its pictures."""
    source = environment().get_template(template).render(report=report, paper=True)
    document = Document(re.sub(r"<svg class=\"chart.*?</svg>", "", source, flags=re.DOTALL))
    lines = [re.sub(r"\s+", " ", piece).strip() for piece in document.pieces]
    return "\n".join(filter(None, lines)) + "\n"


def _block(report: Report, check: str) -> str:
    block = next(one for one in report.blocks if one.check == check)
    return _macro("parts/block.html.jinja", "block", block, False)


def _macro(template: str, name: str, *arguments: object) -> str:
    macro = getattr(environment().get_template(template).module, name)
    return str(macro(*arguments))
