"""``audit show`` and ``audit cases``: individual instances of a run, drawn as lines of text."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated, Any

import typer

from audit.base.errors import InputError, printable
from audit.base.limits import USUAL, limits
from audit.base.plurals import counted
from audit.base.settings import Argument, Option
from audit.cli.options import RunFolder
from audit.cli.output import print_shown, write_lines
from audit.runs.settings import Limits

if TYPE_CHECKING:
    from audit.data.weighted_dag import InstanceLine, InstanceTree


def show(
    run: Annotated[Path, Argument("Run made with --keep-instances.", metavar="RUN")],
    instance: Annotated[str, Argument("Id of an instance.", metavar="INSTANCE")],
    least: Annotated[
        float, Option("Leave out nodes below this share of the root.", least=0, most=1)
    ] = 0.01,
    html: Annotated[
        Path | None, Option("Write the tree as an HTML page instead.", metavar="FILE", writes=True)
    ] = None,
    overwrite: Annotated[bool, Option("Replace an earlier FILE.")] = False,
    limit: Limits = USUAL,
) -> None:
    """Draw labels and predictions of one instance in one tree, with hits and misses marked."""
    from audit.runs.instances import instance_view, read_instance

    if overwrite and html is None:
        raise InputError("--overwrite needs --html", found="--overwrite alone")
    with limits(**limit):
        tree = read_instance(run, instance)
        if html is None:
            _print_tree(tree, instance, least)
        else:
            from audit import _reports as reports
            from audit.base.disk import replacing

            with replacing(html, overwrite=overwrite) as begun:
                reports.write_instance(instance_view(tree, instance, least), begun)
            typer.echo(f"Page: {html}")


def _print_tree(tree: InstanceTree, instance: str, least: float) -> None:
    columns, encoding = get_terminal_size().columns, getattr(sys.stdout, "encoding", None)
    drawn = instance_lines(tree, least, columns=columns, encoding=encoding or "utf-8")
    heading = "Labels" if tree.predictions is None else "Labels and predictions"
    write_lines("\n".join([f"{heading} of {printable(instance)}", *drawn]))


def cases(
    run: RunFolder,
    finding: Annotated[
        str | None,
        Argument("Id of a finding; without one, all findings are listed.", metavar="FINDING"),
    ] = None,
    sample: Annotated[
        int | None, Option("Draw N cases of a finding at random.", metavar="N", least=1)
    ] = None,
    seed: Annotated[int, Option("Seed of the drawing.", least=0)] = 0,
    csv: Annotated[
        Path | None, Option("Write the cases as CSV instead.", metavar="FILE", writes=True)
    ] = None,
    overwrite: Annotated[bool, Option("Replace an earlier FILE.")] = False,
) -> None:
    """List the instances behind a finding of a run, or count those behind each finding."""
    from audit.cli.terminal.listings import case_summary
    from audit.runs.case_lists import cases_of, drawn, listed, records_behind, write_csv
    from audit.runs.read import read_run

    if sample and finding is None and csv is None:
        raise InputError("--sample needs FINDING or --csv", found="neither")
    if overwrite and csv is None:
        raise InputError("--overwrite needs --csv", found="--overwrite alone")
    result = read_run(run)
    found = cases_of(result, finding)
    if sample:
        found = drawn(found, sample, seed)
    if csv is not None:
        write_csv(records_behind(result, found), csv, overwrite=overwrite)
        typer.echo(f"Cases: {csv}")
    elif finding is None:
        print_shown(case_summary(listed(result)))
    else:
        ids = found.collect(engine="streaming")["instance"].to_list()
        heading = f"{counted(len(ids), result.called)} behind {finding}"
        _print_cases(heading, ids, records_behind(result, found))


def _print_cases(heading: str, ids: Sequence[str], told: Iterator[Any]) -> None:
    """Print ids, one a line; a terminal sees how many they are, with the labels of each.

    It obeys nothing in them.
    """
    if sys.stderr.isatty():
        typer.echo(heading, err=True)
    if sys.stdout.isatty():
        from audit.cli.terminal.listings import record_lines

        for one in told:
            print_shown(record_lines(one))
    elif ids:
        write_lines("\n".join(ids))


BLOCKS = " ▏▎▍▌▋▊▉█"
"""Bars of zero to eight eighths of a column."""
ASCII_TREE = str.maketrans({"├": "|", "└": "`", "│": "|", "─": "-"})
NARROWEST, WIDEST = 4, 20
"""Least and greatest width of a bar in columns."""
MARKS = {
    "hit": "labelled and predicted",
    "miss": "labelled, not predicted",
    "false": "predicted, not labelled",
}


def instance_lines(
    tree: InstanceTree, least: float, *, columns: int, encoding: str
) -> Iterator[str]:
    """Draw the merged tree of an instance.

    Args:
        least: Share of all labels, and of all scores, below which a node is left out, as of
            `InstanceTree.lines`.
        encoding: Of the terminal; where it has no lines and blocks, ASCII replaces them.
    """
    drawn = list(tree.lines(least))
    unicode, both = _has_blocks(encoding), tree.predictions is not None
    width = min(WIDEST, max(NARROWEST, columns // (8 if both else 4)))
    digits = max(len(_number(value)) for line in drawn for value in (line.label, line.score))
    yield from _key(tree)
    field = digits + 1 + width + 2
    heads = ["mark".ljust(7) * both, "label".ljust(field), "score".ljust(field) * both, "node"]
    yield "".join(heads)
    for line in drawn:
        yield _line_of(line, both=both, unicode=unicode, digits=digits, width=width)


def bar(share: float, width: int, *, unicode: bool = True) -> str:
    """A bar of a share of a width in columns, padded to it; empty only for 0.

    >>> bar(0.5, 4), bar(0.5, 4, unicode=False), bar(1e-9, 4), bar(1e-9, 4, unicode=False)
    ('██  ', '##  ', '▏   ', '#   ')
    """
    steps = len(BLOCKS) - 1 if unicode else 1
    filled = max(round(share * width * steps), int(share > 0))
    whole, part = divmod(filled, steps)
    drawn = BLOCKS[-1] * whole + BLOCKS[part].strip() if unicode else "#" * whole
    return drawn.ljust(width)


def _key(tree: InstanceTree) -> Iterator[str]:
    """What the marks mean, for this instance."""
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


def _line_of(line: InstanceLine, *, both: bool, unicode: bool, digits: int, width: int) -> str:
    lead = line.lead if unicode else line.lead.translate(ASCII_TREE)
    values: Sequence[tuple[float, float]] = (
        (line.label, line.label_share),
        *([(line.score, line.score_share)] if both else []),
    )
    shown = "".join(
        f"{_number(value):>{digits}} {bar(share, width, unicode=unicode)}  "
        for value, share in values
    )
    if not line.node:
        return f"{' ' * (7 * both + len(shown))}{lead}{line.title}"
    name = printable(f"{line.node} {line.title}".rstrip())
    return f"{line.mark:<7}"[: 7 * both] + f"{shown}{lead}{name}{_remarks_on(line)}"


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
    return f"{value:.4g}" if value else ""


def _has_blocks(encoding: str) -> bool:
    try:
        (BLOCKS + "├└│─").encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
