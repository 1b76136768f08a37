"""``audit run``: audit a dataset and write a run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from audit.base.errors import InputError
from audit.cli.new_run import make_run
from audit.cli.options import (
    AddTo,
    AggregationName,
    Anyway,
    AsJson,
    ClassesFile,
    CountingEngine,
    DanglingEdges,
    DatasetPath,
    Engine,
    FailOn,
    FailOnSeverity,
    Force,
    FormatName,
    GroupColumn,
    HierarchyName,
    InstanceColumn,
    Jobs,
    JUnitFile,
    KeepInstances,
    LabelColumn,
    LevelsOfMetrics,
    Limits,
    MemorySize,
    MinCell,
    OutFolder,
    Overwrite,
    PolicyFile,
    PredictionsPath,
    ProtectedWith,
    Queries,
    ReferenceRun,
    Relations,
    Resume,
    ScoresDevice,
    SealKeyFile,
    Seed,
    Sigmoid,
    SingleLabel,
    Softmax,
    SparkMaster,
    SplitColumn,
    StrataColumns,
    Subgraphs,
    Title,
    TitleFiles,
    UnlistedLabels,
    WritePdf,
)

if TYPE_CHECKING:
    from audit.runs.settings import Settings


def run(
    ctx: typer.Context,
    dataset: DatasetPath,
    hierarchy: HierarchyName,
    format: FormatName = None,
    id: InstanceColumn = None,
    label: LabelColumn = None,
    group: GroupColumn = None,
    split: SplitColumn = None,
    strata: StrataColumns = None,
    titles: TitleFiles = None,
    relations: Relations = None,
    unlisted: UnlistedLabels = None,
    dangling: DanglingEdges = None,
    anyway: Anyway = False,
    classes: ClassesFile = None,
    predictions: PredictionsPath = None,
    softmax: Softmax = False,
    sigmoid: Sigmoid = False,
    single_label: SingleLabel = False,
    device: ScoresDevice = None,
    levels: LevelsOfMetrics = None,
    aggregation: AggregationName = None,
    subgraphs: Subgraphs = None,
    queries: Queries = None,
    policy: PolicyFile = None,
    reference: ReferenceRun = None,
    protected_with: ProtectedWith = None,
    min_cell: MinCell = None,
    seed: Seed = 0,
    fail_on: FailOnSeverity = FailOn.never,
    title: Title = None,
    out: OutFolder = Path("audit-run"),
    overwrite: Overwrite = False,
    pdf: WritePdf = True,
    keep_instances: KeepInstances = False,
    junit: JUnitFile = None,
    seal_key: SealKeyFile = None,
    force: Force = False,
    as_json: AsJson = False,
    engine: CountingEngine = None,
    memory: MemorySize = None,
    resume: Resume = False,
    add_to: AddTo = None,
    master: SparkMaster = None,
    jobs: Jobs = None,
    limit: Limits = None,
) -> None:
    """Audit a dataset and write a run: HTML, PDF, JSON and tables."""
    _use_threads(jobs)
    make_run(ctx.params, _settings, command="run")


def _settings(options: Mapping[str, Any]) -> Settings:
    """Those of all options that decide the numbers."""
    _refuse_options_of_predictions(options)
    counting = _engine(options)
    from audit.checks.judging import judging_date
    from audit.cli.sizes import size_of
    from audit.cli.stated_limits import limits_of
    from audit.runs.settings import Settings

    stated = {name: options[name] for name in Settings.model_fields if name in options}
    several = ("strata", "titles", "relations", "protected_with", "subgraphs", "queries")
    stated |= {name: tuple(options[name] or ()) for name in several}
    chosen = ("unlisted", "dangling", "device", "levels", "aggregation")
    stated |= {name: options[name] and options[name].value for name in chosen}
    stated["transform"] = next((name for name in ("softmax", "sigmoid") if options[name]), None)
    stated["limits"] = limits_of(options["limit"])
    stated["memory"] = None if options["memory"] is None else size_of(options["memory"])
    return Settings(**stated | {"engine": counting.value, "today": judging_date()})


_OF_MODELS = {"subgraph": "subgraphs", "query": "queries"}


def _refuse_options_of_predictions(options: Mapping[str, Any]) -> None:
    names = ("softmax", "sigmoid", "single_label", "device", "levels")
    given = [f"--{name.replace('_', '-')}" for name in names if options[name]]
    given += [f"--{name}" for name, key in _OF_MODELS.items() if options[key]]
    if given and options["predictions"] is None:
        raise InputError(f"{', '.join(given)} goes with --predictions", found="no predictions")
    if options["softmax"] and options["sigmoid"]:
        raise InputError("--softmax or --sigmoid may be given", found="both")


def _engine(options: Mapping[str, Any]) -> Engine:
    """What counts: the engine that is named, else the one that the other options are of."""
    add_to = options["add_to"]
    of_batches = {"--memory": options["memory"] is not None, "--resume": options["resume"]}
    chosen = options["engine"] or (
        Engine.stream if any(of_batches.values()) or add_to else Engine.memory
    )
    goes_with = {option: Engine.stream for option, value in of_batches.items() if value}
    goes_with |= {"--master": Engine.spark} if options["master"] else {}
    for option, needed in goes_with.items():
        if chosen is not needed:
            raise InputError(f"{option} goes with --engine {needed.value}", found=chosen.value)
    if add_to and chosen is Engine.memory:
        raise InputError("--add-to goes with --engine stream or spark", found=chosen.value)
    return chosen


def _use_threads(jobs: int | None) -> None:
    """Count with so many threads; only before the libraries that count are loaded."""
    if jobs is not None:
        for name in ("AUDIT_JOBS", "POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ[name] = str(jobs)
