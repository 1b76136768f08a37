"""Preference: questions by hand, the released code's rules over lists, what is refused."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from audit import AuditError
from audit.analyses.preference.analysis import measure_preference
from audit.analyses.preference.settings import Preferring
from audit.engine.statistics.intervals import wilson
from audit.measure.measure import Found
from fixtures.wordnet_files import Synset, write_wordnet

EDGES = [("artist", "person"), ("painter", "artist"), ("muralist", "painter"),
         ("sculptor", "artist"), ("worker", "person"), ("cook", "worker")]  # fmt: skip
ASKED = [("painter", "artist"), ("cook", "worker"), ("painter", "person"), ("unicorn", "artist")]
NONE = dict.fromkeys(["person", "artist", "painter", "muralist", "worker", "cook", "sculptor"], 0.0)
SCORED: list[tuple[object, dict[str, float]]] = [
    (0, NONE | {"sculptor": 0.9, "person": 0.4, "painter": 0.3, "artist": 0.2, "muralist": 0.1}),
    ("Q1", NONE | {"cook": 0.2, "worker": 0.2, "painter": 0.2, "person": 0.1}),
    (3, NONE | {"artist": 0.5}),
]
"""Row 2 is not scored; row 3 asks for what is neither a node nor a token."""
EDGE = ["child", "parent"]


class Folder:
    """Writes questions, scores and a hierarchy, and runs them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.asked(ASKED)
        self.scored(SCORED)
        pl.DataFrame(EDGES, EDGE, orient="row").write_csv(path / "edges.csv")

    def asked(self, pairs: Sequence[tuple[str, str]], **more: Any) -> None:
        rows = [
            {"sub_uri": f"Q{row}", "sub_label": "x", "obj_label": s, "obj2_label": g}
            | {"predicate_id": "P106"} | more
            for row, (s, g) in enumerate(pairs)
        ]  # fmt: skip
        self.lines("questions.jsonl", rows)

    def scored(self, rows: Sequence[tuple[object, Mapping[str, object]]]) -> None:
        self.lines("scores.jsonl", [{"question": key, "scores": scores} for key, scores in rows])

    def lines(self, name: str, records: Sequence[object]) -> None:
        (self.path / name).write_text("".join(json.dumps(record) + "\n" for record in records))

    def run(self, scores: str = "scores.jsonl", words: str = "edges.csv", **options: Any) -> Found:
        files = {"questions": self.path / "questions.jsonl", "words": self.path / words}
        return measure_preference(Preferring(scores=self.path / scores, **files, **options))

    def refused(self, scores: str = "scores.jsonl", **options: Any) -> str:
        with pytest.raises(AuditError) as caught:
            self.run(scores, **options)
        assert caught.value.exit_status == 2
        return str(caught.value)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def counts(found: Found) -> list[tuple[float | None, int, int, int]]:
    """Of each metric its value, n, ties and what is left out."""
    return found.frames["measured"].select("value", "n", "tied", "left_out").rows()


def test_the_worked_example(folder: Folder) -> None:
    found = folder.run(k=3)

    assert counts(found) == [
        (2 / 3, 3, 0, 1),  # sculptor, person, painter; cook among the three highest
        (1 / 2, 2, 1, 2),  # .3 > .2; .2 = .2; unicorn is no token
        (0, 2, 1, 2),  # .3 < .4 (person); .2 = .2 (worker)
        (1 / 2, 2, 1, 2),  # .4 > 0: sculptor is not of the task; .2 = .2
    ]
    assert (found.facts["questions"], found.facts["unscored"]) == (4, 1)
    assert found.frames["questions"]["node"].to_list() == ["painter", "cook", "painter", None]
    assert found.frames["measured"].select("low", "high").row(1) == wilson(1, 2)
    assert counts(folder.run(k=2))[0] == (0, 3, 1, 1), "equal at the edge of k is no hit"
    packed = gzip.compress((folder.path / "scores.jsonl").read_bytes())
    (folder.path / "scores.jsonl.gz").write_bytes(packed)
    assert counts(folder.run("scores.jsonl.gz", k=3)) == counts(found)


@pytest.mark.parametrize(
    ("asked", "scores", "expected"),
    [
        # nothing to compare is null
        ([("unicorn", "griffin")], [{"artist": 1}], [(0, 1, 0, 0), *[(None, 0, 0, 1)] * 3]),
        # tokens of one word count with the highest; without other answers there is no other task
        ([("painter", "artist")], [{"painter": 0.1, "Painter": 0.6, "artist": 0.5}],
         [*[(1, 1, 0, 0)] * 3, (None, 0, 0, 1)]),
        # a token that a question does not list is below those it lists
        ([("painter", "artist")] * 3, [{"painter": -7}, {"artist": -3}, {"tree": -1}],
         [(1 / 3, 3, 0, 0), (1 / 2, 2, 0, 1), (1 / 2, 2, 0, 1), (None, 0, 0, 3)]),
    ],
)  # fmt: skip
def test_what_is_not_listed(
    folder: Folder, asked: list[tuple[str, str]], scores: list[dict[str, float]], expected: Any
) -> None:
    folder.asked(asked)
    folder.scored([*enumerate(scores)])
    assert counts(folder.run(k=1)) == expected


def test_a_word_of_both_sides_speaks_for_the_first(folder: Folder) -> None:
    rows = [("p", "a", "painter, brush"), ("a", "root", "artist, brush")]
    table = pl.DataFrame(rows, [*EDGE, "title"], orient="row")
    table.write_csv(folder.path / "edges.csv")
    folder.asked([("painter", "artist")])
    folder.scored([(0, {"brush": 0.5, "artist": 0.4, "root": 0.1})])

    assert counts(folder.run())[2] == (1, 1, 0, 0)


SYNSETS = {
    "entity": Synset(["entity"]),
    "person": Synset(["person"], [("@", "entity")]),
    "location": Synset(["location"], [("@", "entity")]),
    "cougar": Synset(["painter"], [("@", "entity")]),
    "artist": Synset(["artist"], [("@", "person")]),
    "painter": Synset(["painter"], [("@", "artist")]),
    "house_painter": Synset(["house_painter", "painter"], [("@", "person")]),
    "texas": Synset(["Texas"], [("@i", "location")]),
    "australia": Synset(["Australia"], [("@i", "location")]),
    "town": Synset(["Victoria"], [("@i", "location"), ("#p", "texas")]),
    "state": Synset(["Victoria"], [("@i", "location"), ("#p", "australia")]),
    "melbourne": Synset(["Melbourne"], [("@i", "location"), ("#p", "state")]),
    "queen": Synset(["Texas"], [("@i", "person")]),
}


@pytest.fixture
def wordnet(folder: Folder) -> Folder:
    write_wordnet(folder.path / "dict", SYNSETS)
    return folder


@pytest.mark.parametrize(
    ("predicate", "specific", "general", "node"),
    [
        ("P106", "Painter", "musician", "painter.n.02"),
        ("P106", "house_painter", "person", "house_painter.n.01"),
        ("P106", "Victoria", "Texas", None),
        ("P131", "Victoria", "Canada", "victoria.n.01"),
        ("P131", "Victoria", "Texas", "victoria.n.01"),
        ("P131", "Victoria", "australia", "victoria.n.02"),
    ],
)
def test_an_answer_means_its_most_frequent_sense_below_the_general_answer(
    wordnet: Folder, predicate: str, specific: str, general: str, node: str | None
) -> None:
    wordnet.asked([(specific, general)], predicate_id=predicate)
    wordnet.scored([(0, {"x": 1})])

    assert wordnet.run(words="dict").frames["questions"]["node"].to_list() == [node]


def test_the_predicate_chooses_the_relation(wordnet: Folder) -> None:
    wordnet.asked([("Victoria", "Australia"), ("Victoria", "Texas")], predicate_id="P131")
    wordnet.scored([(0, {"melbourne": 3, "australia": 2, "texas": 1}), (1, {"melbourne": 1})])
    found = wordnet.run(words="dict")

    assert (found.facts["relation"], found.facts["hierarchy"]) == ("holonym", "dict")
    assert counts(found)[2:] == [(1, 1, 0, 1), (1 / 2, 2, 0, 0)]  # nothing is below the town
    assert wordnet.run(words="dict", relation="hypernym").facts["relation"] == "hypernym"
    assert "--relation" in wordnet.refused(relation="hypernym")
    wordnet.asked([("painter", "artist")], predicate_id="P999")
    wordnet.scored([(0, {"painter": 2, "artist": 1})])
    assert "P106, P131, P19" in wordnet.refused(words="dict")
    assert counts(wordnet.run(words="dict", relation="hypernym"))[1][0] == 1
    wordnet.asked([("painter", "artist")])
    write_wordnet(wordnet.path / "small", {"entity": Synset(["entity"])})
    assert "person.n.01" in wordnet.refused(words="small")


def test_bad_scores_are_refused_with_their_line(folder: Folder) -> None:
    for rows in [
        *([(key, NONE)] for key in (4, -1, True, 0.5, "Q9")),
        [(0, NONE), ("Q0", NONE)],
        [(0, {})],
        *([(0, {"a": one})] for one in (None, "1", True, 10**400)),
    ]:
        folder.scored(rows)
        assert f"scores.jsonl:{len(rows)}" in folder.refused()


def test_bad_lines_are_refused(folder: Folder) -> None:
    for line in [
        *('{"question": 0, "scores": {"a": NaN}}', '{"question": 0, "scores": {"a": 1e999}}'),
        *('{"question": 0, "scores": [1]}', '{"scores": {"a": 1}}', "[1]", "{", "", "\xff"),
    ]:
        (folder.path / "scores.jsonl").write_text(line, "latin-1")
        assert "scores.jsonl" in folder.refused()


@pytest.mark.parametrize("key", ["sub_label", "obj_label", "obj2_label", "predicate_id"])
def test_questions_need_their_keys_one_predicate_and_ids_of_their_own(
    key: str, folder: Folder
) -> None:
    folder.asked(ASKED, **{key: None})
    assert key in folder.refused()
    record = {"sub_label": "x", "obj_label": "a", "obj2_label": "b"}
    folder.lines("questions.jsonl", [record | {"predicate_id": f"P{row}"} for row in range(2)])
    assert "'P0', 'P1'" in folder.refused()
    folder.asked(ASKED, sub_uri="Q1")
    assert "'Q1'" in folder.refused()


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
PERSONS = {
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
        write_wordnet(self.folder / "dict", PERSONS)
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


@pytest.mark.parametrize("seed", range(8))
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


@pytest.mark.parametrize("released", [True, False])
def test_senses_that_cannot_be_used_are_refused(tmp_path: Path, released: bool) -> None:
    for senses in ["[", "[]", '[["painter"]]', '{"painter": 3}', '{"painter": "painter.n.77"}']:
        world = World(tmp_path, [("a", "painter", "artist")], {0: [("painter", 1.0)]})
        (tmp_path / "senses.json").write_text(senses)
        with pytest.raises(AuditError):
            world.run(released=released)
        with pytest.raises(AuditError, match="--senses names a file"):
            world.run(senses=None)
