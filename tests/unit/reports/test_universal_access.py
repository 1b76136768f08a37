"""The PDF conforms to PDF/A-3a and PDF/UA-1: by its structure, and by veraPDF where it is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pikepdf
import pytest

import reports
from audit._reports.chapters.report import build
from audit._reports.pdf.budget import budgets
from audit._reports.pdf.pdf import paper
from audit.results.result import AuditResult
from fixtures import (
    concept_results,
    entailment_results,
    explanation_results,
    pdf_validator,
    results,
)
from fixtures.pdf_validator import FLAVOURS, Validator


def elements(pdf: pikepdf.Pdf, *tags: str) -> list[pikepdf.Object]:
    """The elements of the structure with one of the tags, from the document down."""
    found, waiting = [], list(pdf.Root.StructTreeRoot.K)
    while waiting:
        one = waiting.pop()
        if isinstance(one, pikepdf.Dictionary) and "/S" in one:
            found.append(one)
            waiting += list(one.K)
    return [one for one in found if str(one.S) in tags]


def owners(pdf: pikepdf.Pdf) -> dict[int, pikepdf.Object]:
    """What the parent tree holds: elements by mark of each page, and the element of each link."""
    nums = pdf.Root.StructTreeRoot.ParentTree.Nums
    return {int(nums[i]): nums[i + 1] for i in range(0, len(nums), 2)}


@pytest.mark.slow
def test_metadata_name_pdf_ua_and_describe_its_schema(pdf: pikepdf.Pdf) -> None:
    with pdf.open_metadata() as metadata:
        assert metadata["pdfuaid:part"] == "1"
        assert metadata["pdfaid:part"] == "3"
    source = pdf.Root.Metadata.read_bytes().decode("utf-8")
    described = ElementTree.fromstring(source.partition("?>")[2].rpartition("<?")[0])
    prefixes = described.iter("{http://www.aiim.org/pdfa/ns/schema#}prefix")
    assert [one.text for one in prefixes] == ["pdfuaid"]


def test_every_link_belongs_to_an_element_that_is_one(pdf: pikepdf.Pdf) -> None:
    owner = owners(pdf)
    links = [link for page in pdf.pages for link in page.get("/Annots", [])]

    assert len(links) > 30
    assert {str(owner[int(link.StructParent)].S) for link in links} == {"/Link"}


def test_figures_have_alternative_text_and_the_rest_is_decoration(
    rich: AuditResult, pdf: pikepdf.Pdf
) -> None:
    assert all(str(figure.get("/Alt", "")) for figure in elements(pdf, "/Figure"))
    source = paper(next(budgets(build(rich.shared()))), "")
    drawings = source.split("<svg")[1:]
    described = ["<title>" in drawing.partition("</svg>")[0] for drawing in drawings]
    hidden = ['aria-hidden="true"' in drawing.partition(">")[0] for drawing in drawings]
    assert described == [not one for one in hidden]
    assert len(elements(pdf, "/Figure")) == sum(described)


def test_lists_hold_items_and_items_a_label_and_bodies(pdf: pikepdf.Pdf) -> None:
    kids = {str(kid.S) for listed in elements(pdf, "/L") for kid in listed.K}
    parts = {str(kid.S) for item in elements(pdf, "/LI") for kid in item.K}

    assert kids <= {"/LI", "/L", "/Caption"}
    assert parts <= {"/Lbl", "/LBody", "/L"}
    assert {"/Lbl", "/LBody"} <= parts


def test_what_is_marked_on_a_page_has_its_element_and_no_other(pdf: pikepdf.Pdf) -> None:
    owner = owners(pdf)
    decorated = 0
    for page in pdf.pages:
        marks = owner[int(page.StructParents)]
        shown = set()
        for step in pikepdf.parse_content_stream(page):
            if step.operator == pikepdf.Operator("BDC"):
                shown.add(int(step.operands[1].MCID))
            decorated += step.operator == pikepdf.Operator("BMC")
        held = {place for place, one in enumerate(marks) if isinstance(one, pikepdf.Dictionary)}
        assert held == shown
        for place in held:
            assert place in list(marks[place].K)
    assert decorated


# --- by veraPDF -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def validator() -> Iterator[Validator]:
    if lacking := pdf_validator.missing():
        pytest.skip(f"needs {lacking}")
    with pdf_validator.running_validator() as running:
        yield running


@pytest.mark.slow
@pytest.mark.parametrize("standard", FLAVOURS)
def test_the_report_conforms(validator: Validator, pdf_path: Path, standard: str) -> None:
    assert validator.failures(pdf_path, standard) == {}


REPORTS: dict[str, Callable[[], AuditResult | dict[str, Any]]] = {
    "empty": results.empty_result,
    "explained": explanation_results.measured,
    "tested": concept_results.measured,
    "entailed": entailment_results.measured,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", REPORTS)
def test_reports_of_every_kind_conform(validator: Validator, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "report.pdf"
    reports.write_pdf(REPORTS[kind](), path)

    assert {standard: validator.failures(path, standard) for standard in FLAVOURS} == {
        standard: {} for standard in FLAVOURS
    }


@pytest.mark.slow
@pytest.mark.parametrize("standard", FLAVOURS)
def test_a_file_without_its_metadata_fails(
    validator: Validator, pdf: pikepdf.Pdf, tmp_path: Path, standard: str
) -> None:
    del pdf.Root.Metadata
    pdf.save(tmp_path / "bare.pdf")

    assert validator.failures(tmp_path / "bare.pdf", standard)


@pytest.mark.slow
def test_a_link_that_is_tagged_as_a_span_fails(
    validator: Validator, pdf: pikepdf.Pdf, tmp_path: Path
) -> None:
    link = next(one for page in pdf.pages for one in page.get("/Annots", []))
    owners(pdf)[int(link.StructParent)].S = pikepdf.Name.Span
    pdf.save(tmp_path / "span.pdf")

    assert [rule[:6] for rule in validator.failures(tmp_path / "span.pdf", "PDF/UA-1")] == [
        "7.18.5"
    ]
