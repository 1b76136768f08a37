"""New runs: audited, rendered and sealed for the commands that make one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NoReturn

import typer

from audit.base.errors import RenderError
from audit.base.machine import give_back_freed_memory
from audit.base.plugins import using
from audit.base.progress import Progress
from audit.base.remote import allowing
from audit.base.settings import told_address
from audit.cli.options import NewRun
from audit.cli.output import exit_status, shown_progress, summarise
from audit.cli.rendering import imprint_of, refuse_no_pdf, render, tell_no_pdf

if TYPE_CHECKING:
    from audit.results.result import AuditResult
    from audit.runs.settings import Settings


def make_run(
    settings: Settings,
    output: NewRun,
    *,
    command: str,
    keep_instances: bool = False,
    finish: Callable[[], None] | None = None,
) -> NoReturn:
    """Audit as settings say, write a run, print its summary, and exit."""
    from audit.cli.ci_output import publish, refuse_foreign_file
    from audit.cli.outcomes import of_audit
    from audit.runs.folder import refuse_occupied

    refuse_occupied(output.out, overwrite=output.overwrite)
    refuse_foreign_file(output.junit)
    refuse_no_pdf(output.pdf)
    with shown_progress() as progress, using(settings.plugins), allowing(settings.allow_network):
        result, unrendered = _written(settings, output, progress, keep_instances)
    summarise(result, output.out, unrendered, as_json=output.as_json)
    if finish is not None:
        finish()
    tell_no_pdf(output.pdf, output.out, unrendered, as_json=output.as_json)
    title, shared = settings.title or "", result.shared()
    publish(of_audit(command, shared, output.fail_on, unrendered, title), output.junit)
    raise typer.Exit(exit_status(result, output.fail_on, unrendered))


def _written(
    settings: Settings, output: NewRun, progress: Progress, keep_instances: bool
) -> tuple[AuditResult, list[RenderError]]:
    """Audit as settings say, write and seal the run; returns its result, and rendering errors."""
    from audit.runs.folder import write_tables, writing_run
    from audit.runs.inputs import stated_policy
    from audit.runs.make import audited
    from audit.runs.manifest import seal
    from audit.runs.sealed_run import refuse_broken

    refuse_broken([settings.reference] if settings.reference else [])
    stored, started = settings.stored(), datetime.now(UTC)
    with writing_run(output.out, overwrite=output.overwrite) as folder:
        policy = stated_policy(settings)
        made = audited(settings, policy, keep_instances=keep_instances, progress=progress)
        result = made.result
        give_back_freed_memory()  # of instances, which are let go
        progress("writing tables")
        write_tables(result, folder)
        made.keep(folder)
        unrendered = render(result.shared(), folder, imprint_of(stored), output.pdf, progress)
        progress("sealing")
        command = ["audit", *map(told_address, sys.argv[1:])]
        seal(folder, result, command=command, started=started, settings=stored)
    return result, unrendered
