"""``audit preference``: measure which answers a language model prefers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from audit.base.limits import limits
from audit.cli.options import Dangling, DanglingEdges, Limits
from audit.cli.output import (
    print_json,
    print_shown,
    shown_progress,
    user_mistakes,
)
from audit.cli.stated_limits import limits_of


def preference(
    predictions: Annotated[Path, typer.Argument(help="Token scores of each question.")],
    hierarchy: Annotated[
        str, typer.Option(help="WordNet dict folder, or a hierarchy file with words as titles.")
    ],
    questions: Annotated[Path, typer.Option(help="Questions in the S-TEST layout.")],
    relation: Annotated[
        str | None,
        typer.Option(help="hypernym or holonym; by default as the questions' predicate says."),
    ] = None,
    dangling: DanglingEdges = None,
    senses: Annotated[
        Path | None, typer.Option(help="JSON file that names the node of each specific answer.")
    ] = None,
    released: Annotated[
        bool,
        typer.Option("--released", help="Follow the paper's released code; needs --senses."),
    ] = False,
    k: Annotated[
        int, typer.Option(min=1, help="Accuracy is measured among the k highest tokens.")
    ] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    limit: Limits = None,
) -> None:
    """Measure which answers a language model prefers: specific or general, correct or related."""
    with user_mistakes(), shown_progress() as progress:
        from audit.alignment.preference import run_preference

        progress("comparing")
        with limits(**limits_of(limit)):
            result = run_preference(
                predictions,
                questions,
                hierarchy,
                relation=relation,
                dangling="drop" if dangling is Dangling.drop else "refuse",
                senses=senses,
                released=released,
                k=k,
            )
    if as_json:
        print_json(result.to_dict())
    else:
        from audit.cli.terminal.preference import preference_summary

        print_shown(preference_summary(result))
