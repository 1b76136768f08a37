"""``audit run``: audit a dataset and write a run."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from audit.base.errors import InputError
from audit.base.machine import MOST_CORES
from audit.base.settings import LARGE_DATA, OUTPUT, Option
from audit.cli.new_run import make_run
from audit.cli.options import Force, KeepInstances, NewRun
from audit.runs.settings import Settings


def run(
    settings: Settings,
    output: NewRun,
    keep_instances: KeepInstances = False,
    force: Force = False,
    resume: Annotated[
        bool,
        Option("Continue a count in batches that was interrupted.", LARGE_DATA, after="memory"),
    ] = False,
    jobs: Annotated[
        int | None,
        Option(
            "Threads to count with; by default one per core.",
            LARGE_DATA,
            least=1,
            most=MOST_CORES,
        ),
    ] = None,
    config: Annotated[
        Path | None,
        Option(
            "TOML file of these options, or pyproject.toml with [tool.hierarchy-audit].",
            OUTPUT,
            metavar="FILE",
        ),
    ] = None,
    like: Annotated[
        Path | None,
        Option("Earlier run whose settings are taken, for other data.", OUTPUT, metavar="RUN"),
    ] = None,
) -> None:
    """Audit a dataset and write a run: HTML, PDF, JSON and tables."""
    _use_threads(jobs)
    _refuse_options_of_predictions(settings)
    make_run(
        _with_engine(settings, resume),
        output,
        command="run",
        keep_instances=keep_instances,
        resume=resume,
        force=force,
    )


def _refuse_options_of_predictions(settings: Settings) -> None:
    named = {
        f"--{settings.transform}": settings.transform,
        "--single-label": settings.single_label,
        "--multi-label": settings.single_label is False,
        "--by-order": settings.join == "by_order",
        "--by-id": settings.join == "by_id",
        "--predictions-format": settings.predictions_format,
        "--device": settings.device,
        "--levels": settings.levels,
        "--subgraph": settings.subgraphs,
        "--query": settings.queries,
    }
    given = [option for option, value in named.items() if value]
    if given and not settings.predictions:
        raise InputError(f"{', '.join(given)} goes with --predictions", found="no predictions")


def _with_engine(settings: Settings, resume: bool) -> Settings:
    """The settings with the engine that counts, unless their size decides it.

    Raises:
        InputError: If an option is of another one.
    """
    chosen = settings.engine or ("stream" if resume else settings.counting)
    goes_with = {
        "--memory": (settings.memory is not None, "stream"),
        "--resume": (resume, "stream"),
        "--master": (settings.master, "spark"),
    }
    for option, (given, needed) in goes_with.items():
        if given and chosen != needed:
            raise InputError(f"{option} goes with --engine {needed}", found=chosen)
    if settings.add_to and chosen == "memory":
        raise InputError("--add-to goes with --engine stream, spark or sql", found=chosen)
    return settings if settings.large else replace(settings, engine=chosen)


def _use_threads(jobs: int | None) -> None:
    """Count with so many threads; only before the libraries that count are loaded."""
    if jobs is not None:
        for name in ("AUDIT_JOBS", "POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ[name] = str(jobs)
