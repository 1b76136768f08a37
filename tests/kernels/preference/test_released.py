"""The released code's rules of preference, and chosen senses, against plain lists of words."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from audit.analyses.preference.analysis import measure_preference
from audit.analyses.preference.settings import Preferring
from audit.base.errors import AuditError
from audit.measure.measure import Found
from fixtures.wordnet_files import Synset, write_wordnet

WORDS = ("person", "artist", "painter", "muralist", "sculptor", "worker", "chief_cook", "Dali")
POINTERS = {
    "person": (),
    "artist": (("@", "person"),),
    "painter": (("@", "artist"),),
    "muralist": (("@", "painter"), ("@", "worker")),
    "sculptor": (("@", "artist"),),
    "worker": (("@", "person"),),
    "chief_cook": (("@", "worker"),),
    "Dali": (("@i", "painter"),),  # a single person: the released code does not follow it
    "maker": (("@", "entity"),),
    "entity": (),
}
SYNSETS = {
    key: Synset((key, *(("chef",) if key == "chief_cook" else ())),
                (*pointers, *((("@", "entity"),) if key == "person" else ())))
    for key, pointers in POINTERS.items()
}  # fmt: skip
SENSES = [
    ["painter", "painter.n.01"],
    ["cook", "chief_cook.n.01"],
    ["official", "worker.n.01"],
    ["official", None],
    ["nobody", None],
    ["sculptor", "sculptor.n.01"],
]
UP = {key: [parent for symbol, parent in pointers if symbol == "@"]
      for key, pointers in POINTERS.items()}  # fmt: skip


def ancestors(word: str) -> set[str]:
    """Words above, up to person."""
    if word == "person":
        return set()
    return {one for parent in UP[word] for one in {parent} | ancestors(parent)}


def descendants(word: str) -> set[str]:
    return {key for key in UP if word in ancestors(key)}


def related(answer: str) -> tuple[set[str], set[str]] | None:
    chosen = {"painter": "painter", "cook": "chief_cook", "official": "worker",
              "sculptor": "sculptor"}.get(answer)  # fmt: skip
    if chosen is None:
        return None
    return {answer, chosen} | descendants(chosen), ancestors(chosen)


@dataclass
class World:
    """Questions, and a ranked list of words with falling scores for each that is scored."""

    folder: Path
    asked: Sequence[tuple[str, str, str]]
    scored: Mapping[int, Sequence[tuple[str, float]]]

    def __post_init__(self) -> None:
        write_wordnet(self.folder / "dict", SYNSETS)
        self.lines("questions.jsonl", [
            {"sub_label": who, "obj_label": s, "obj2_label": g, "predicate_id": "P106"}
            for who, s, g in self.asked
        ])  # fmt: skip
        self.lines("scores.jsonl", [
            {"question": row, "scores": dict(ranked)} for row, ranked in self.scored.items()
        ])  # fmt: skip
        (self.folder / "senses.json").write_text(json.dumps(SENSES))

    def lines(self, name: str, records: Sequence[object]) -> None:
        (self.folder / name).write_text("".join(json.dumps(record) + "\n" for record in records))

    def run(self, **options: Any) -> Found:
        given = {"senses": self.folder / "senses.json", "released": True} | options
        files = {"scores": "scores.jsonl", "questions": "questions.jsonl", "words": "dict"}
        paths = {name: self.folder / file for name, file in files.items()}
        return measure_preference(Preferring(**paths, **given))


def rows(found: Found) -> dict[str, dict[str, Any]]:
    return {row["metric"]: row for row in found.frames["measured"].iter_rows(named=True)}


def as_released(world: World, k: int) -> dict[str, tuple[int, int]]:
    """Wins and questions of each metric, over ranked lists, as the notebook's loops say."""
    last = {who: (s, g) for who, s, g in world.asked}
    task = set().union(*(set().union(*both) for a in ("painter", "cook", "official", "sculptor")
                         if (both := related(a))))  # fmt: skip
    found = {"Acc": [0, 0], "pr": [0, 0], "ps": [0, 0], "pt": [0, 0]}

    def told(name: str, win: bool) -> None:
        found[name][0] += win
        found[name][1] += 1

    for row, listed in world.scored.items():
        ranked = sorted(listed, key=lambda pair: -pair[1])
        words, (specific, general) = [word for word, _ in ranked], last[world.asked[row][0]]
        told("Acc", specific in words[:k])
        first = next((word for word in words if word in (specific, general)), None)
        told("pr", first is not None and first == specific)
        both = related(specific)
        if both is None:
            continue
        below, above = ([score for word, score in ranked if word in side] for side in both)
        inside = [score for word, score in ranked if word in task]
        if below and above:
            told("ps", max(below) >= max(above))
        if (below or above) and inside:
            told("pt", max(below + above) >= max(inside))
    return {name: (wins, n) for name, (wins, n) in found.items()}


@pytest.mark.parametrize("seed", range(30))
def test_the_four_metrics_are_those_of_the_released_loops(tmp_path: Path, seed: int) -> None:
    drawn = random.Random(seed)
    answers = ("painter", "cook", "official", "nobody", "sculptor", "unicorn", "Painter")
    asked = [
        (
            drawn.choice("abcd"),
            drawn.choice(answers),
            drawn.choice(("artist", "worker", "Artist", "painter")),
        )
        for _ in range(8)
    ]
    words = [*WORDS, "dali", "cook", "official", "Painter", "chef", "entity", "maker", "noise"]
    scored = {
        row: [(word, drawn.choice((0.1, 0.2, 0.3, 0.4)))
              for word in drawn.sample(words, drawn.randint(1, len(words)))]
        for row in drawn.sample(range(8), 6)
    }  # fmt: skip
    world = World(tmp_path, asked, scored)

    result, k = world.run(k=3), 3
    for (wins, n), row in zip(as_released(world, k).values(), rows(result).values(), strict=True):
        assert (row["n"], row["n"] + row["left_out"]) == (n, 8)
        assert row["value"] == (pytest.approx(wins / n) if n else None)
    assert (result.facts["released"], result.facts["unscored"]) == (True, 2)


def test_a_chosen_sense_stands_above_the_rule_that_chooses(tmp_path: Path) -> None:
    world = World(tmp_path, [("a", "cook", "worker")], {0: [("worker", 0.1), ("chef", 0.2)]})

    ruled, chosen = world.run(released=False, senses=None), world.run(released=False)
    nodes = [found.frames["questions"]["node"].item() for found in (ruled, chosen)]
    assert nodes == [None, "chief_cook.n.01"]
    assert chosen.frames["measured"]["n"].to_list() == [1, 0, 1, 0]


@pytest.mark.parametrize(
    "senses", ["[", "[]", '[["painter"]]', '{"painter": 3}', '{"painter": "painter.n.77"}']
)
@pytest.mark.parametrize("released", [True, False])
def test_senses_that_cannot_be_used_are_refused(
    tmp_path: Path, senses: str, released: bool
) -> None:
    world = World(tmp_path, [("a", "painter", "artist")], {0: [("painter", 1.0)]})
    (tmp_path / "senses.json").write_text(senses)
    with pytest.raises(AuditError):
        world.run(released=released)
    with pytest.raises(AuditError, match="--senses names a file"):
        world.run(senses=None)
