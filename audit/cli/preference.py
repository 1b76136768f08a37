"""``audit preference``: measure which answers a language model prefers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from audit.base.limits import USUAL, limits
from audit.base.settings import Argument, Option
from audit.cli.options import PrintJson
from audit.cli.output import print_json, print_shown, shown_progress
from audit.runs.settings import DanglingEdges, Limits


def preference(
    predictions: Annotated[Path, Argument("Token scores of each question.")],
    hierarchy: Annotated[
        str, Option("WordNet dict folder, or a hierarchy file with words as titles.")
    ],
    questions: Annotated[Path, Option("Questions in the S-TEST layout.")],
    relation: Annotated[
        str | None, Option("hypernym or holonym; by default as the questions' predicate says.")
    ] = None,
    dangling: DanglingEdges = None,
    senses: Annotated[
        Path | None, Option("JSON file that names the node of each specific answer.")
    ] = None,
    released: Annotated[bool, Option("Follow the paper's released code; needs --senses.")] = False,
    k: Annotated[int, Option("Accuracy is measured among the k highest tokens.", least=1)] = 10,
    as_json: PrintJson = False,
    limit: Limits = USUAL,
) -> None:
    """Measure which answers a language model prefers: specific or general, correct or related."""
    with shown_progress() as progress:
        from audit.alignment.preference import run_preference

        progress("comparing")
        with limits(**limit):
            result = run_preference(
                predictions,
                questions,
                hierarchy,
                relation=relation,
                dangling=dangling or "refuse",
                senses=senses,
                released=released,
                k=k,
            )
    if as_json:
        print_json(result.to_dict())
    else:
        from audit.cli.terminal.listings import preference_summary

        print_shown(preference_summary(result))
