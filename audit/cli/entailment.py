"""``audit entailment``: audit an entailment graph, split it, and ask a language model about it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from audit.base.errors import OutputError
from audit.base.plurals import counted
from audit.cli.entailment_options import (
    AnswerFiles,
    AskedTask,
    DrawSeed,
    FileKind,
    FixFolder,
    GenerationFiles,
    Kind,
    NamedColumns,
    PositivesFile,
    PredictionFiles,
    PromptFile,
    RatingsFile,
    Sample,
    Shares,
    Shots,
    SplitFolder,
    SplitSeed,
    SplitShares,
    Task,
    TuplePaths,
    ValidOnly,
    WithMeteor,
    WordNetFolder,
    columns_named,
)
from audit.cli.new_run import make_run
from audit.cli.options import (
    AsJson,
    FailOn,
    FailOnSeverity,
    JUnitFile,
    MinCell,
    OutFolder,
    Overwrite,
    PolicyFile,
    SealKeyFile,
    Seed,
    Title,
    WritePdf,
)
from audit.cli.output import user_mistakes

if TYPE_CHECKING:
    from audit.results.result import AuditResult
    from audit.runs.settings import Settings

RUN = "run"


class _RunByDefault(TyperGroup):
    """A group of commands in which ``run`` is the default."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        named = args and (args[0] in self.commands or args[0] == "--help")
        return super().parse_args(ctx, args if named else [RUN, *args])


entailment = typer.Typer(
    cls=_RunByDefault,
    help="Audit an entailment graph: a hierarchy made of text. `FILE` alone means `run FILE`.",
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
    title: Title = None,
    out: OutFolder = Path("entailment-run"),
    overwrite: Overwrite = False,
    pdf: WritePdf = True,
    junit: JUnitFile = None,
    seal_key: SealKeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Audit tuples of an entailment graph, and predictions on them."""
    if fix is None:
        make_run(ctx.params, _settings, command="entailment")
    with user_mistakes():
        refuse_existing(fix)
    make_run(
        ctx.params,
        _settings,
        command="entailment",
        finish=partial(_write_corrected, folder=fix),
    )


def _write_corrected(result: AuditResult, settings: Settings, folder: Path) -> None:
    """Write the files again with all proposed corrections, and say how many there were."""
    from audit.entailment.analysis import Entailment, write_corrected_files

    stated: Any = settings.analyses[Entailment.name]
    by_action = write_corrected_files(result, stated, folder)
    review = by_action.get("review", 0)
    made = counted(sum(by_action.values()) - review, "corrections")
    left = f"; {counted(review, 'reviews')} are left to people" if review else ""
    typer.echo(f"Corrected copies, with {made}{left}: {folder}", err=True)


@entailment.command("split")
def split_entailment(
    files: TuplePaths,
    kind: FileKind = Kind.tuples,
    column: NamedColumns = None,
    shares: SplitShares = Shares.detection,
    valid_only: ValidOnly = False,
    seed: SplitSeed = 0,
    out: SplitFolder = Path("entailment-splits"),
) -> None:
    """Write a file for each split; all tuples of a head and an instance go into one of them."""
    with user_mistakes():
        from audit.entailment.reading.reading import read_entailment
        from audit.entailment.splitter import write_splits

        refuse_existing(out)
        columns = columns_named(column)
        dataset = read_entailment(files, kind, columns)
        sizes = write_splits(
            dataset, out, shares, seed=seed, valid_only=valid_only, kind=kind, columns=columns
        )
        left_out = dataset.rows_read - sum(sizes.values())
        sizes_in_words = ", ".join(f"{name} {size:,}" for name, size in sizes.items())
        typer.echo(
            f"{sizes_in_words}; {left_out:,} of {dataset.rows_read:,} records left out: {out}"
        )


@entailment.command("prompts")
def write_entailment_prompts(
    files: TuplePaths,
    kind: FileKind = Kind.tuples,
    column: NamedColumns = None,
    task: AskedTask = Task.detection,
    shots: Shots = 0,
    sample: Sample = 1_000,
    seed: DrawSeed = 0,
    out: PromptFile = Path("prompts.jsonl"),
) -> None:
    """Write prompts for a language model; --answers or --generations reads what it says."""
    with user_mistakes():
        from audit.entailment.prompting.prompts import (
            detection_prompts,
            generation_prompts,
            write_prompts,
        )
        from audit.entailment.reading.reading import read_entailment

        dataset = read_entailment(files, kind, columns_named(column))
        made = detection_prompts if task is Task.detection else generation_prompts
        prompts = made(dataset, shots=shots, sample=sample, seed=seed)
        write_prompts(prompts, out)
        typer.echo(f"{counted(len(prompts), 'prompts')}: {out}")


def _settings(options: Mapping[str, Any]) -> Settings:
    from audit.checks.judging import judging_date
    from audit.entailment.analysis import Entailment
    from audit.entailment.settings import Entailing
    from audit.measure.labels_alone import FLAT
    from audit.runs.settings import Settings

    named: dict[str, Any] = {
        name: options[name] for name in ("kind", "positives", "ratings", "wordnet", "meteor")
    } | {name: tuple(options[name] or ()) for name in ("predictions", "answers", "generations")}
    return Settings(
        dataset=options["files"][0],
        hierarchy=FLAT,
        format=Entailment.format,
        **{name: options[name] for name in ("policy", "min_cell", "title", "seed")},
        today=judging_date(),
        analyses={
            Entailment.name: Entailing(
                files=tuple(options["files"]), columns=columns_named(options["column"]), **named
            )
        },
    )


def refuse_existing(folder: Path) -> None:
    """Raise OutputError if something is there already."""
    if folder.exists():
        raise OutputError(
            "a folder that does not exist is required", found="something there", where=folder
        )
