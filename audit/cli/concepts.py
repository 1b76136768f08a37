"""``audit concepts``: test whether representations hold the concepts of labels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from audit.cli.concept_options import (
    Depths,
    FacetsFromTitles,
    FacetTable,
    RepresentationsPath,
    Splits,
    TestedLayer,
    UntrainedBaseline,
)
from audit.cli.explanation_options import LabelHierarchy, LabelsPath
from audit.cli.given_labels import refuse_without_labels
from audit.cli.new_run import make_run
from audit.cli.options import (
    AsJson,
    DanglingEdges,
    FailOn,
    FailOnSeverity,
    FormatName,
    InstanceColumn,
    JUnitFile,
    LabelColumn,
    MinCell,
    OutFolder,
    Overwrite,
    PolicyFile,
    PredictionsPath,
    SealKeyFile,
    Seed,
    Title,
    WritePdf,
)

if TYPE_CHECKING:
    from audit.runs.settings import Settings


def concepts(
    ctx: typer.Context,
    representations: RepresentationsPath,
    hierarchy: LabelHierarchy = None,
    dangling: DanglingEdges = None,
    facets: FacetTable = None,
    facets_from_titles: FacetsFromTitles = False,
    depth: Depths = None,
    layer: TestedLayer = None,
    baseline: UntrainedBaseline = None,
    seeds: Splits = 5,
    labels: LabelsPath = None,
    predictions: PredictionsPath = None,
    format: FormatName = None,
    id: InstanceColumn = None,
    label: LabelColumn = None,
    policy: PolicyFile = None,
    min_cell: MinCell = None,
    seed: Seed = 0,
    fail_on: FailOnSeverity = FailOn.never,
    title: Title = None,
    out: OutFolder = Path("concepts-run"),
    overwrite: Overwrite = False,
    pdf: WritePdf = True,
    junit: JUnitFile = None,
    seal_key: SealKeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Test whether a model's representations hold the concepts of its labels."""
    make_run(ctx.params, _settings, command="concepts")


def _settings(options: Mapping[str, Any]) -> Settings:
    from audit.checks.judging import judging_date
    from audit.concepts.analysis import Concepts
    from audit.concepts.settings import Testing
    from audit.measure.labels_alone import FLAT
    from audit.runs.settings import Settings

    labels = options["labels"]
    refuse_without_labels(options, ("format", "id", "label", "predictions"))
    named = ("representations", "facets", "layer", "baseline", "seeds")
    own = ("id", "label", "policy", "min_cell", "title", "seed", "predictions")
    return Settings(
        dataset=labels or options["representations"],
        hierarchy=options["hierarchy"] or FLAT,
        format=options["format"] if labels else Concepts.format,
        **{name: options[name] for name in own},
        dangling=options["dangling"] and options["dangling"].value,
        today=judging_date(),
        analyses={
            Concepts.name: Testing(
                **{name: options[name] for name in named},
                depths=tuple(options["depth"] or ()),
                titles=options["facets_from_titles"],
            )
        },
    )
