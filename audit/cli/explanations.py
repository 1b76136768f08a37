"""``audit explanations``: tell whether a model decides for the reasons that people give."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from audit.base.errors import InputError
from audit.cli.options import (
    INPUT,
    OUTPUT,
    AsJson,
    FailOn,
    FailOnSeverity,
    FormatName,
    InstanceColumn,
    LabelColumn,
    MinCell,
    Overwrite,
    PolicyFile,
    SealKeyFile,
    Seed,
    WritePdf,
)
from audit.cli.output import exit_status, shown_progress, summarise, user_mistakes
from audit.cli.rendering import rendering
from audit.cli.sealing import key_of

if TYPE_CHECKING:
    from audit.runs.settings import Settings

ALIGNMENT = "Alignment"
"""Heading of ``audit explanations --help``."""


class Only(StrEnum):
    """The examples that are compared by node."""

    all = "all"
    right = "right"
    wrong = "wrong"
    common = "common"


class WordPieces(StrEnum):
    """How scores of word pieces become those of words."""

    sum = "sum"
    mean = "mean"
    max = "max"


class StopWords(StrEnum):
    """The list of words that are no evidence."""

    paper = "paper"
    clinical = "clinical"


def explanations(
    attributions: Annotated[
        Path, typer.Argument(help="Scores of tokens, a row per instance, label, method and model.")
    ],
    hierarchy: Annotated[
        str | None,
        typer.Option(
            help="Hierarchy of the labels; without one, all are below one root.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(help="Dataset of the labels, audited too.", rich_help_panel=INPUT),
    ] = None,
    format: FormatName = None,
    id: InstanceColumn = None,
    label: LabelColumn = None,
    evidence: Annotated[
        Path | None,
        typer.Option(
            help="Human evidence: marks, spans or explanations, by id and target.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    faithfulness: Annotated[
        Path | None,
        typer.Option(
            help="What happens to the output when tokens are taken away.", rich_help_panel=INPUT
        ),
    ] = None,
    informed: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL=NAME",
            help="Model that also read the explanation, as soft oracle of MODEL.",
            rich_help_panel=ALIGNMENT,
        ),
    ] = None,
    only: Annotated[
        Only,
        typer.Option(help="The examples that nodes are compared by.", rich_help_panel=ALIGNMENT),
    ] = Only.all,
    draws: Annotated[
        int,
        typer.Option(
            min=1, help="Other explanations that each is held against.", rich_help_panel=ALIGNMENT
        ),
    ] = 10,
    word_pieces: Annotated[
        WordPieces | None,
        typer.Option(help="Merge word pieces by this rule.", rich_help_panel=INPUT),
    ] = None,
    stop_words: Annotated[
        StopWords, typer.Option(help="Words that are no evidence.", rich_help_panel=INPUT)
    ] = StopWords.paper,
    policy: PolicyFile = None,
    min_cell: MinCell = None,
    seed: Seed = 0,
    text: Annotated[
        bool,
        typer.Option("--text/--no-text", help="Show words of the source.", rich_help_panel=OUTPUT),
    ] = False,
    fail_on: FailOnSeverity = FailOn.never,
    out: Annotated[Path, typer.Option(help="Folder of the run.", rich_help_panel=OUTPUT)] = Path(
        "explanations-run"
    ),
    overwrite: Overwrite = False,
    pdf: WritePdf = True,
    seal_key: SealKeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Audit a model's explanations: their agreement with people and with each other."""
    options = dict(locals())
    with user_mistakes():
        from audit.runs.folder import refuse_occupied, write_tables, writing_run
        from audit.runs.inputs import stated_policy
        from audit.runs.make import audited
        from audit.runs.manifest import seal
        from audit.runs.seal_key import with_keyed_data

        started = datetime.now(UTC)
        refuse_occupied(out, overwrite=overwrite)
        settings, key = _settings(options), key_of(seal_key)
        with shown_progress() as progress, writing_run(out, overwrite=overwrite) as folder:
            progress("starting")
            made = audited(settings, stated_policy(settings), None, progress=progress)
            result = with_keyed_data(made.result, key)
            with rendering(result, folder, pdf, progress) as unrendered:
                progress("writing tables")
                write_tables(result, folder)
            progress("sealing")
            seal(
                folder,
                result,
                command=["audit", *sys.argv[1:]],
                started=started,
                settings=settings.model_dump(mode="json"),
                key=key,
            )
        summarise(result, out, unrendered, as_json=as_json)
        raise typer.Exit(exit_status(result, fail_on, unrendered))


def _settings(options: dict[str, Any]) -> Settings:
    from audit.checks.judging import judging_date
    from audit.runs.settings import ATTRIBUTIONS, FLAT, Explaining, Settings

    labels = options["labels"]
    if labels is None:
        of_labels = {"--format": "format", "--id": "id", "--label": "label"}
        given = [option for option, name in of_labels.items() if options[name] is not None]
        if given:
            raise InputError(f"{', '.join(given)} goes with --labels", found="no dataset")
    elif options["hierarchy"] is None:
        raise InputError("--labels goes with --hierarchy", found="no hierarchy")
    merging = options["word_pieces"]
    return Settings(
        dataset=labels or options["attributions"],
        hierarchy=options["hierarchy"] or FLAT,
        format=options["format"] if labels else ATTRIBUTIONS,
        id=options["id"],
        label=options["label"],
        policy=options["policy"],
        min_cell=options["min_cell"],
        seed=options["seed"],
        today=judging_date(),
        explaining=Explaining(
            attributions=options["attributions"],
            evidence=options["evidence"],
            faithfulness=options["faithfulness"],
            informed=_informed(options["informed"] or []),
            only=options["only"].value,
            draws=options["draws"],
            word_pieces=merging and merging.value,
            stop_words=options["stop_words"].value,
            text=options["text"],
        ),
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
