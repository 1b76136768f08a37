"""Publish an outcome where a CI job looks: a JUnit file, GitHub's annotations and summary."""

from __future__ import annotations

from pathlib import Path

import typer

from audit.cli.ci.github import add_summary, annotation_lines, on_github, summary_file
from audit.cli.ci.junit import write_junit
from audit.cli.ci.outcomes import Outcome


def publish(outcome: Outcome, junit: Path | None) -> None:
    """Write the JUnit file if one is asked for, and annotate if GitHub's runner runs the command.

    Annotations go to standard error, so that standard output is the same everywhere. A summary that
    cannot be written fails nothing: it is said on standard error.

    Raises:
        OutputError: If the JUnit file cannot be written.
    """
    if junit is not None:
        write_junit(outcome, junit)
    if not on_github():
        return
    for line in annotation_lines(outcome):
        typer.echo(line.encode("utf-8", "replace").decode("utf-8"), err=True)
    path = summary_file()
    if path is None:
        return
    try:
        add_summary(outcome, path)
    except OSError as error:
        typer.echo(f"No summary of the step: {error.strerror or error}", err=True)
