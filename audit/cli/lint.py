"""``audit lint``: find faults in a hierarchy's structure, without data."""

from __future__ import annotations

from typing import Annotated

import typer

from audit.base.settings import Argument, HierarchyShape
from audit.cli.options import FailOn, JUnitFile, PrintJson, Quiet
from audit.cli.output import print_json, print_shown, shown_progress
from audit.runs.settings import Relations, TitleFiles


def lint(
    hierarchy: Annotated[
        str, Argument("Name of a built-in hierarchy, or a hierarchy file or folder.")
    ],
    shape: HierarchyShape = HierarchyShape(),  # noqa: B008 - frozen
    titles: TitleFiles = (),
    relations: Relations = (),
    fail_on: FailOn = "never",
    as_json: PrintJson = False,
    quiet: Quiet = False,
    junit: JUnitFile = None,
) -> None:
    """Find faults in a hierarchy's structure: redundant edges, titles that clash."""
    with shown_progress() as progress:
        from audit.cli.ci_output import refuse_foreign_file
        from audit.hierarchies.lint import lint as linted

        refuse_foreign_file(junit)
        progress("reading")
        result = linted(hierarchy, relations=relations, titles=titles, **shape.shape())
    if as_json:
        print_json(result.to_dict())
    else:
        from audit.cli.terminal.listings import lint_summary

        print_shown(lint_summary(result))
    from audit.cli.ci_output import publish
    from audit.cli.outcomes import FAILING, of_lint

    publish(of_lint(result, fail_on), junit)
    raise typer.Exit(int(any(one.severity in FAILING[fail_on] for one in result.findings)))
