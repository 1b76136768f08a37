"""``audit concepts``: test whether representations hold the concepts of labels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from audit.cli.explanation_options import LabelHierarchy, LabelsPath
from audit.cli.given_labels import refuse_without_labels
from audit.cli.new_run import write_new_run
from audit.cli.options import (
    AsJson,
    FailOn,
    FailOnSeverity,
    FormatName,
    InstanceColumn,
    LabelColumn,
    MinCell,
    OutFolder,
    Overwrite,
    PolicyFile,
    PredictionsPath,
    SealKeyFile,
    Seed,
    WritePdf,
)
from audit.cli.output import exit_status, shown_progress, summarise, user_mistakes
from audit.cli.sealing import key_of

if TYPE_CHECKING:
    from audit.runs.settings import Settings

TESTS = "Tests"
"""Heading of ``audit concepts --help``."""


def concepts(
    ctx: typer.Context,
    representations: Annotated[
        Path, typer.Argument(help="Representations by layer: .npz, .safetensors or .parquet.")
    ],
    hierarchy: LabelHierarchy = None,
    facets: Annotated[
        Path | None,
        typer.Option(help="Table of node, dimension and concept.", rich_help_panel=TESTS),
    ] = None,
    facets_from_titles: Annotated[
        bool,
        typer.Option(
            "--facets-from-titles",
            help="Take words that recur in titles below several parents as concepts.",
            rich_help_panel=TESTS,
        ),
    ] = False,
    depth: Annotated[
        list[int] | None,
        typer.Option(
            help="Take the nodes at this depth as concepts; may be repeated.",
            rich_help_panel=TESTS,
        ),
    ] = None,
    layer: Annotated[
        str | None,
        typer.Option(help="Layer that tests are about; else the last.", rich_help_panel=TESTS),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(
            help="Representations of the same instances by an untrained network.",
            rich_help_panel=TESTS,
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Resampled splits.", rich_help_panel=TESTS)] = 5,
    labels: LabelsPath = None,
    predictions: PredictionsPath = None,
    format: FormatName = None,
    id: InstanceColumn = None,
    label: LabelColumn = None,
    policy: PolicyFile = None,
    min_cell: MinCell = None,
    seed: Seed = 0,
    fail_on: FailOnSeverity = FailOn.never,
    out: OutFolder = Path("concepts-run"),
    overwrite: Overwrite = False,
    pdf: WritePdf = True,
    seal_key: SealKeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Test whether a model's representations hold the concepts of its labels."""
    with user_mistakes():
        from audit.runs.folder import refuse_occupied

        refuse_occupied(out, overwrite=overwrite)
        settings, key = _settings(ctx.params), key_of(seal_key)
        with shown_progress() as progress:
            progress("starting")
            result, unrendered = write_new_run(
                settings, out, overwrite=overwrite, pdf=pdf, key=key, progress=progress
            )
        summarise(result, out, unrendered, as_json=as_json)
        raise typer.Exit(exit_status(result, fail_on, unrendered))


def _settings(options: Mapping[str, Any]) -> Settings:
    from audit.checks.judging import judging_date
    from audit.runs.labels_alone import FLAT, REPRESENTATIONS
    from audit.runs.settings import Settings, Testing

    labels = options["labels"]
    refuse_without_labels(options, ("format", "id", "label", "predictions"))
    named = ("representations", "facets", "layer", "baseline", "seeds")
    own = ("id", "label", "policy", "min_cell", "seed", "predictions")
    return Settings(
        dataset=labels or options["representations"],
        hierarchy=options["hierarchy"] or FLAT,
        format=options["format"] if labels else REPRESENTATIONS,
        **{name: options[name] for name in own},
        today=judging_date(),
        testing=Testing(
            **{name: options[name] for name in named},
            depths=tuple(options["depth"] or ()),
            titles=options["facets_from_titles"],
        ),
    )
