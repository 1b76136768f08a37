"""New runs: audited, rendered and sealed for the commands that make one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from audit.base.errors import RenderError
from audit.base.progress import Progress
from audit.cli.output import exit_status, shown_progress, summarise, user_mistakes
from audit.cli.rendering import rendering
from audit.cli.sealing import key_of

if TYPE_CHECKING:
    from audit.results.result import AuditResult
    from audit.runs.seal_key import SealKey
    from audit.runs.settings import Settings


def audit_analysis(
    options: Mapping[str, Any],
    settings_of: Callable[[Mapping[str, Any]], Settings],
    finish: Callable[[AuditResult, Settings], None] | None = None,
) -> NoReturn:
    """Audit explanations, concepts or tuples, leave a run, tell what it says, and exit.

    Args:
        options: The options of the command.
        settings_of: Function that makes the settings of them.
        finish: Function that does what is left to do with the result of a whole run.
    """
    with user_mistakes():
        from audit.runs.folder import refuse_occupied

        out, overwrite = options["out"], options["overwrite"]
        refuse_occupied(out, overwrite=overwrite)
        settings, key = settings_of(options), key_of(options["seal_key"])
        with shown_progress() as progress:
            progress("starting")
            result, unrendered = write_new_run(
                settings, out, overwrite=overwrite, pdf=options["pdf"], key=key, progress=progress
            )
        summarise(result, out, unrendered, as_json=options["as_json"])
        if finish is not None:
            finish(result, settings)
        raise typer.Exit(exit_status(result, options["fail_on"], unrendered))


def write_new_run(
    settings: Settings,
    out: Path,
    *,
    overwrite: bool,
    pdf: bool,
    key: SealKey | None,
    progress: Progress,
    forced: tuple[str, ...] = (),
    keep_instances: bool = False,
    resume: bool = False,
) -> tuple[AuditResult, list[RenderError]]:
    """Audit as the settings say and leave a sealed run.

    Args:
        settings: What decides the numbers.
        out: Folder of the run.
        overwrite: Whether a run that is there is replaced.
        pdf: Whether report.pdf is written.
        key: Key for digests of data; None for no digest.
        progress: Progress callback.
        forced: What is broken of the runs that were read in spite of it.
        keep_instances: Whether the run keeps each instance.
        resume: Whether an interrupted count in batches goes on.

    Returns:
        The result, and what could not be rendered.
    """
    from audit.runs.folder import write_tables, writing_run
    from audit.runs.inputs import reference_run, runs_beside, stated_policy
    from audit.runs.make import audited, keeping_count
    from audit.runs.manifest import seal
    from audit.runs.seal_key import with_keyed_data

    started = datetime.now(UTC)
    with (
        keeping_count(out, settings.engine) as checkpoint,
        _resumable(checkpoint),
        writing_run(out, overwrite=overwrite) as folder,
    ):
        made = audited(
            settings,
            stated_policy(settings),
            reference_run(settings),
            runs_beside(settings),
            keep_instances=keep_instances,
            checkpoint=checkpoint,
            resume=resume,
            progress=progress,
        )
        result = with_keyed_data(made.result, key)
        with rendering(result, folder, pdf, progress) as unrendered:
            progress("writing tables")
            write_tables(result, folder)
            made.keep(folder)
        progress("sealing")
        seal(
            folder,
            result,
            command=["audit", *sys.argv[1:]],
            started=started,
            settings=settings.model_dump(mode="json"),
            key=key,
            forced=forced,
        )
    return result, unrendered


@contextmanager
def _resumable(checkpoint: Path | None) -> Iterator[None]:
    """Tell how a count in batches goes on that was interrupted and kept itself."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint and checkpoint.exists():
            typer.echo("Interrupted. The same command with --resume goes on.", err=True)
        raise
