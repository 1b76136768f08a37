"""``audit preference``: measure which answers a language model prefers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NoReturn

from audit.base.errors import InputError
from audit.base.settings import Argument, Option
from audit.cli.options import NewRun, PrintJson, WritePdf
from audit.cli.output import print_json, print_shown, shown_progress
from audit.runs.settings import MinCell, Settings, Title


def preference(
    predictions: Annotated[Path, Argument("Token scores of each question.")],
    hierarchy: Annotated[
        str, Option("WordNet dict folder, or a hierarchy file with words as titles.")
    ],
    questions: Annotated[Path, Option("Questions in the S-TEST layout.")],
    relation: Annotated[
        str | None, Option("hypernym or holonym; by default as the questions' predicate says.")
    ] = None,
    senses: Annotated[
        Path | None, Option("JSON file that names the node of each specific answer.")
    ] = None,
    released: Annotated[bool, Option("Follow the paper's released code; needs --senses.")] = False,
    k: Annotated[int, Option("Accuracy is measured among the k highest tokens.", least=1)] = 10,
    out: Annotated[
        Path | None,
        Option("Folder of the run to write; without it, nothing is written.", writes=True),
    ] = None,
    overwrite: Annotated[bool, Option("Replace an earlier run.")] = False,
    pdf: WritePdf = None,
    title: Title = None,
    min_cell: MinCell = None,
    as_json: PrintJson = False,
) -> None:
    """Measure which answers a language model prefers: specific or general, correct or related."""
    how: dict[str, Any] = {
        "relation": relation,
        "senses": senses,
        "released": released,
        "k": k,
    }
    if out is not None:
        output = NewRun(out=out, overwrite=overwrite, pdf=pdf, as_json=as_json)
        files = {"scores": predictions, "questions": questions, "words": Path(hierarchy)}
        _make_run({**files, **how}, output, title=title, min_cell=min_cell)
    if overwrite or pdf is not None or title is not None or min_cell is not None:
        raise InputError(
            "--overwrite, --pdf, --no-pdf, --title and --min-cell need --out", found="no run"
        )
    with shown_progress() as progress:
        from audit.analyses.preference import run_preference

        progress("comparing")
        result = run_preference(predictions, questions, hierarchy, **how)
    if as_json:
        print_json(result.to_dict())
    else:
        from audit.cli.terminal.listings import preference_summary

        print_shown(preference_summary(result))


def _make_run(preferring: Mapping[str, Any], output: NewRun, **judged: Any) -> NoReturn:
    """Audit the questions, write a run, and exit."""
    from audit.analyses.preference.analysis import Preference, Preferring
    from audit.cli.new_run import make_run
    from audit.measure.labels_alone import FLAT

    settings = Settings(
        dataset=str(preferring["questions"]),
        hierarchy=FLAT,
        labels_of=Preference.format,
        analyses={Preference.name: Preferring(**preferring)},
        **judged,
    )
    make_run(settings, output, command="preference")
