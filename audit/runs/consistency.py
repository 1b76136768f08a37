"""Consistency of a run: of its tables with each other, and of rendered reports read back."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from audit.base.errors import first_cases
from audit.disclosure import Cell, carried, labelled, labelled_below, only_residual_below
from audit.results.published_cells import evidence_cells, pair_cells
from audit.results.result import AuditResult

if TYPE_CHECKING:
    from pypdfium2 import PdfPage


def disagreements(result: AuditResult) -> Iterator[str]:
    """Describe each contradiction between the tables; yields nothing if they are consistent.

    A node's support is at least its number of labels and at most the support of its parents, a pair
    has the supports of its nodes and no more instances than either, and a finding has the counts of
    the tables.

    Args:
        result: The run, read back.

    Takes the time of reading the pair table once.
    """
    faults = {
        "nodes with more labels than instances": _too_many_labels(result),
        "nodes carried by more instances than a parent": _above_a_parent(result),
        "pairs that have not the supports of their nodes": _other_supports(result),
        "pairs with more instances than a node of theirs": _beyond_supports(result),
        "parents with other counts below them than they can have": _beyond_parents(result),
        "findings with other counts than the tables": _other_findings(result),
    }
    for fault, cases in faults.items():
        named = list(cases)
        if named:
            yield f"{fault}: {first_cases(named)}"


def _too_many_labels(result: AuditResult) -> Iterator[str]:
    wrong = (pl.col("direct") > pl.col("support")) | (pl.col("support") > _instances(result))
    yield from result.nodes.filter(wrong)["node"]


def _instances(result: AuditResult) -> int:
    return int(result.ledger["instances"])


def _above_a_parent(result: AuditResult) -> Iterator[str]:
    support = result.nodes.select("node", "support")
    beside = result.edges.join(support, left_on="child", right_on="node").join(
        support, left_on="parent", right_on="node", suffix="_parent"
    )
    yield from beside.filter(pl.col("support") > pl.col("support_parent"))["child"].unique().sort()


def _other_supports(result: AuditResult) -> Iterator[tuple[str, str]]:
    support = result.nodes.lazy().select("node", "support")
    beside = result.pairs.select("a", "b", "support_a", "support_b")
    for side in ("a", "b"):
        own = support.rename({"node": side, "support": f"own_{side}"})
        beside = beside.join(own, on=side, how="left")
    wrong = pl.any_horizontal(
        pl.col(f"support_{side}").ne_missing(pl.col(f"own_{side}")) for side in ("a", "b")
    )
    yield from _ends(beside.filter(wrong))


def _beyond_supports(result: AuditResult) -> Iterator[tuple[str, str]]:
    least = pl.min_horizontal("support_a", "support_b")
    wrong = (pl.col("joint") > least) | (pl.col("joint_entailed") > pl.col("joint"))
    yield from _ends(result.pairs.filter(wrong))


def _ends(pairs: pl.LazyFrame) -> Iterator[tuple[str, str]]:
    ends = pairs.select("a", "b").sort("a", "b").collect(engine="streaming")
    yield from ((a, b) for a, b in ends.iter_rows())


def _beyond_parents(result: AuditResult) -> Iterator[str]:
    support = result.nodes.select(parent="node", carriers="support")
    beside = result.residuals.join(support, on="parent", how="left")
    wrong = (pl.col("k") > pl.col("n")) | ~(pl.col("n") <= pl.col("carriers")).fill_null(False)
    yield from beside.filter(wrong)["parent"].unique().sort()


def _other_findings(result: AuditResult) -> Iterator[str]:
    """Findings whose counts of nodes, pairs and residual use are not those of the tables."""
    release = result.release
    counts_of = {
        finding.id: (evidence_cells(release, check.name, finding.nodes, finding.key), finding)
        for check in result.checks
        for finding in check.findings
    }
    counts = _counts(result, {f.nodes[-2:] for c, f in counts_of.values() if "support_a" in c})
    for id_, (cells, finding) in counts_of.items():
        known = {n: counts[cell] for n, cell in cells.items() if cell in counts}
        if any(n in finding.evidence and finding.evidence[n].value != known[n] for n in known):
            yield id_


def _counts(result: AuditResult, pairs: set[tuple[str, ...]]) -> dict[Cell, int]:
    """Counts of the nodes, of residual use, and of some pairs, by their cells."""
    counts = dict[Cell, int]()
    for node, support, direct in result.nodes.select("node", "support", "direct").iter_rows():
        counts |= {carried(node): support, labelled(node): direct}
    throughout = result.residuals.filter(pl.col("residual") == "all")
    for parent, k, n in throughout.select("parent", "k", "n").iter_rows():
        counts |= {only_residual_below(parent): k, labelled_below(parent): n}
    return counts | _joints(result, pairs)


def _joints(result: AuditResult, pairs: set[tuple[str, ...]]) -> dict[Cell, int]:
    release = result.release
    wanted = pl.LazyFrame(
        [(min(pair), max(pair)) for pair in sorted(pairs)],
        schema={"a": pl.String, "b": pl.String},
        orient="row",
    )
    rows = result.pairs.join(wanted, on=["a", "b"]).select("a", "b", "joint", "joint_entailed")
    return {
        (cell := pair_cells(release, a, b)["instances"]): joint - entailed * cell.differing
        for a, b, joint, entailed in rows.collect(engine="streaming").iter_rows()
    }


MARGIN = 52.0
"""Points at the top and bottom of a page that hold running heads: 18 mm of 22."""

_HYPHENS = str.maketrans({"\ufffe": "-", "\x02": "-"})
"""Characters that PDFium returns for a hyphen at the end of a line."""


@dataclass(slots=True)
class FindingText:
    """A finding in an HTML report: its id and its sentences."""

    id: str = ""
    sentences: str = ""


@dataclass(frozen=True, slots=True)
class HtmlReport:
    """An HTML report: its findings in order, and the texts set as code."""

    findings: tuple[FindingText, ...]
    codes: frozenset[str]


def read_html(path: Path) -> HtmlReport:
    """Read the findings of an HTML report.

    Raises:
        UnicodeDecodeError: If the file is not UTF-8.
    """
    parser = _Findings()
    parser.feed(path.read_text("utf-8"))
    parser.close()
    return HtmlReport(tuple(parser.findings), frozenset(parser.codes))


class _Findings(HTMLParser):
    """Gathers each article: its statement and the text below it, and the code that is its id."""

    def __init__(self) -> None:
        super().__init__()
        self.findings: list[FindingText] = []
        self.codes: list[str] = []
        self._in_article = self._in_sentence = self._in_id = self._in_code = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        classes = (dict(attrs).get("class") or "").split()
        if tag == "article":
            self._in_article = True
            self.findings.append(FindingText())
        elif tag == "code":
            self._in_code = True
            self.codes.append("")
        elif tag == "p":
            self._in_sentence = "statement" in classes or "card-text" in classes
            self._in_id = "card-id" in classes

    def handle_endtag(self, tag: str) -> None:
        if tag == "article":
            self._in_article = False
        elif tag == "code":
            self._in_code = False
        elif tag == "p":
            self._in_sentence = self._in_id = False

    def handle_data(self, data: str) -> None:
        if self._in_code:
            self.codes[-1] += data
        if not self._in_article:
            return
        if self._in_sentence:
            self.findings[-1].sentences += data
        if self._in_id and self._in_code:
            self.findings[-1].id += data


@dataclass(frozen=True, slots=True)
class PdfReport:
    """A PDF report: its text, page after page without running heads, and its attachments."""

    text: str
    attachments: dict[str, bytes] = field(repr=False)


def read_pdf(path: Path) -> PdfReport:
    """Read the text and the attachments of a PDF report with PDFium.

    Raises:
        ImportError: If the package pypdfium2 is missing.
        RuntimeError: If the file is not a PDF.

    Time grows with the pages; a page takes about 2 ms.
    """
    import pypdfium2

    with pypdfium2.PdfDocument(path) as document:
        attached = (document.get_attachment(i) for i in range(document.count_attachments()))
        attachments = {one.get_name(): bytes(one.get_data()) for one in attached}
        text = "\n".join(_body(page) for page in document)
    return PdfReport(text.translate(_HYPHENS), attachments)


def _body(page: PdfPage) -> str:
    top = page.get_height() - MARGIN
    text: str = page.get_textpage().get_text_bounded(bottom=MARGIN, top=top)
    return text


def comparable(text: str) -> str:
    """Normalise text for comparison: without spaces, ligatures and unprintable characters."""
    return "".join(
        character
        for character in unicodedata.normalize("NFKC", text)
        if unicodedata.category(character)[0] not in "ZC" and character != "\ufffd"
    )


def one_way(text: str) -> bool:
    """Whether text is written from left to right only, so that a PDF keeps its order."""
    return all(unicodedata.bidirectional(c) not in ("R", "AL", "AN") for c in text)
