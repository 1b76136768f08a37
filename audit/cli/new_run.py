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
from audit.cli.rendering import imprint_of, rendering
from audit.cli.seal_verification import key_of, refuse_broken

if TYPE_CHECKING:
    from audit.results.result import AuditResult
    from audit.runs.pair_layout import LayoutCost
    from audit.runs.settings import Settings


def make_run(
    options: Mapping[str, Any],
    settings_of: Callable[[Mapping[str, Any]], Settings],
    *,
    command: str,
    finish: Callable[[AuditResult, Settings], None] | None = None,
) -> NoReturn:
    """Audit as the options of a command say, write a run, print its summary, and exit.

    Args:
        options: The options of the command.
        settings_of: Function that makes the settings of them.
        command: Name of the command.
        finish: Function that does what is left to do with the result of a whole run.
    """
    with user_mistakes():
        from audit.cli.ci.junit import refuse_no_file
        from audit.cli.ci.outcomes import of_audit
        from audit.cli.ci.publishing import publish
        from audit.runs.folder import refuse_occupied

        refuse_occupied(options["out"], overwrite=options["overwrite"])
        refuse_no_file(options["junit"], options["out"])
        settings = settings_of(options)
        with shown_progress() as progress:
            progress("starting")
            result, unrendered, layout = _written(settings, options, progress)
        summarise(result, options["out"], unrendered, as_json=options["as_json"])
        if layout.pairs and not options["as_json"]:
            typer.echo(_layout_in_words(layout))
        if finish is not None:
            finish(result, settings)
        title = settings.title or ""
        outcome = of_audit(command, result.shared(), options["fail_on"], unrendered, title)
        publish(outcome, options["junit"])
        raise typer.Exit(exit_status(result, options["fail_on"], unrendered))


def _written(
    settings: Settings, options: Mapping[str, Any], progress: Progress
) -> tuple[AuditResult, list[RenderError], LayoutCost]:
    """Write a sealed run; returns its result, rendering errors, and the cost of its pair layout."""
    from audit.runs.folder import write_tables, writing_pairs, writing_run
    from audit.runs.inputs import stated_policy
    from audit.runs.make import audited, keeping_count
    from audit.runs.manifest import seal
    from audit.runs.seal_key import with_keyed_data

    key, forced = key_of(options["seal_key"]), _broken(settings, options.get("force", False))
    out, started = options["out"], datetime.now(UTC)
    with (
        keeping_count(out, settings.engine) as checkpoint,
        _resumable(checkpoint),
        writing_run(out, overwrite=options["overwrite"]) as folder,
    ):
        made = audited(
            settings,
            stated_policy(settings),
            keep_instances=options.get("keep_instances", False),
            checkpoint=checkpoint,
            resume=options.get("resume", False),
            progress=progress,
        )
        result = with_keyed_data(made.result, key)
        imprint = imprint_of(settings.model_dump(mode="json"))
        with (
            writing_pairs(result, folder) as pairs,
            rendering(result, folder, imprint, options["pdf"], progress) as unrendered,
        ):
            progress("writing tables")
            layout = write_tables(result, folder, progress, pairs)
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
    return result, unrendered, layout


def _layout_in_words(layout: LayoutCost) -> str:
    """What `audit explore` takes of the time and the disk of a run, in a line."""
    size, seconds = layout.bytes / 1e6, layout.seconds
    return f"Pairs by node for audit explore: {layout.pairs:,}, {size:,.1f} MB, {seconds:,.1f} s"


def _broken(settings: Settings, force: bool) -> tuple[str, ...]:
    """What is broken of the runs that the settings name, if they are read in spite of it."""
    named = (settings.reference, settings.add_to, *settings.protected_with)
    return refuse_broken([run for run in named if run], None, force)


@contextmanager
def _resumable(checkpoint: Path | None) -> Iterator[None]:
    """Say how to continue a count in batches that was interrupted and kept itself."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint and checkpoint.exists():
            typer.echo("Interrupted. The same command with --resume continues.", err=True)
        raise
