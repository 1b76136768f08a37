"""The report as a PDF/A-3a or PDF/UA-1, with ``result.json`` attached: one call of WeasyPrint.

It is typeset in a process of its own, ``python -m reports.pdf``, which has limits of time and
memory and fetches nothing. What is read there is JSON on standard input; what is not typeset is
explained as JSON on standard error.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from audit.base.errors import RenderError

if TYPE_CHECKING:
    from reports.words import Imprint

Variant: TypeAlias = Literal["pdf/a-3a", "pdf/ua-1"]
STANDARDS: Mapping[Variant, str] = {"pdf/a-3a": "PDF/A-3a", "pdf/ua-1": "PDF/UA-1"}
ATTACHMENT = "result.json"
INSTALL_PANGO = (
    "install Pango. Debian, Ubuntu: sudo apt-get install -y libpango-1.0-0 libpangoft2-1.0-0 "
    "libharfbuzz-subset0. macOS: brew install pango"
)
AGAIN = "nothing else of the run is lost; audit report RUN renders it again, --no-pdf leaves it out"
SECONDS, MEMORY = 300, 1 << 30
"""Limits of elapsed and processor time, and of the address space in bytes."""
REFUSED = 3
"""Exit status of the process where it explains on standard error why it made no file."""
_KEPT = ("HOME", "LANG", "PATH", "SOURCE_DATE_EPOCH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR")
_KEPT_FAMILIES = ("DYLD_", "FONTCONFIG_", "LC_", "LD_LIBRARY_", "WEASYPRINT_", "XDG_")
_NAMED = 5


class NoTypesetterError(RenderError):
    """WeasyPrint, or the library Pango that it uses, is missing."""


@dataclass(frozen=True, slots=True)
class Typeset:
    """A report that is typeset.

    Args:
        unshown: Characters that no font of the machine has, or that are for private use: where
            there are any, the file claims no standard.
    """

    content: bytes
    unshown: str = ""

    def warning(self, variant: Variant = "pdf/a-3a") -> str:
        """Which characters forbid what was asked for; empty where none does.

        >>> Typeset(b"", "\\u5fc3").warning().partition(": ")[2]
        'U+5FC3 (cjk unified ideograph-5fc3)'
        """
        if not self.unshown:
            return ""
        more = len(self.unshown) - _NAMED
        named = [f"U+{ord(one):04X} ({unicodedata.name(one, 'no name').lower()})"
                 for one in self.unshown[:_NAMED]]  # fmt: skip
        named += [f"{more:,} more"] if more > 0 else []
        return (
            f"it is no {STANDARDS[variant]}, for no font of this machine has characters of it;"
            f" install a font of their script, and render it again: {', '.join(named)}"
        )


def typeset(
    view: Mapping[str, Any],
    imprint: Imprint | None = None,
    moment: datetime | None = None,
    variant: Variant = "pdf/a-3a",
) -> Typeset:
    """Typeset the report of a view.

    Args:
        moment: When it says that it was made; None for now, or the day of ``SOURCE_DATE_EPOCH``.
        variant: The standard that it follows; no file follows both.

    Raises:
        RenderError: If WeasyPrint or Pango is missing, a limit is reached, or it fails.
        InputError: If ``SOURCE_DATE_EPOCH`` is no timestamp.
    """
    import hashlib

    from audit.base.disk import dated
    from audit.results.result import to_json_bytes
    from reports.page import html_text
    from reports.words import UNNAMED

    attached = to_json_bytes(view)
    return _made(
        {
            "html": html_text(view, imprint or UNNAMED, paper=True),
            "attached": attached.decode("utf-8"),
            "identifier": hashlib.sha256(attached).hexdigest()[:32],
            "moment": int((moment or dated()).timestamp()),
            "variant": variant,
        }
    )


def refuse_no_typesetter() -> None:
    """Raise NoTypesetterError if WeasyPrint or Pango is missing; takes half a second."""
    _made({"html": ""})


def _made(task: Mapping[str, Any]) -> Typeset:
    """What the process typesets; a RenderError if it refuses, fails or takes too long."""
    command = (sys.executable, "-P", "-m", "reports.pdf")
    try:
        done = subprocess.run(
            command,
            input=json.dumps(task).encode("ascii"),
            capture_output=True,
            timeout=SECONDS,
            check=False,
            env=child_environment(),
        )
    except OSError as error:
        raise RenderError("report.pdf needs a process of its own", found=str(error)) from error
    except subprocess.TimeoutExpired as late:
        raise RenderError(
            f"report.pdf must be rendered within {SECONDS} s", found="it takes longer", hint=AGAIN
        ) from late
    last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    if done.returncode == 0:
        return Typeset(done.stdout, json.loads(last)["unshown"])
    if done.returncode == REFUSED:
        raise _error_of(json.loads(last))
    raise RenderError(
        "report.pdf could not be rendered",
        found=f"the process that typesets it ended with status {done.returncode}: {last}",
        hint=f"it may use {MEMORY >> 20:,} MiB of memory; {AGAIN}",
    )


def child_environment() -> dict[str, str]:
    """Environment of the process: the module search path of this one, fonts, and little else."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT or name.startswith(_KEPT_FAMILIES)
    }
    return kept | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def _error_of(refusal: Mapping[str, str]) -> RenderError:
    found = refusal["found"].strip().partition("\n")[0]
    match refusal.get("missing"):
        case "pango":
            return NoTypesetterError(
                "report.pdf needs the system library Pango", found=found, hint=INSTALL_PANGO
            )
        case "weasyprint":
            return NoTypesetterError(
                "report.pdf needs the package weasyprint",
                found=found,
                hint="pip install weasyprint",
            )
    if found.startswith("MemoryError"):
        found = f"it needs more than {MEMORY >> 20:,} MiB of memory"
    return RenderError("report.pdf could not be rendered", found=found, hint=AGAIN)


class _UnshownError(Exception):
    """The document has characters that the standard forbids."""


_NO_MEMORY = b'\n{"found": "MemoryError"}\n'
"""The refusal that needs no memory to be made."""


def _main() -> int:
    """Read the task, typeset it within the limits, and answer."""
    answer = os.dup(1)
    os.dup2(2, 1)  # libraries that print notices do not print them into the file
    try:
        task = json.load(sys.stdin)
        _limit("RLIMIT_CPU", SECONDS)
        import weasyprint

        _limit("RLIMIT_AS", MEMORY)
        content, unshown = _written(weasyprint, task) if task["html"] else (b"", "")
    except OSError as error:
        return _refuse({"missing": "pango", "found": str(error)})
    except ImportError as error:
        return _refuse({"missing": "weasyprint", "found": str(error)})
    except MemoryError:
        os.write(2, _NO_MEMORY)
        return REFUSED
    except Exception as error:
        return _refuse({"found": f"{type(error).__name__}: {error}"})
    with os.fdopen(answer, "wb") as file:
        file.write(content)
    os.write(2, f"\n{json.dumps({'unshown': unshown})}\n".encode("ascii"))
    return 0


def _refuse(refusal: Mapping[str, str]) -> int:
    """Write to standard error, as JSON, why no file is made; returns the exit status."""
    os.write(2, f"\n{json.dumps(refusal)}\n".encode("ascii"))
    return REFUSED


def _written(weasyprint: Any, task: Mapping[str, Any]) -> tuple[bytes, str]:
    """The file, and the characters that keep it from following a standard."""
    moment = datetime.fromtimestamp(task["moment"], UTC)
    nothing = weasyprint.urls.URLFetcher(allowed_protocols=(), fail_on_errors=True)
    lacking: set[int] = set()

    def made(finisher: Any = None, **variant: str) -> bytes:
        attachment = weasyprint.Attachment(
            string=task["attached"].encode("utf-8"),
            name=ATTACHMENT,
            description="The audit's result, which this document renders",
            created=moment,
            modified=moment,
            relationship="Source",
        )
        identifier = task["identifier"].encode("ascii")
        options = {"pdf_identifier": identifier, "attachments": [attachment], "pdf_tags": True}
        document = weasyprint.HTML(string=task["html"], url_fetcher=nothing).render(
            **options, **variant
        )
        day = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
        document.metadata.created = document.metadata.modified = day
        content: bytes = document.write_pdf(finisher=finisher, **options, **variant)
        return content

    def finish(document: Any, file: Any) -> None:
        lacking.update(_unshown(document.fonts.values()))
        if lacking:
            raise _UnshownError
        for one in file.objects:  # glyphs of some fonts are pictures, which PDF/A shows as they are
            if getattr(one, "extra", {}).get("Subtype") == "/Image":
                one.extra["Interpolate"] = "false"

    try:
        return made(finish, pdf_variant=task["variant"]), ""
    except _UnshownError:
        return made(), "".join(map(chr, sorted(lacking)))


def _unshown(fonts: Iterable[Any]) -> Iterable[int]:
    """Code points that no font has, for which pages show boxes, and those for private use."""
    for font in fonts:
        yield from font.missing
        texts = "".join(font.to_unicode.values())
        yield from (ord(one) for one in texts if unicodedata.category(one) == "Co")


def _limit(name: str, most: int) -> None:
    """Lower a limit of this process, where the system has it."""
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


if __name__ == "__main__":
    os._exit(_main())  # without giving back object by object
