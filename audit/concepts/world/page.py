"""The page of the world: every statement, and of how many networks of which size it holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import mean
from typing import Any

from audit.concepts.world.networks import KINDS, SIZES, Figures, SizeName, Task
from audit.concepts.world.statements import COLOURS, IDENTITIES, STATEMENTS, Statement, of_colours

Networks = Mapping[Task, Figures]


def page(results: Mapping[SizeName, Networks]) -> str:
    """The page, from the figures of the networks of each size, as Markdown."""
    return "\n".join(_page(results)) + "\n"


def _page(results: Mapping[SizeName, Networks]) -> Iterator[str]:
    yield from _networks(results)
    yield from _statements(results)
    yield "## Numbers that give each other\n"
    yield from _table(
        ("identity", "holds"), [(text, "yes" if holds else "no") for text, holds in IDENTITIES]
    )
    yield (
        "\nPeople, 63 % of whose 1,500 answers are right by majority (4.2.3), are not at hand;"
        " no network stands in for them."
    )


def _networks(results: Mapping[SizeName, Networks]) -> Iterator[str]:
    yield "# Concepts: the paper's world\n"
    yield (
        "What *Unit Testing for Concepts in Neural Networks* says of its encoders, and what"
        " `audit concepts` finds of two kinds that learned from its images alone: the small"
        " CNN, and a small ResNet in place of the paper's large one. Made by `audit concepts"
        " --world paper --size small --out FOLDER`; each network has representations in the"
        " folder, for `audit concepts FOLDER/small/CNN-0.npz --facets FOLDER/small/facets.csv"
        " --baseline FOLDER/small/CNN-0-untrained.npz`.\n"
    )
    yield from _table(
        (
            "size", "networks trained", "images of a class", "pixels", "times seen",
            "judged on images", "splits", "colours tell the class in",
        ),
        (
            (
                name,
                f"{len(results.get(name, {}))} of {len(size.tasks)}",
                f"{size.per_class:,}",
                f"{size.side} x {size.side}",
                str(size.epochs),
                f"{18 * size.sets:,}",
                str(size.splits),
                ", ".join(f"{100 * one:.1f} %" for one in size.correlations),
            )
            for name, size in SIZES.items()
        ),
    )  # fmt: skip
    yield (
        "\n`full` has the paper's numbers of images and takes 20 hours of processor time, or half"
        " an hour with one H200 and 16 cores. Networks trained on another machine differ in the"
        " second digit.\n"
    )


def _statements(results: Mapping[SizeName, Networks]) -> Iterator[str]:
    yield "## Statements\n"
    yield from _table(
        ("", "section", "the paper", *results, "why not, where it does not hold"),
        (
            (
                str(number),
                one.section,
                one.says,
                *(_cell(one, networks) for networks in results.values()),
                one.why,
            )
            for number, one in enumerate(STATEMENTS, start=1)
        ),
    )
    yield (
        "\nFigures are means over networks, with the least and greatest where these differ; then"
        " for how many networks the statement holds, by limits that the paper does not state"
        " (`audit/concepts/world/statements.py`).\n"
    )


def _cell(statement: Statement, networks: Networks) -> str:
    """Figures by kind, and of how many networks the statement holds."""
    if not statement.name:
        return "not tested"
    by_kind = {kind: _figures(statement, kind, networks) for kind in KINDS}
    told = [
        f"{kind}: {_means([one['shown'] for one in each])}; "
        f"{sum(one['holds'] for one in each)} of {len(each)}"
        for kind, each in by_kind.items()
        if each
    ]
    return ". ".join(told) or "no network yet"


def _figures(statement: Statement, kind: str, networks: Networks) -> list[Mapping[str, Any]]:
    """Of each network, or of each seed whose networks have learned from as many colours as any."""
    own = {task: figures for task, figures in networks.items() if task.kind == kind}
    if statement.name != COLOURS:
        return [
            figures["statements"][statement.name]
            for task, figures in own.items()
            if task.correlation is None
        ]
    right: dict[int, dict[float, float]] = {}
    for task, figures in own.items():
        if task.correlation is not None:
            right.setdefault(task.seed, {})[task.correlation] = figures["right"]
    whole = max(map(len, right.values()), default=0)
    return [vars(of_colours(shares)) for shares in right.values() if len(shares) == whole > 1]


def _means(each: Sequence[Mapping[str, float]]) -> str:
    return ", ".join(f"{name} {_spread([one[name] for one in each])}" for name in each[0])


def _spread(values: Sequence[float]) -> str:
    middle, least, most = (f"{one:z.2f}" for one in (mean(values), min(values), max(values)))
    return middle if least == most else f"{middle} ({least} to {most})"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
