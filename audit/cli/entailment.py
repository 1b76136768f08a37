"""``audit entailment``: audit an entailment graph, split it, and ask a language model about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from audit.base.errors import InputError, OutputError
from audit.base.plurals import counted
from audit.base.settings import OUTPUT, Option
from audit.cli.declared import declared
from audit.cli.file_audits import Judged
from audit.cli.new_run import make_run
from audit.cli.options import NewRun
from audit.entailment.settings import ClassFile, Entailing, FileKind, NamedColumns, TupleFiles
from audit.runs.settings import Settings

if TYPE_CHECKING:
    from audit.results.result import AuditResult

RUN = "run"
_OUTPUT = NewRun(out=Path("entailment-run"))
_USUAL: Mapping[str, str] = MappingProxyType({})


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


def run_entailment(
    entailing: Entailing,
    *,
    fix: Annotated[
        Path | None,
        Option("Folder for a corrected copy of the files.", OUTPUT, metavar="FOLDER", writes=True),
    ] = None,
    judged: Judged,
    output: NewRun = _OUTPUT,
) -> None:
    """Audit tuples of an entailment graph, and predictions on them."""
    from audit.entailment.analysis import Entailment
    from audit.measure.labels_alone import FLAT

    settings = Settings(
        dataset=str(entailing.files[0]),
        hierarchy=FLAT,
        format=Entailment.format,
        **vars(judged),
        analyses={Entailment.name: entailing},
    )
    if fix is not None:
        refuse_existing(fix)
    finish = None if fix is None else partial(_write_corrected, entailing=entailing, folder=fix)
    make_run(settings, output, command="entailment", finish=finish)


def _write_corrected(result: AuditResult, entailing: Entailing, folder: Path) -> None:
    """Write the files again with all proposed corrections, and say how many there were."""
    from audit.entailment.analysis import write_corrected_files

    by_action = write_corrected_files(result, entailing, folder)
    review = by_action.get("review", 0)
    made = counted(sum(by_action.values()) - review, "corrections")
    left = f"; {counted(review, 'reviews')} are left to people" if review else ""
    typer.echo(f"Corrected copies, with {made}{left}: {folder}", err=True)


def split_entailment(
    files: TupleFiles,
    kind: FileKind = "tuples",
    column: NamedColumns = _USUAL,
    classes: ClassFile = None,
    shares: Annotated[
        Literal["80:10:10", "90:5:5"], Option("Shares of train, valid and test.")
    ] = "80:10:10",
    valid_only: Annotated[bool, Option("Leave out invalid tuples, as for generation.")] = False,
    seed: Annotated[int, Option("Seed of the split.", least=0)] = 0,
    out: Annotated[Path, Option("Folder of the files.", writes=True)] = Path("entailment-splits"),
) -> None:
    """Write a file for each split; all tuples of a head and an instance go into one of them."""
    from audit.entailment.copies import write_splits
    from audit.entailment.reading import read_entailment

    refuse_existing(out)
    dataset = read_entailment(files, kind, column, classes=classes)
    sizes = write_splits(
        dataset, out, shares, seed=seed, valid_only=valid_only, kind=kind, columns=column
    )
    left_out = dataset.rows_read - sum(sizes.values())
    sizes_in_words = ", ".join(f"{name} {size:,}" for name, size in sizes.items())
    typer.echo(f"{sizes_in_words}; {left_out:,} of {dataset.rows_read:,} records left out: {out}")


def write_entailment_prompts(
    files: TupleFiles,
    kind: FileKind = "tuples",
    column: NamedColumns = _USUAL,
    classes: ClassFile = None,
    task: Annotated[
        Literal["detection", "generation"],
        Option("Ask whether a tuple is valid, or for a concept."),
    ] = "detection",
    prompt: Annotated[
        Literal["own", "paper", "nli"],
        Option("Whose words ask: ours, or AbsPyramid's of its table 12, or of 11 as entailment."),
    ] = "own",
    reasoning: Annotated[
        bool, Option("Ask for reasons before the answer, as the paper prints it too.")
    ] = False,
    shots: Annotated[
        int, Option("Examples before each question, from the train split.", least=0)
    ] = 0,
    sample: Annotated[
        int, Option("Number of tuples of each relation to ask about.", least=1)
    ] = 1_000,
    seed: Annotated[int, Option("Seed of the drawing of tuples and examples.", least=0)] = 0,
    out: Annotated[Path, Option("File of prompts, JSON lines.", writes=True)] = Path(
        "prompts.jsonl"
    ),
) -> None:
    """Write prompts for a language model; --answers or --generations reads what it says."""
    from audit.entailment.prompts import (
        detection_prompts,
        generation_prompts,
        write_prompts,
    )
    from audit.entailment.reading import read_entailment

    _refuse_unprinted(task, prompt, reasoning=reasoning)
    dataset = read_entailment(files, kind, column, classes=classes)
    drawn: Any = {"shots": shots, "sample": sample, "seed": seed}
    if task == "detection":
        prompts = detection_prompts(dataset, **drawn, prompt=prompt, reasoning=reasoning)
    else:
        prompts = generation_prompts(dataset, **drawn)
    write_prompts(prompts, out)
    typer.echo(f"{counted(len(prompts), 'prompts')}: {out}")


def _refuse_unprinted(task: str, prompt: str, *, reasoning: bool) -> None:
    """Refuse words that the paper does not have."""
    if prompt == "own" and reasoning:
        raise InputError("--reasoning needs --prompt paper or nli", found="--prompt own")
    if prompt != "own" and task == "generation":
        raise InputError(
            "the paper prints prompts for detection alone",
            found=f"--task generation with --prompt {prompt}",
            hint="--prompt own asks for concepts",
        )


def refuse_existing(folder: Path) -> None:
    """Raise OutputError if something is there already."""
    if folder.exists():
        raise OutputError(
            "a folder that does not exist is required", found="something there", where=folder
        )


COMMANDS: Mapping[str, Callable[..., None]] = {
    RUN: run_entailment,
    "split": split_entailment,
    "prompts": write_entailment_prompts,
}
"""The commands of ``audit entailment``."""
for name, command in COMMANDS.items():
    entailment.command(name)(declared(command))
