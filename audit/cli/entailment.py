"""``audit entailment``: audit an entailment graph, split it, and ask a language model about it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from audit.cli.entailment_options import (
    AnswerFiles,
    FileKind,
    FixFolder,
    GenerationFiles,
    Kind,
    NamedColumns,
    PositivesFile,
    PredictionFiles,
    RatingsFile,
    TuplePaths,
    WithMeteor,
    WordNetFolder,
    columns_named,
)
from audit.cli.new_run import make_run
from audit.cli.options import (
    AsJson,
    FailOn,
    FailOnSeverity,
    MinCell,
    OutFolder,
    Overwrite,
    PolicyFile,
    SealKeyFile,
    Seed,
    WritePdf,
)

if TYPE_CHECKING:
    from audit.runs.settings import Settings

RUN = "run"


class _RunByDefault(TyperGroup):
    """A group of commands of which ``run`` need not be named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        named = args and (args[0] in self.commands or args[0] == "--help")
        return super().parse_args(ctx, args if named else [RUN, *args])


entailment = typer.Typer(
    cls=_RunByDefault,
    help="Audit an entailment graph: a hierarchy made of text. FILE alone stands for run FILE.",
    epilog="Examples:\n\naudit entailment tuples.csv --column label=valid\n\n"
    "audit entailment train.csv valid.csv test.csv --predictions scores.csv --fix corrected",
    no_args_is_help=True,
)


@entailment.command(RUN)
def run_entailment(
    ctx: typer.Context,
    files: TuplePaths,
    kind: FileKind = Kind.tuples,
    column: NamedColumns = None,
    positives: PositivesFile = None,
    wordnet: WordNetFolder = None,
    predictions: PredictionFiles = None,
    answers: AnswerFiles = None,
    generations: GenerationFiles = None,
    ratings: RatingsFile = None,
    meteor: WithMeteor = False,
    fix: FixFolder = None,
    policy: PolicyFile = None,
    min_cell: MinCell = None,
    seed: Seed = 0,
    fail_on: FailOnSeverity = FailOn.never,
    out: OutFolder = Path("entailment-run"),
    overwrite: Overwrite = False,
    pdf: WritePdf = True,
    seal_key: SealKeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Audit tuples of an entailment graph, and predictions on them."""
    make_run(ctx.params, _settings)


def _settings(options: Mapping[str, Any]) -> Settings:
    from audit.checks.judging import judging_date
    from audit.runs.labels_alone import ENTAILMENT, FLAT
    from audit.runs.settings import Entailing, Settings

    first, *further = options["files"]
    named: dict[str, Any] = {
        name: options[name] for name in ("kind", "positives", "ratings", "wordnet", "meteor")
    } | {name: tuple(options[name] or ()) for name in ("predictions", "answers", "generations")}
    return Settings(
        dataset=first,
        hierarchy=FLAT,
        format=ENTAILMENT,
        **{name: options[name] for name in ("policy", "min_cell", "seed")},
        today=judging_date(),
        entailing=Entailing(
            further=tuple(further),
            columns=columns_named(options["column"]),
            **named,
        ),
    )
