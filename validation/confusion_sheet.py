"""A sheet to judge findings on a model's confusions blind, as `pair_sheet` is one on pairs.

``AUDIT_DATA=FOLDER python -m validation.confusion_sheet OUT`` writes ``sheet.md``, which tells the
labels and how often each is mistaken, and ``answers.json``, which tells what was reported.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

import audit
from audit.alignment.measure import ModelMeasurements, measure_model
from audit.base.dag import IntArray
from audit.checks.rules import model_confuses
from audit.hierarchies.relations import relate
from audit.measure.measure import Measurements, measure
from audit.policy.policy import Policy
from audit.results.findings import Finding

TOP, LABELS = 20, 8


@dataclass(frozen=True)
class Source:
    """A model's answers: files below ``AUDIT_DATA``."""

    labels: str
    predictions: str
    hierarchy: str
    classes: str | None = None


SOURCES = {
    "CIFAR-10": Source(
        "softmax/cifar10_test_labels.npy",
        "softmax/cifar10_test_probabilities.npy",
        "softmax/cifar10_edges.csv",
        "softmax/cifar10_classes.txt",
    ),
    "20 Newsgroups": Source(
        "softmax/20news_test_labels.npy",
        "softmax/20news_test_probabilities.npy",
        "softmax/20news_classes.txt",
        "softmax/20news_classes.txt",
    ),
    "AudioSet": Source(
        "audioset/labels.jsonl", "audioset/predictions.jsonl", "audioset/ontology.json"
    ),
}


@dataclass(frozen=True)
class Entry:
    """Two labels, or an answer and the labels in whose place it is given.

    Args:
        text: What a reader is shown.
        name: The same in short.
        exchanged: Exchanges of them.
        expected: Exchanges expected; None for an answer.
        reported: Whether a finding says so.
    """

    text: str
    name: str
    exchanged: int
    expected: float | None
    reported: bool


ABOUT = """# What a model answers in place of what

Some of these lines were chosen by a tool, some were not. For each line on two labels say whether
they are hard to tell apart, or used for the same thing: `yes`, `partly` or `no`. For each line on
an answer say whether a modeller would be right to be told to look at why it is given in place of
these labels: `yes` where its shares of their misses are well above that of all misses, whether or
not they are alike; `no` where they are not. And why, in a sentence. One line a number: name and
number, verdict and reason, separated by tabs.
"""


def main() -> None:
    """Write the sheet and the answers."""
    folder, out = Path(os.environ["AUDIT_DATA"]), Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    lines, answers = [ABOUT], {}
    for name, source in SOURCES.items():
        measured, model = _measured(folder, source)
        lines.append(f"## {name}: {measured.n_instances:,} instances\n")
        for number, entry in enumerate(_shuffled(measured, model), 1):
            key = f"{name} {number}"
            answers[key] = asdict(entry)
            lines.append(f"**{key}.** {entry.text}\n")
    (out / "sheet.md").write_text("\n".join(lines), "utf-8")
    (out / "answers.json").write_text(json.dumps(answers, indent=1), "utf-8")


def _measured(folder: Path, source: Source) -> tuple[Measurements, ModelMeasurements]:
    hierarchy = audit.load_hierarchy(folder / source.hierarchy)
    classes = None if source.classes is None else folder / source.classes
    dataset = audit.load_labels(folder / source.labels, hierarchy, classes=classes)
    answers = audit.load_predictions(folder / source.predictions, dataset, classes=classes)
    model = measure_model(dataset, answers, Policy(), seed=0)
    return replace(measure(dataset, Policy()), model=model), model


def _shuffled(measured: Measurements, model: ModelMeasurements) -> list[Entry]:
    """The first findings, and for each one as often expected that is not reported."""
    check = model_confuses.CHECK.run(measured)
    findings = check.standing[:TOP]
    everywhere = {_ends(measured, one) for one in check.findings if not one.key}
    answers = {one.key[0] for one in check.standing if one.key}
    entries: list[Entry] = []
    for finding in findings:
        if finding.key:
            answer, n = finding.key[0], len(finding.parts)
            ends = {end for part in finding.parts for end in part.nodes}
            own = np.array([measured.hierarchy.index(end) for end in sorted(ends - {answer})])
            own = own[np.argsort(-_given(model, measured.hierarchy.index(answer))[own])]
            other = _other_answer(measured, model, answer, answers)
            answers.add(other)
            of_other = _most_in_place(measured, model, other, n)
            entries += [
                replace(_leaning(measured, model, answer, own), reported=True),
                _leaning(measured, model, other, of_other),
            ]
        else:
            own_pair = _ends(measured, finding)
            other_pair = _other_pair(measured, model, own_pair, everywhere)
            everywhere.add(other_pair)
            entries += [
                _pair(measured, model, own_pair, reported=True),
                _pair(measured, model, other_pair, reported=False),
            ]
    order = np.random.default_rng(len(entries)).permutation(len(entries))
    return [entries[place] for place in order]


def _ends(measured: Measurements, finding: Finding) -> tuple[int, int]:
    a, b = (measured.hierarchy.index(node) for node in finding.nodes)
    return a, b


def _other_pair(
    measured: Measurements,
    model: ModelMeasurements,
    own: tuple[int, int],
    taken: set[tuple[int, int]],
) -> tuple[int, int]:
    """The pair whose expectation is nearest to that of another, of those that are left."""
    hierarchy, found = measured.hierarchy, model.exchanges
    a, b = np.nonzero(np.triu(np.ones((len(hierarchy),) * 2, np.bool_), 1))
    kept = found.exchangeable(a, b) & (relate(hierarchy, a, b)[0] > 0)
    a, b = a[kept], b[kept]
    logs = np.log(np.maximum(found.expected(a, b), 1e-9))
    place = int(np.flatnonzero((a == own[0]) & (b == own[1]))[0])
    near = np.argsort(np.abs(logs - logs[place]), kind="stable").tolist()
    ends = ((int(a[other]), int(b[other])) for other in near)
    return next(pair for pair in ends if pair not in taken)


def _other_answer(
    measured: Measurements, model: ModelMeasurements, own: str, taken: set[str]
) -> str:
    """The label that is nearly as often answered falsely as another, of those that are left."""
    logs = np.log(np.maximum(model.exchanges.false, 1))
    near = np.argsort(np.abs(logs - logs[measured.hierarchy.index(own)]), kind="stable")
    names = (measured.hierarchy.nodes[int(place)] for place in near)
    return next(name for name in names if name not in taken)


def _pair(
    measured: Measurements, model: ModelMeasurements, ends: tuple[int, int], *, reported: bool
) -> Entry:
    found = model.exchanges
    each = []
    for node in ends:
        labelled, missed = measured.direct_support[node], found.missed[node]
        each.append(
            f"{measured.hierarchy.describe(node)} (label of {labelled:,} instances; missed beside "
            f"a wrong answer on {missed:,}, wrongly answered on {found.false[node]:,})"
        )
    first, second = (np.array([end]) for end in ends)
    names = (measured.hierarchy.describe(end) for end in ends)
    observed = found.observed[(found.a == ends[0]) & (found.b == ends[1])].sum()
    return Entry(
        " and ".join(each),
        " and ".join(names),
        int(observed),
        float(found.expected(first, second)[0]),
        reported,
    )


def _leaning(
    measured: Measurements, model: ModelMeasurements, answer: str, labels: IntArray
) -> Entry:
    """An answer with some labels in whose place it is given, for their numbers of misses."""
    describe, found = measured.hierarchy.describe, model.exchanges
    node, missed = measured.hierarchy.index(answer), found.missed
    given = _given(model, node)
    lines = (
        f"{describe(label)} ({given[label]:,} of {missed[label]:,} misses, "
        f"{given[label] / missed[label]:.0%})"
        for label in labels[:LABELS].tolist()
    )
    rest = f" and {len(labels) - LABELS} more" if len(labels) > LABELS else ""
    text = (
        f"The answer {describe(node)}, wrongly given on {found.false[node]:,} instances, "
        f"beside {given.sum() / missed.sum():.1%} of all misses, in place of "
        f"{', '.join(lines)}{rest}"
    )
    name = f"the answer {describe(node)} in place of {len(labels)} labels"
    return Entry(text, name, int(given[labels].sum()), None, reported=False)


def _given(model: ModelMeasurements, answer: int) -> IntArray:
    """How often an answer is given in place of each node, shape (n_nodes,)."""
    found, given = model.exchanges, np.zeros_like(model.exchanges.missed)
    for label, other, count in (
        (found.a, found.b, found.forth),
        (found.b, found.a, found.back),
    ):
        given[label[other == answer]] += count[other == answer]
    return given


def _most_in_place(
    measured: Measurements, model: ModelMeasurements, answer: str, n: int
) -> IntArray:
    """The labels in whose place an answer is given most, beyond its share of all misses."""
    node, missed = measured.hierarchy.index(answer), model.exchanges.missed
    given = _given(model, node)
    beyond = given - missed * given.sum() / missed.sum()
    apart = relate(measured.hierarchy, np.arange(len(given)), np.full(len(given), node))[0] > 0
    order = np.argsort(-np.where(apart & (given > 0), beyond, -np.inf))
    return order[: min(n, int((apart & (given > 0)).sum()))]


if __name__ == "__main__":
    main()
