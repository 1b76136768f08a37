"""Options of several commands that decide no number: what is read, printed and written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from audit.base.settings import FIRST, OUTPUT, POLICY, Argument, Option

Severity: TypeAlias = Literal["never", "error", "warning"]
"""Least severity of findings that gives exit status 1."""

RunFolder: TypeAlias = Annotated[Path, Argument("Folder of a run.", metavar="RUN")]
FailOn: TypeAlias = Annotated[
    Severity, Option("Exit 1 on findings of this severity or above.", POLICY)
]
WritePdf: TypeAlias = Annotated[
    bool | None,
    Option(
        "Write report.pdf; by default where WeasyPrint and Pango are installed.",
        OUTPUT,
        flag="--pdf/--no-pdf",
    ),
]
Quiet: TypeAlias = Annotated[bool, Option("Print errors alone.", OUTPUT)]
JUnitFile: TypeAlias = Annotated[
    Path | None,
    Option(
        "Also write a JUnit file, with a test case for each check.",
        OUTPUT,
        metavar="FILE",
        writes=True,
    ),
]
AsJson: TypeAlias = Annotated[
    bool, Option("Print a machine-readable summary.", OUTPUT, flag="--json")
]
PrintJson: TypeAlias = Annotated[bool, Option("Print JSON.", flag="--json")]


@dataclass(frozen=True, kw_only=True)
class NewRun:
    """What is written of an audit, and printed."""

    fail_on: FailOn = "never"
    out: Annotated[Path, Option("Folder of the run.", FIRST, writes=True)] = Path("audit-run")
    overwrite: Annotated[bool, Option("Replace an earlier run.", FIRST)] = False
    pdf: WritePdf = None
    junit: JUnitFile = None
    as_json: AsJson = False
    quiet: Quiet = False


KeepInstances: TypeAlias = Annotated[
    bool, Option("Keep each instance, for `audit cases --instance`.", OUTPUT, after="pdf")
]
