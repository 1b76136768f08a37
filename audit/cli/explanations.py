"""``audit explanations``: check whether a model decides for the reasons that people give."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from audit.base.errors import InputError
from audit.cli.explanation_options import (
    AttributionsPath,
    Draws,
    EvidencePath,
    FaithfulnessPath,
    InformedModels,
    LabelHierarchy,
    LabelsPath,
    MergeWordPieces,
    Only,
    OnlyExamples,
    RandomisedPath,
    ReferenceModel,
    ShowText,
    StopWordList,
    StopWords,
)
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
    KeepInstances,
    LabelColumn,
    MinCell,
    OutFolder,
    Overwrite,
    PolicyFile,
    SealKeyFile,
    Seed,
    Title,
    WritePdf,
)

if TYPE_CHECKING:
    from audit.explanations.settings import Explaining
    from audit.runs.settings import Settings


def explanations(
    ctx: typer.Context,
    attributions: AttributionsPath,
    hierarchy: LabelHierarchy = None,
    dangling: DanglingEdges = None,
    labels: LabelsPath = None,
    format: FormatName = None,
    id: InstanceColumn = None,
    label: LabelColumn = None,
    evidence: EvidencePath = None,
    faithfulness: FaithfulnessPath = None,
    randomised: RandomisedPath = None,
    informed: InformedModels = None,
    reference_model: ReferenceModel = None,
    only: OnlyExamples = Only.all,
    draws: Draws = 10,
    word_pieces: MergeWordPieces = None,
    stop_words: StopWordList = StopWords.paper,
    policy: PolicyFile = None,
    min_cell: MinCell = None,
    seed: Seed = 0,
    text: ShowText = False,
    fail_on: FailOnSeverity = FailOn.never,
    title: Title = None,
    out: OutFolder = Path("explanations-run"),
    overwrite: Overwrite = False,
    keep_instances: KeepInstances = False,
    pdf: WritePdf = True,
    junit: JUnitFile = None,
    seal_key: SealKeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Audit a model's explanations: their agreement with people and with each other."""
    make_run(ctx.params, _settings, command="explanations")


def _settings(options: Mapping[str, Any]) -> Settings:
    from audit.checks.judging import judging_date
    from audit.explanations.analysis import Explanations
    from audit.measure.labels_alone import FLAT
    from audit.runs.settings import Settings

    labels = options["labels"]
    refuse_without_labels(options, ("format", "id", "label"))
    return Settings(
        dataset=labels or options["attributions"],
        hierarchy=options["hierarchy"] or FLAT,
        format=options["format"] if labels else Explanations.format,
        **{name: options[name] for name in ("id", "label", "policy", "min_cell", "title", "seed")},
        dangling=options["dangling"] and options["dangling"].value,
        today=judging_date(),
        analyses={Explanations.name: _explaining(options)},
    )


def _explaining(options: Mapping[str, Any]) -> Explaining:
    from audit.explanations.settings import Explaining

    stated = {name: options[name] for name in Explaining.model_fields}
    merging = options["word_pieces"]
    return Explaining(
        **stated
        | {
            "informed": _informed(options["informed"] or []),
            "only": options["only"].value,
            "word_pieces": merging and merging.value,
            "stop_words": options["stop_words"].value,
        }
    )


def _informed(named: list[str]) -> dict[str, tuple[str, ...]]:
    """The explanation-informed models of each model."""
    models: dict[str, tuple[str, ...]] = {}
    for one in named:
        model, separator, name = one.partition("=")
        if not (model and separator and name):
            raise InputError("--informed must be MODEL=NAME", found=one)
        models[model] = (*models.get(model, ()), name)
    return models
