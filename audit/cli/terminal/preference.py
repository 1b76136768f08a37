"""Which answers a language model prefers, in a terminal."""

from __future__ import annotations

from rich.console import Group
from rich.text import Text

from audit.alignment.preference import PreferenceResult
from audit.base.plurals import counted
from audit.cli.terminal.tables import filled, table
from audit.hierarchies.building import dropped_sentence


def preference_summary(result: PreferenceResult) -> Group:
    """Summary of which answers a language model prefers."""
    heading = Text(
        f"{counted(result.questions, 'questions')} of {result.predicate}; {result.unscored:,} "
        "without "
        f"scores; {result.answers - len(result.unmapped):,} of "
        f"{counted(result.answers, 'specific answers')} found in {result.hierarchy}; "
        f"{counted(result.tokens, 'tokens')}"
        + (f"; senses of {result.chosen:,} from a file" if result.chosen else "")
        + ("; by the rules of the released code, where ties win" if result.released else "")
    )
    rows = [
        (
            row.metric,
            "-" if row.value is None else f"{row.value:.4f}",
            "-" if row.value is None else f"{row.low:.4f} to {row.high:.4f}",
            f"{row.n:,}",
            f"{row.ties:,}",
            f"{row.left_out:,}",
        )
        for row in result.rows
    ]
    headings = ("metric", "value", "95% interval", "n", "ties", "left out")
    dropped = [Text(dropped_sentence(**result.dropped))] if result.dropped else []
    return Group(heading, *dropped, filled(table(*headings, right=5), rows))
