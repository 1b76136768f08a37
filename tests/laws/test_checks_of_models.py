"""Each check of a model says what a plain search over labels and answers finds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from fixtures.audited_worlds import answered, chances, told
from fixtures.searches import Record, Told, World
from fixtures.searches_of_models import Answered, answers_told, model_confuses, unknown_classes
from tests.laws.test_checks import alike, said

EDGES = (
    *((branch, "top") for branch in ("animal", "thing")),
    *((leaf, "animal") for leaf in ("cat", "dog", "cow", "hen")),
    *((leaf, "thing") for leaf in ("saw", "car", "cup", "pen")),
    ("kitten", "cat"),
)
LEAVES = ("cat", "dog", "cow", "hen", "saw", "car", "cup", "pen")
Said = tuple[int, Iterable[str], Iterable[str]]


def right(times: int, leaves: Iterable[str] = LEAVES) -> list[Said]:
    return [(times, [leaf], [leaf]) for leaf in leaves]


def stray(times: int, leaves: Iterable[str] = LEAVES) -> list[Said]:
    return [(times, [a], [b]) for a in leaves for b in leaves if a != b]


def answering(*some: Said, groups: int = 0) -> Answered:
    """So many instances that are labelled and answered so, some of one group."""
    each = [(tuple(labels), tuple(own)) for times, labels, own in some for _ in range(times)]
    records = tuple(
        Record(f"i{k:04}", labels, f"g{k // groups}" if groups else None)
        for k, (labels, _) in enumerate(each)
    )
    answers = {f"i{k:04}": dict.fromkeys(own, 1.0) for k, (_, own) in enumerate(each)}
    return Answered(World(EDGES, records), answers)


TO_CAR = [(22, [leaf], ["car"]) for leaf in ("cat", "dog", "saw", "cup")]
STRAY = [*right(60), *stray(2)]
MODELS = {
    "two taken for each other": answering(*STRAY, (30, ["cat"], ["saw"]), (20, ["saw"], ["cat"])),
    "siblings, both ways": answering(*STRAY, (20, ["cat"], ["dog"]), (20, ["dog"], ["cat"])),
    "siblings, one way": answering(*STRAY, (40, ["cat"], ["dog"])),
    "an answer for many": answering(*STRAY, *TO_CAR),
    "an answer for two": answering(*STRAY, *TO_CAR[:2]),
    "an answer for one above all": answering(*STRAY, *TO_CAR, (90, ["cat"], ["car"])),
    "groups": answering(*STRAY, *TO_CAR, (30, ["hen"], ["pen"]), groups=3),
    "above and below": answering(
        *STRAY, (20, ["kitten"], ["cat"]), (20, ["cat"], ["kitten", "saw"])
    ),
    "several labels": answering(
        *right(40), *stray(1), (30, ["cat", "saw"], ["cat", "car"]), (9, ["cat", "dog"], ["cow"])
    ),
    "mistakes of three labels": answering(*right(9), *stray(5, LEAVES[:3])),
    "mistakes of four": answering(*right(9), *stray(5, LEAVES[:4]), (30, ["cat"], ["dog"])),
    "two labels in use": answering(*right(9, LEAVES[:2]), *stray(5, LEAVES[:2])),
    "no mistake": answering(*right(9)),
    "classes that are no nodes": answering(
        *right(9), (4, ["cat"], ["lion", "cat"]), (2, ["dog"], ["wolf"])
    ),
}


@pytest.mark.parametrize("given", MODELS.values(), ids=MODELS)
def test_what_a_model_confuses_is_what_a_search_finds(given: Answered) -> None:
    result = answered(given.world, given.answers)
    known = {
        i: {n: score for n, score in own.items() if n in given.world.up}
        for i, own in given.answers.items()
    }
    model = replace(given, answers=known, by_chance=chances(result))
    searched = model_confuses(model)
    wanted = said("model_confuses", searched)
    found = told(result, "model_confuses")
    assert alike(found, wanted), (found, wanted)
    assert result.model is not None
    pairs = [
        (one["excess"], one["a"], one["b"])
        for one in result.model.frames["exchanged_pairs"].to_dicts()
    ]
    assert pairs == sorted(pairs, key=lambda one: (-one[0], *one[1:]))
    if searched.denominator:
        names = ("node", "falsely", "missed", "hits", "answers", "labelled")
        rows = [
            {name: one[name] for name in names} for one in result.model.frames["answers"].to_dicts()
        ]
        assert rows == answers_told(model)
    classes = unknown_classes(given.answers, given.world)
    wanted = said("unknown_code", Told(len(given.world.rows), [classes] if classes else []))
    assert alike(told(result, "unknown_code"), wanted)
