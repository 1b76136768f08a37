"""Worker process that typesets one HTML document as PDF/A-3a.

It is `python -m audit._reports.pdf.worker`. It reads one JSON object from standard input and writes
the file to standard output. On failure it writes nothing there, explains the error as JSON in the
last line of standard error, and exits with status `REFUSED`. It imports nothing else of this
project, so that it starts fast and its memory limit applies to WeasyPrint only. Before it writes,
it does what PDF/UA-1 (ISO 14289-1) and PDF/A-3a ask for and the typesetter leaves undone, on the
objects of the file.
"""

from __future__ import annotations

import gc
import json
import os
import re
import sys
import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

_IDENTIFIED = b"""<rdf:Description rdf:about="" xmlns:pdfuaid="http://www.aiim.org/pdfua/ns/id/">
<pdfuaid:part>1</pdfuaid:part>
</rdf:Description>
<rdf:Description rdf:about="" xmlns:pdfaExtension="http://www.aiim.org/pdfa/ns/extension/"
 xmlns:pdfaSchema="http://www.aiim.org/pdfa/ns/schema#"
 xmlns:pdfaProperty="http://www.aiim.org/pdfa/ns/property#">
<pdfaExtension:schemas><rdf:Bag><rdf:li rdf:parseType="Resource">
<pdfaSchema:schema>PDF/UA identification schema</pdfaSchema:schema>
<pdfaSchema:namespaceURI>http://www.aiim.org/pdfua/ns/id/</pdfaSchema:namespaceURI>
<pdfaSchema:prefix>pdfuaid</pdfaSchema:prefix>
<pdfaSchema:property><rdf:Seq><rdf:li rdf:parseType="Resource">
<pdfaProperty:name>part</pdfaProperty:name>
<pdfaProperty:valueType>Integer</pdfaProperty:valueType>
<pdfaProperty:category>internal</pdfaProperty:category>
<pdfaProperty:description>Part of ISO 14289 that the file follows</pdfaProperty:description>
</rdf:li></rdf:Seq></pdfaSchema:property>
</rdf:li></rdf:Bag></pdfaExtension:schemas>
</rdf:Description>
"""
"""The identification, and its schema, which PDF/A wants described as it does not know it."""
_END = b"</rdf:RDF>"
_CLAIM = re.compile(rb'\s(?:pdfaid:\w+|xmlns:pdfaid)="[^"]*"')
"""The part and level of PDF/A, as attributes in the metadata."""
_MARKED = re.compile(rb"/MCID (\d+)\b")


def make_accessible(pdf: Any) -> None:
    """Change a tagged PDF/A-3a so that it follows PDF/UA-1 too.

    Parts of links are tagged as links; terms and descriptions of a list are labels and bodies of
    its items; drawings without alternative text, which only decorate, become artifacts; and
    pictures, which are the glyphs of some fonts, are shown without interpolation.
    """
    for element in [one for one in pdf.objects if _kind(one) == "/StructElem"]:
        if element["S"] in ("/Span", "/NonStruct") and _holds_annotation(pdf, element):
            element["S"] = "/Link"
        elif element["S"] == "/L":
            _itemise(pdf, element)
        elif element["S"] == "/Figure" and "Alt" not in element:
            _make_artifact(pdf, element)
    for picture in _pictures(pdf):
        picture["Interpolate"] = "false"


def identify(pdf: Any) -> None:
    """Let the metadata of a PDF/A name PDF/UA-1 too."""
    metadata = _object_at(pdf, pdf.catalog["Metadata"])
    metadata.stream = [part.replace(_END, _IDENTIFIED + _END) for part in metadata.stream]


def without_claims(pdf: Any) -> None:
    """Let the metadata of a PDF/A name no standard."""
    metadata = _object_at(pdf, pdf.catalog["Metadata"])
    metadata.stream = [_CLAIM.sub(b"", part) for part in metadata.stream]


def unshown(fonts: Iterable[Any]) -> list[int]:
    """The characters of a document that both standards forbid, as sorted code points.

    These are the characters that no font had, for which pages show boxes, and those for private
    use, whose meaning no reader can know.
    """
    lacking: set[int] = set()
    for font in fonts:
        lacking |= set(font.missing)
        texts = "".join(font.to_unicode.values())
        lacking |= {ord(one) for one in texts if unicodedata.category(one) == "Co"}
    return sorted(lacking)


def _pictures(pdf: Any) -> Iterator[Any]:
    extras = (getattr(one, "extra", {}) for one in pdf.objects)
    return (extra for extra in extras if extra.get("Subtype") == "/Image")


def _kind(thing: Any) -> str:
    return str(thing.get("Type", "")) if isinstance(thing, dict) else ""


def _object_at(pdf: Any, reference: bytes) -> Any:
    return pdf.objects[int(reference.split()[0])]


def _kids(pdf: Any, element: Any) -> list[Any]:
    """The objects below an element, without the marked content on its page."""
    return [_object_at(pdf, kid) for kid in element["K"] if isinstance(kid, bytes)]


def _holds_annotation(pdf: Any, element: Any) -> bool:
    return any(_kind(kid) == "/OBJR" for kid in _kids(pdf, element))


def _itemise(pdf: Any, listed: Any) -> None:
    """Make items of the groups of a list's terms and descriptions; blanks between are nothing."""
    for group in _kids(pdf, listed):
        if group["S"] == "/Span":
            _make_artifact(pdf, group)
        if group["S"] != "/Div":
            continue
        group["S"] = "/LI"
        for place, part in enumerate(_kids(pdf, group)):
            part["S"] = "/LBody" if place else "/Lbl"
            for inner in _kids(pdf, part):
                inner["S"] = "/NonStruct"


def _make_artifact(pdf: Any, element: Any) -> None:
    """Take an element out of the structure, and mark it on its page as decoration."""
    page = _object_at(pdf, element["Pg"])
    marked = {kid for kid in element["K"] if isinstance(kid, int)}
    _object_at(pdf, element["P"])["K"].remove(element.reference)
    nums = _object_at(pdf, _object_at(pdf, pdf.catalog["StructTreeRoot"])["ParentTree"])["Nums"]
    owners = nums[nums.index(page["StructParents"]) + 1]
    for mark in marked:
        owners[mark] = "null"
    operations = _object_at(pdf, page["Contents"]).stream
    for place, operation in enumerate(operations):
        if operation == b"BDC" and _mark(operations[place - 1]) in marked:
            operations[place - 2 : place + 1] = [b"/Artifact", b"", b"BMC"]


def _mark(properties: Any) -> int | None:
    """The number of a sequence of marked content, given its list of properties."""
    data = properties.data if hasattr(properties, "data") else properties
    found = _MARKED.search(data if isinstance(data, bytes) else str(data).encode("ascii"))
    return int(found[1]) if found else None


REFUSED = 3
"""Exit status of a failure that is explained on standard error."""

VARIANT = "pdf/a-3a"


class RefusedError(Exception):
    """Why the document cannot be typeset, as the parts of an error message."""

    def __init__(self, **refusal: object) -> None:
        self.refusal = refusal
        super().__init__(refusal)


def main() -> int:
    """Read the task, typeset it within its limits, and answer; returns the exit status."""
    gc.disable()  # the process ends when its one document is made
    answer = os.dup(1)
    os.dup2(2, 1)  # libraries that print notices do not print them into the file
    sys.stdout = sys.stderr
    try:
        task = json.load(sys.stdin)
        limit_time(task["seconds"])
        weasyprint = renderer()
        limit_memory(task["memory"])
        written = typeset(weasyprint, task)
    except RefusedError as refused:
        return _report_refusal(refused.refusal)
    except Exception as error:
        return _report_refusal({"found": f"{type(error).__name__}: {error}"})
    with os.fdopen(answer, "wb") as file:
        file.write(written)
    return 0


def renderer() -> Any:
    """Import WeasyPrint; raises RefusedError if it or one of its libraries is missing."""
    try:
        import weasyprint
    except OSError as error:
        raise RefusedError(missing="pango", found=str(error)) from error
    except ImportError as error:
        raise RefusedError(missing="weasyprint", found=str(error)) from error
    return weasyprint


def limit_time(seconds: int) -> None:
    """Limit the processor time of this process, in case its parent does not end it."""
    _limit("RLIMIT_CPU", seconds)


def limit_memory(size: int) -> None:
    """Limit the address space of this process to so many bytes, if the system supports it."""
    _limit("RLIMIT_AS", size)


def typeset(weasyprint: Any, task: dict[str, Any]) -> bytes:
    """Typeset the document; returns the bytes of the file."""
    moment = datetime.fromtimestamp(task["moment"], UTC)
    attachment = weasyprint.Attachment(
        string=task["attached"].encode("utf-8"),
        name=task["attachment"],
        description="The audit's result, which this document renders",
        created=moment,
        modified=moment,
        relationship="Source",
    )
    options = {
        "pdf_variant": VARIANT,
        "pdf_identifier": task["identifier"].encode("ascii"),
        "attachments": [attachment],
    }
    with warnings.catch_warnings():
        # WeasyPrint leaves its colour profile to be closed by the collector.
        warnings.simplefilter("ignore", ResourceWarning)
        nothing = weasyprint.urls.URLFetcher(allowed_protocols=(), fail_on_errors=True)
        document = weasyprint.HTML(string=task["html"], url_fetcher=nothing).render(**options)
        if len(document.pages) > task["pages"]:
            raise RefusedError(pages=len(document.pages))
        finisher = partial(_finish, claims=task["claims"])
        written: bytes = document.write_pdf(finisher=finisher, **options)
    return written


def _finish(document: Any, pdf: Any, *, claims: bool) -> None:
    make_accessible(pdf)
    if not claims:
        return without_claims(pdf)
    if lacking := unshown(document.fonts.values()):
        raise RefusedError(unshown=lacking)
    return identify(pdf)


def _limit(name: str, most: int) -> None:
    try:
        import resource
    except ImportError:  # Windows has none
        return
    limit = getattr(resource, name)
    hard = resource.getrlimit(limit)[1]
    within = most if hard == resource.RLIM_INFINITY else min(most, hard)
    try:
        resource.setrlimit(limit, (within, hard))
    except (OSError, ValueError):  # macOS knows the name of some limits alone
        return


def _report_refusal(refusal: dict[str, object]) -> int:
    os.write(2, f"\n{json.dumps(refusal)}\n".encode("ascii"))
    return REFUSED


if __name__ == "__main__":
    os._exit(main())  # without giving back object by object
