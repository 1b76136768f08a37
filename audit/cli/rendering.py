"""Rendering of reports at the end of a command; a failure does not affect other outputs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from audit.base.errors import InputError, RenderError
from audit.base.progress import Progress

if TYPE_CHECKING:
    from reports.pdf import Variant
    from reports.words import Imprint


def imprint_of(settings: Mapping[str, Any], judging: Mapping[str, Any] | None = None) -> Imprint:
    """What the report of a run says of itself, by the settings in its manifest."""
    from reports.words import Imprint

    day = (judging or settings).get("today")
    return Imprint(
        title=settings.get("title") or "",
        name=Path(settings.get("dataset") or "").name,
        day=None if day is None else date.fromisoformat(str(day)),
    )


def imprint_of_run(folder: Path) -> Imprint:
    """What the report of a run says of itself, by the manifest in its folder."""
    return _imprint_of_manifest(_manifest_of(folder))


def _imprint_of_manifest(manifest: Mapping[str, Any]) -> Imprint:
    """The imprint by the settings and judging that a manifest records."""
    return imprint_of(manifest.get("settings") or {}, manifest.get("judging"))


def rendered_again(
    name: str, shared: Mapping[str, Any], manifest: Mapping[str, Any], kept: bytes
) -> bytes:
    """The bytes of a report of a run, rendered from what its ``result.json`` and manifest say.

    A PDF is made at the moment that the one which is kept states.
    """
    if name.endswith(".html"):
        from reports.page import html_text

        return html_text(shared, _imprint_of_manifest(manifest)).encode()
    from reports.pdf import typeset

    stated = re.search(rb"CreationDate ?\(D:(\d{14})", kept)
    moment = datetime.strptime(f"{stated[1].decode()}+0000", "%Y%m%d%H%M%S%z") if stated else None
    variant: Variant = "pdf/ua-1" if b"pdfuaid" in kept else "pdf/a-3a"
    return typeset(shared, _imprint_of_manifest(manifest), moment, variant).content


def name_of_run(folder: Path) -> str:
    """The title of a run's report by its manifest, else the name of the run's folder."""
    manifest = _manifest_of(folder)
    data = (manifest.get("identity") or {}).get("data") or {"title": ""}
    return _imprint_of_manifest(manifest).named(data) or folder.resolve().name


def _manifest_of(folder: Path) -> Mapping[str, Any]:
    """What the manifest of a run says; nothing where there is none."""
    from audit.base.files import read_json
    from audit.runs.manifest import MANIFEST

    manifest = read_json(folder / MANIFEST) if (folder / MANIFEST).is_file() else {}
    return manifest if isinstance(manifest, dict) else {}


def refuse_no_pdf(pdf: bool | None) -> None:
    """Raise InputError if the PDF is asked for, and WeasyPrint or Pango is missing."""
    if not pdf:
        return
    if find_spec("weasyprint") is None:
        raise InputError(
            "--pdf needs the package weasyprint",
            found="it is not installed",
            hint="pip install weasyprint",
        )
    from reports.pdf import NoTypesetterError, refuse_no_typesetter

    try:
        refuse_no_typesetter()
    except NoTypesetterError as error:
        needs = error.required.replace("report.pdf", "--pdf")
        raise InputError(needs, found=error.found, hint=error.hint) from error


def tell_no_pdf(
    pdf: bool | None, run: Path, unrendered: list[RenderError], *, as_json: bool = False
) -> None:
    """Print how to get the PDF, where it was left out for want of WeasyPrint or Pango."""
    if pdf is not None or as_json or unrendered or (run / "report.pdf").exists():
        return
    from reports.pdf import INSTALL_PANGO

    how = INSTALL_PANGO if find_spec("weasyprint") else "`pip install weasyprint`"
    typer.echo(f"No report.pdf: {how}. Then `audit report RUN` writes it.")


def render(
    shared: Mapping[str, Any],
    folder: Path,
    imprint: Imprint,
    pdf: bool | None,
    progress: Progress,
    name: str = "report",
    variant: Variant = "pdf/a-3a",
) -> list[RenderError]:
    """Write the reports of a view; returns the rendering errors, if any.

    Where nobody asked for a PDF (None), one is written if WeasyPrint and Pango are there.

    Args:
        name: What the files are called, before their endings.
    """
    import reports
    from reports.pdf import NoTypesetterError, typeset

    unrendered: list[RenderError] = []
    html, paper = folder / f"{name}.html", folder / f"{name}.pdf"
    progress(f"rendering {html.name}")
    with _kept_whole(html, unrendered) as path:
        reports.write_html(shared, path, imprint)
    if pdf is False or (pdf is None and not find_spec("weasyprint")):
        return unrendered
    progress(f"rendering {paper.name}")
    with _kept_whole(paper, unrendered) as path:
        try:
            made = typeset(shared, imprint, variant=variant)
        except NoTypesetterError:
            if pdf:
                raise
            return unrendered
        path.write_bytes(made.content)
        if said := made.warning(variant):
            typer.echo(f"{path.name}: {said}", err=True)
    return unrendered


@contextmanager
def _kept_whole(path: Path, unrendered: list[RenderError]) -> Iterator[Path]:
    """Yield the path; a RenderError in the block removes the file and joins ``unrendered``."""
    try:
        yield path
    except RenderError as error:
        path.unlink(missing_ok=True)
        unrendered.append(error)


def render_comparison(
    shared: Mapping[str, Any], runs: tuple[Path, Path], path: Path
) -> list[RenderError]:
    """Write the report of a comparison of two runs; returns the rendering errors, if any."""
    import reports

    unrendered: list[RenderError] = []
    with _kept_whole(path, unrendered):
        reports.write_comparison(shared, path, (imprint_of_run(runs[0]), imprint_of_run(runs[1])))
    return unrendered
