"""Consistency of a run: of its tables with each other, and of rendered reports read back."""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import polars as pl

from audit.base.errors import first_cases
from audit.disclosure import Cell, carried, labelled, labelled_below, only_residual_below
from audit.hierarchies.building import graph_digest
from audit.results.published_cells import evidence_cells, pair_cells
from audit.results.result import AuditResult
from audit.runs.folder import POLICY, restricted_names
from audit.runs.manifest import RESTRICTED, digest_of_data

if TYPE_CHECKING:
    from pypdfium2 import PdfPage


def disagreements(result: AuditResult) -> Iterator[str]:
    """Describe each contradiction between the tables; yields nothing if they are consistent.

    A node's support is at least its number of labels and at most the support of its parents, a pair
    has the supports of its nodes and no more instances than either, and a finding has the counts of
    the tables.

    Takes the time of reading the pair table once.
    """
    faults = {
        "nodes with more labels than instances": _too_many_labels(result),
        "nodes carried by more instances than a parent": _above_a_parent(result),
        "pairs with more instances than a node of theirs": _beyond_supports(result),
        "parents with other counts below them than they can have": _beyond_parents(result),
        "findings with other counts than the tables": _other_findings(result),
    }
    for fault, cases in faults.items():
        named = list(cases)
        if named:
            yield f"{fault}: {first_cases(named)}"


def _too_many_labels(result: AuditResult) -> Iterator[str]:
    instances = int(result.ledger["instances"])
    wrong = (pl.col("direct") > pl.col("support")) | (pl.col("support") > instances)
    yield from result.nodes.filter(wrong)["node"]


def _above_a_parent(result: AuditResult) -> Iterator[str]:
    support = result.nodes.select("node", "support")
    beside = result.edges.join(support, left_on="child", right_on="node").join(
        support, left_on="parent", right_on="node", suffix="_parent"
    )
    yield from beside.filter(pl.col("support") > pl.col("support_parent"))["child"].unique().sort()


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
    used = result.nodes.filter(pl.col("support") > 0)
    for node, support, direct in used.select("node", "support", "direct").iter_rows():
        counts |= {carried(node): support, labelled(node): direct}
    throughout = result.residuals.filter(pl.col("residual") == "all")
    for parent, k, n in throughout.select("parent", "k", "n").iter_rows():
        counts |= {only_residual_below(parent): k, labelled_below(parent): n}
    return counts | _joints(result, pairs)


def _joints(result: AuditResult, pairs: set[tuple[str, ...]]) -> dict[Cell, int]:
    release = result.release
    wanted = pl.DataFrame(
        [(min(pair), max(pair)) for pair in sorted(pairs)],
        schema={"a": pl.String, "b": pl.String},
        orient="row",
    )
    near = result.pair_table.within(pl.concat([wanted["a"], wanted["b"]]))
    rows = near.join(wanted.lazy(), on=["a", "b"]).select("a", "b", "joint", "joint_entailed")
    return {
        (cell := pair_cells(release, a, b)["instances"]): joint - entailed * cell.differing
        for a, b, joint, entailed in rows.collect(engine="streaming").iter_rows()
    }


def not_following(result: AuditResult, listed: Iterable[str], *, judged: bool) -> Iterator[str]:
    """Describe restricted files that no run has, and identities that do not follow from the rest.

    Args:
        judged: Whether it was judged again, by a policy that it does not keep.
    """
    known = {f"{RESTRICTED}/{name}" for name in restricted_names(result)}
    if strangers := sorted({*listed} - known):
        yield f"not of the run: {first_cases(strangers)}"
    said, nodes = result.identity, result.nodes.with_columns(pl.col("title").fill_null(""))
    rows = nodes.select("node", "title", "assignable").iter_rows()
    graph = graph_digest(rows, result.edges.iter_rows())
    found = {"sha256": graph, "nodes": len(nodes), "depth": nodes["depth"].max()}
    if any(said["hierarchy"][name] != value for name, value in found.items()):
        yield "the identity of the hierarchy is not that of its tables"
    made = result.made_with
    policies = {made.sha256, made.model_copy(update={"min_cell": None}).sha256}
    if not judged and said["policy"]["sha256"] not in policies:
        yield f"the identity of the policy is not that of {RESTRICTED}/{POLICY}"
    followed = any(source["role"] == "data" for source in result.inputs)
    if followed and result.data_sha256 != digest_of_data(result.inputs):
        yield "the identity of the data is not that of their files"


MARGIN = 44.0
"""Points at the top and bottom of a page that hold running heads alone: the text begins at 45."""

_HYPHENS = str.maketrans({"\ufffe": "-", "\x02": "-"})
"""Characters that PDFium returns for a hyphen at the end of a line."""


@dataclass(slots=True)
class FindingText:
    """A finding in an HTML report: its id and its sentences."""

    id: str = ""
    sentences: str = ""


@dataclass(frozen=True, slots=True)
class HtmlReport:
    """An HTML report: findings in order, texts set as code, all texts, what acts or leads away."""

    findings: tuple[FindingText, ...]
    codes: frozenset[str]
    text: str
    active: tuple[str, ...]


def read_html(content: bytes) -> HtmlReport:
    """Read the findings of an HTML report."""
    parser = _Findings()
    parser.feed(content.decode("utf-8"))
    parser.close()
    text = comparable("".join(parser.texts))
    return HtmlReport(tuple(parser.findings), frozenset(parser.codes), text, tuple(parser.active))


_ACTIVE_TAGS = {"iframe", "frame", "object", "embed", "applet", "form", "base", "link", "img"}
_LEADING = {"href", "src", "xlink:href", "action", "formaction", "srcset", "data", "ping"}


class _Findings(HTMLParser):
    """Gathers each article: its statement and the text below it, and the code that is its id."""

    def __init__(self) -> None:
        super().__init__()
        self.findings: list[FindingText] = []
        self.codes: list[str] = []
        self.texts: list[str] = []
        self.active: list[str] = []
        self._in_article = self._in_sentence = self._in_id = self._in_code = False
        self._scripts, self._shown = 0, True

    def _look_at(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what runs, loads or leads out of the page; its one script is allowed."""
        self._shown = tag not in ("script", "style")
        self._scripts += tag == "script"
        if tag in _ACTIVE_TAGS or (tag == "script" and self._scripts > 1):
            self.active.append(tag)
        for name, value in attrs:
            away = name in _LEADING and not (value or "").startswith("#")
            refresh = name == "http-equiv" and value != "Content-Security-Policy"
            if away or refresh or name.startswith("on"):
                self.active.append(f"{tag} {name}")
            elif name in ("title", "alt", "aria-label"):
                self.texts.append(value or "")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._look_at(tag, attrs)
        classes = (dict(attrs).get("class") or "").split()
        if tag == "article":
            self._in_article = True
            self.findings.append(FindingText())
        elif tag == "code":
            self._in_code = True
            self.codes.append("")
        elif tag in ("p", "span"):
            self._in_sentence = "statement" in classes or "card-text" in classes
            self._in_id = "card-id" in classes

    def handle_endtag(self, tag: str) -> None:
        self._shown = True
        if tag == "article":
            self._in_article = False
        elif tag == "code":
            self._in_code = False
        elif tag in ("p", "span"):
            self._in_sentence = self._in_id = False

    def handle_data(self, data: str) -> None:
        if self._shown:
            self.texts.append(data)
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
    made: datetime | None = None


def read_pdf(content: bytes) -> PdfReport:
    """Read the text and the attachments of a PDF report with PDFium.

    Time grows with the pages; a page takes about 2 ms.
    """
    import pypdfium2

    with pypdfium2.PdfDocument(content) as document:
        attached = (document.get_attachment(i) for i in range(document.count_attachments()))
        attachments = {one.get_name(): bytes(one.get_data()) for one in attached}
        text = "\n".join(_body(page) for page in document)
        stated = re.fullmatch(r"D:(\d{14})(Z.*)?", document.get_metadata_value("CreationDate"))
    made = datetime.strptime(f"{stated[1]}+0000", "%Y%m%d%H%M%S%z") if stated else None
    return PdfReport(text.translate(_HYPHENS), attachments, made)


_ACTIVE_NAMES = frozenset(
    b"/" + name
    for name in (
        *(b"JavaScript", b"OpenAction", b"Launch", b"SubmitForm", b"ImportData", b"Rendition"),
        *(b"GoToR", b"GoToE", b"GoTo3DView", b"SetOCGState", b"URI", b"RichMedia", b"Movie"),
        *(b"Sound", b"AcroForm", b"XFA", b"FileAttachment", b"FreeText", b"Widget", b"Stamp"),
        *(b"Square", b"Redact", b"Watermark", b"OCProperties", b"Encrypt", b"LZWDecode"),
        *(b"ASCIIHexDecode", b"ASCII85Decode", b"RunLengthDecode", b"Predictor", b"Crypt"),
    )
)
"""Names in a PDF that act, lead elsewhere or hide: actions, annotations, layers, other filters."""
_TOKEN = re.compile(rb"%[^\r\n]*|\((?:\\.|[^()\\])*\)|/[^\s()<>\[\]{}/%\0]+", re.DOTALL)
_NAME = re.compile(rb"/(?!EF(?![A-Za-z0-9]|[\0\s]*(?:<<|%)|[\0\s]+\d))[A-Za-z0-9]+")
"""A name. Packed bytes hold ``/EF`` by chance in one report of 200, hardly ever with a value."""
_ESCAPED = re.compile(rb"#([0-9A-Fa-f]{2})")
_UNPACKED = 1 << 28
"""Most bytes that the streams of a PDF unpack to."""


def active_in(content: bytes, attached: bytes) -> tuple[str, ...]:
    """What acts in a PDF, leads out of it, is attached beside ``attached``, or cannot be read.

    Names are read in all bytes, and outside of texts in what streams unpack to.
    """
    plain = _ESCAPED.sub(lambda found: bytes.fromhex(found[1].decode()), content)
    names = Counter(_NAME.findall(plain))
    view, left = memoryview(content), _UNPACKED
    for start in re.finditer(rb"stream\r?\n", content):
        try:
            stream = zlib.decompressobj().decompress(view[start.end() :], left)
        except zlib.error:
            continue
        left -= len(stream)
        if left <= 0:
            return (f"streams of more than {_UNPACKED:,} bytes",)
        if stream != attached:
            tokens = _TOKEN.findall(stream)
            names.update(
                _ESCAPED.sub(lambda found: bytes.fromhex(found[1].decode()), token)
                for token in tokens
                if token.startswith(b"/")
            )
    found = sorted(name.decode() for name in names.keys() & _ACTIVE_NAMES)
    return (*found, *["a further attachment"] * (names[b"/EmbeddedFile"] > 1 or names[b"/EF"] > 1))


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
