"""``audit lint``: find faults in a hierarchy's structure, without data."""

from __future__ import annotations

from typing import Annotated

import typer

from audit.base.limits import limits
from audit.cli.options import (
    Dangling,
    DanglingEdges,
    FailOn,
    FailOnSeverity,
    JUnitFile,
    Limits,
    Relations,
    TitleFiles,
)
from audit.cli.output import print_json, print_shown, shown_progress, user_mistakes
from audit.cli.stated_limits import limits_of

_FAILING = {
    FailOn.never: (),
    FailOn.error: ("error",),
    FailOn.warning: ("error", "warning"),
}


def lint(
    hierarchy: Annotated[
        str, typer.Argument(help="Name of a built-in hierarchy, or a hierarchy file or folder.")
    ],
    format: Annotated[
        str | None, typer.Option(help="Format of the file; recognised if not given.")
    ] = None,
    titles: TitleFiles = None,
    relations: Relations = None,
    dangling: DanglingEdges = None,
    fail_on: FailOnSeverity = FailOn.never,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    junit: JUnitFile = None,
    limit: Limits = None,
) -> None:
    """Find faults in a hierarchy's structure: cycles, redundant edges, titles that clash."""
    with user_mistakes(), shown_progress() as progress:
        from audit.cli.ci.junit import refuse_no_file
        from audit.hierarchies.lint.linting import lint as linted

        refuse_no_file(junit)
        progress("reading")
        with limits(**limits_of(limit)):
            result = linted(
                hierarchy,
                format=format,
                relations=tuple(relations or ()),
                titles=tuple(titles or ()),
                dangling="drop" if dangling is Dangling.drop else "refuse",
            )
    if as_json:
        print_json(result.to_dict())
    else:
        from audit.cli.terminal.lint import lint_summary

        print_shown(lint_summary(result))
    with user_mistakes():
        from audit.cli.ci.outcomes import of_lint
        from audit.cli.ci.publishing import publish

        publish(of_lint(result, fail_on), junit)
    failing = any(finding.severity in _FAILING[fail_on] for finding in result.findings)
    raise typer.Exit(int(failing))
