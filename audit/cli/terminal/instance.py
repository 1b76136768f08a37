"""The labels and predictions of one instance, drawn as a tree in lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from audit.base.errors import printable
from audit.data.weighted_dag import InstanceLine, InstanceTree

BLOCKS = " ▏▎▍▌▋▊▉█"
"""Bars of zero to eight eighths of a column."""
NARROWEST, WIDEST = 4, 20
"""Least and greatest width of a bar in columns."""
MARKS = {
    "hit": "labelled and predicted",
    "miss": "labelled, not predicted",
    "false": "predicted, not labelled",
}


def instance_lines(tree: InstanceTree, least_share: float, *, columns: int) -> Iterator[str]:
    """Draw the merged tree of an instance.

    Args:
        least_share: A node is left out if its shares of all labels and of all scores are below.
    """
    drawn, both = list(tree.lines(least_share)), tree.predictions is not None
    width = min(WIDEST, max(NARROWEST, columns // (8 if both else 4)))
    digits = max(len(_number(value)) for line in drawn for value in (line.label, line.score))
    yield from _legend(tree)
    field = digits + 1 + width + 2
    heads = ["mark".ljust(7) * both, "label".ljust(field), "score".ljust(field) * both, "node"]
    yield "".join(heads)
    for line in drawn:
        yield _line_of(line, both=both, digits=digits, width=width)


def bar(share: float, width: int) -> str:
    """A bar of a share of a width in columns, padded to it; empty only for 0.

    >>> bar(0.5, 4), bar(1e-9, 4)
    ('██  ', '▏   ')
    """
    steps = len(BLOCKS) - 1
    whole, part = divmod(max(round(share * width * steps), int(share > 0)), steps)
    return (BLOCKS[-1] * whole + BLOCKS[part].strip()).ljust(width)


def _legend(tree: InstanceTree) -> Iterator[str]:
    """Legend above a tree: how values are summed, all marks, and when a node is predicted."""
    if tree.sums:
        yield tree.sums
    if tree.predictions is None:
        return
    for mark, meaning in MARKS.items():
        yield f"{mark:<7}{meaning}"
    if tree.single_label:
        yield "The node of the highest score is predicted, with all nodes above it."
    else:
        least = f"{tree.threshold:.4g}"
        yield f"A node is predicted if its own score is at least {least}, with all nodes above it."
    yield ""


def _line_of(line: InstanceLine, *, both: bool, digits: int, width: int) -> str:
    values: Sequence[tuple[float, float]] = (
        (line.label, line.label_share),
        *([(line.score, line.score_share)] if both else []),
    )
    shown = "".join(f"{_number(value):>{digits}} {bar(share, width)}  " for value, share in values)
    if not line.node:
        return f"{' ' * (7 * both + len(shown))}{line.lead}{line.title}"
    name = printable(f"{line.node} {line.title}".rstrip())
    return f"{line.mark:<7}"[: 7 * both] + f"{shown}{line.lead}{name}{_remarks_on(line)}"


def _remarks_on(line: InstanceLine) -> str:
    """What else is to be known of a node: its own values, and where else it stands."""
    remarks = []
    if line.own_label and line.own_label != line.label:
        remarks.append("used directly")
    if line.own_score and line.own_score != line.score:
        remarks.append(f"own score {_number(line.own_score)}")
    if line.also_below:
        remarks.append(f"also below {printable(', '.join(line.also_below))}")
    if line.again:
        remarks.append("its parts are shown above")
    return f"  ({'; '.join(remarks)})" if remarks else ""


def _number(value: float) -> str:
    """A value as text; empty for 0."""
    return f"{value:.4g}" if value else ""
