"""S-TEST's questions on WordNet 3.0, scored by counting answers; equal to plain Python."""

from __future__ import annotations

import json
import os
import random
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from fixtures.doors import Preferring, measure_preference, wordnet
from fixtures.registered import Found

DATA = os.environ.get("AUDIT_DATA", "")
WORDNET = Path("/usr/share/wordnet")
pytestmark = [
    pytest.mark.skipif(not DATA, reason="AUDIT_DATA names no folder with the real releases"),
    pytest.mark.skipif(
        not wordnet.matches(WORDNET), reason="no WordNet 3.0: install Debian's wordnet-base"
    ),
]

ROOTS = {"P106": "person.n.01", "P131": "location.n.01", "P19": "location.n.01"}
RELATION = {"P106": "hypernym", "P131": "holonym", "P19": "holonym"}
MAPPED = {"P106": (107, 110, 4_997), "P131": (207, 300, 4_492), "P19": (253, 424, 4_669)}
"""Specific answers that are a synset, of how many, and the questions they answer."""

each_task = pytest.mark.parametrize("predicate", ROOTS)

Counts = dict[str, tuple[int, int, int]]
"""Wins, ties and n of each metric."""


@cache
def questions(predicate: str) -> list[dict[str, str]]:
    path = Path(DATA) / "s-test" / f"{predicate}.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@cache
def scored(predicate: str) -> dict[int, dict[str, float]]:
    """A model that has counted the answers of a random half, asked about a tenth of the other.

    It knows the words of the answers, specific and general; each question shifts them by a hash of
    its own, so that questions differ, and leaves out the last of them, as a list of the best does.
    """
    asked = questions(predicate)
    order = random.Random(0).sample(range(len(asked)), len(asked))
    seen, tested = order[: len(order) // 2], order[len(order) // 2 :][: len(order) // 20]
    times = Counter(asked[row][key] for row in seen for key in ("obj_label", "obj2_label"))
    scores = {}
    for row in tested:
        mood = random.Random(asked[row]["sub_uri"])
        shifted = {word: n * mood.choice([1, 1, 2, 5]) for word, n in sorted(times.items())}
        scores[row] = dict(Counter(shifted).most_common(len(shifted) - len(shifted) // 10))
    return scores


@cache
def result(predicate: str) -> Found:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "scores.jsonl"
        lines = [{"question": row, "scores": found} for row, found in scored(predicate).items()]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        asked = Path(DATA) / "s-test" / f"{predicate}.jsonl"
        return measure_preference(Preferring(scores=path, questions=asked, words=WORDNET))


@dataclass(frozen=True, eq=False)
class Plain:
    """WordNet and questions over sets of words, by definition."""

    predicate: str
    nouns: wordnet.WordNet

    def _reach(self, start: str, relation: str, *, up: bool) -> set[str]:
        found, waiting = {start}, [start]
        while waiting:
            new = links(relation, up)[waiting.pop()] - found
            found |= new
            waiting += new
        return found

    @cache  # noqa: B019 - lives as long as the test
    def up(self, node: str) -> frozenset[str]:
        return frozenset(self._reach(node, RELATION[self.predicate], up=True) - {node})

    @cache  # noqa: B019
    def down(self, node: str) -> frozenset[str]:
        return frozenset(self._reach(node, RELATION[self.predicate], up=False))

    @cache  # noqa: B019
    def fitting(self, word: str) -> list[str]:
        root = ROOTS[self.predicate]
        found = self.nouns.senses.get(word.lower(), ())
        return [node for node in found if root in self._reach(node, "hypernym", up=True)]

    @cache  # noqa: B019
    def node(self, specific: str, general: str) -> str | None:
        found, wider = self.fitting(specific), set(self.fitting(general))
        below = [node for node in found if wider & self.up(node)]
        return (below or found or [None])[0]

    def words(self, nodes: frozenset[str]) -> set[str]:
        return {word.lower() for node in nodes for word in self.nouns.lemmas[node]}

    def counts(self, scores: dict[int, dict[str, float]]) -> Counts:
        asked = questions(self.predicate)
        nodes = [self.node(q["obj_label"], q["obj2_label"]) for q in asked]
        spoken = {word.lower() for row in scores.values() for word in row}
        related = frozenset().union(*(self.up(node) | self.down(node) for node in nodes if node))
        task = self.words(related) & spoken
        found: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        for row, given in scores.items():
            value = {word.lower(): score for word, score in given.items()}
            s, g, node = (
                asked[row]["obj_label"].lower(),
                asked[row]["obj2_label"].lower(),
                nodes[row],
            )
            pairs = {"P(s, g)": ({s} & spoken, {g} & spoken)}
            if node:
                below, above = self.words(self.down(node)), self.words(self.up(node))
                pairs["P(s-down, s-up)"] = (below & spoken, above & spoken)
                pairs["P(s-updown, t)"] = ((below | above) & spoken, task)
            for metric, (first, second) in pairs.items():
                a = [value[word] for word in first if word in value]
                b = [value[word] for word in second - first if word in value]
                if first and second - first and a + b:
                    high, other = max(a, default=-1), max(b, default=-1)
                    found[metric][0] += high > other
                    found[metric][1] += high == other
                    found[metric][2] += 1
            ranked = sorted(value.values(), reverse=True)
            found["Acc@10"][0] += s in value and sum(x >= value[s] for x in ranked) <= 10
            found["Acc@10"][1] += s in value and ranked[9] == value[s] == ranked[10]
            found["Acc@10"][2] += 1
        return {metric: tuple(three) for metric, three in found.items()}


@cache
def nouns() -> wordnet.WordNet:
    return wordnet.read_wordnet(WORDNET)


@cache
def links(relation: str, up: bool) -> dict[str, set[str]]:
    found = defaultdict(set)
    for child, parent in nouns().edges[relation]:
        found[child if up else parent].add(parent if up else child)
    return found


@pytest.mark.slow
@each_task
def test_every_metric_equals_plain_python(predicate: str) -> None:
    rows = result(predicate).frames["measured"].select("metric", "won", "tied", "n").rows()
    plain = Plain(predicate, nouns()).counts(scored(predicate))

    assert plain == {metric: tuple(counts) for metric, *counts in rows}
    assert all(row[-1] > 100 for row in rows)
    found, (mapped, answers, answered) = result(predicate), MAPPED[predicate]
    with_node = found.frames["questions"].drop_nulls("node")
    assert (with_node["specific"].n_unique(), len(with_node)) == (mapped, answered)
    assert found.frames["questions"]["specific"].n_unique() == answers
    assert (found.facts["questions"], found.facts["unscored"]) == (5_000, 5_000 - 250)
