"""Preference: questions worked by hand, words and senses, and what is refused."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from audit.analyses.preference.analysis import measure_preference
from audit.analyses.preference.measure import LOST, TIED, WON, among_highest
from audit.analyses.preference.settings import Preferring
from audit.base.errors import AuditError
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


class Folder:
    """Writes questions, scores and a hierarchy, and runs them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.asked(ASKED)
        self.scored(SCORED)
        pl.DataFrame(EDGES, ["child", "parent"], orient="row").write_csv(path / "edges.csv")

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


def counts(found: Found) -> dict[str, tuple[float | None, int, int, int]]:
    rows = found.frames["measured"].select("metric", "value", "n", "tied", "left_out").rows()
    return {metric: (value, n, tied, left) for metric, value, n, tied, left in rows}


def same(one: Found, other: Found) -> bool:
    return one.facts == other.facts and all(
        frame.equals(other.frames[name]) for name, frame in one.frames.items()
    )


def test_the_worked_example(folder: Folder) -> None:
    found = folder.run(k=3)

    assert counts(found) == {
        "Acc@3": (2 / 3, 3, 0, 1),  # sculptor, person, painter; cook among the three highest
        "P(s, g)": (1 / 2, 2, 1, 2),  # .3 > .2; .2 = .2; unicorn is no token
        "P(s-down, s-up)": (0, 2, 1, 2),  # .3 < .4 (person); .2 = .2 (worker)
        "P(s-updown, t)": (1 / 2, 2, 1, 2),  # .4 > 0: sculptor is not of the task; .2 = .2
    }
    told = [found.facts[name] for name in ("questions", "unscored", "tokens", "answers")]
    assert told == [4, 1, 7, 3]
    assert found.frames["questions"]["node"].to_list() == ["painter", "cook", "painter", None]
    assert found.frames["measured"].select("low", "high").row(1) == wilson(1, 2)
    answers = found.frames["by_answer"].filter(answer="painter", metric="P(s, g)")
    assert answers.select("n", "won", "lost", "tied").row(0) == (1, 1, 0, 0)


def test_equal_scores_at_the_edge_of_k_are_no_hit_and_counted(folder: Folder) -> None:
    assert counts(folder.run(k=2))["Acc@2"] == (0, 3, 1, 1)


def test_nothing_to_compare_is_null(folder: Folder) -> None:
    folder.asked([("unicorn", "griffin")])
    folder.scored([(0, {"artist": 1})])
    found = folder.run()

    assert counts(found)["Acc@10"] == (0, 1, 0, 0)
    assert counts(found)["P(s-down, s-up)"] == (None, 0, 0, 1)
    assert found.frames["measured"]["low"].to_list()[1:] == [None] * 3


def test_tokens_of_one_word_count_with_the_highest(folder: Folder) -> None:
    folder.asked([("painter", "artist")])
    folder.scored([(0, {"painter": 0.1, "Painter": 0.6, "artist": 0.5})])

    assert counts(folder.run(k=1)) == {
        "Acc@1": (1, 1, 0, 0),
        "P(s, g)": (1, 1, 0, 0),
        "P(s-down, s-up)": (1, 1, 0, 0),
        "P(s-updown, t)": (None, 0, 0, 1),  # no other answer, so nothing else in the task
    }


def test_a_token_that_a_question_does_not_list_is_below_those_it_lists(folder: Folder) -> None:
    folder.asked([("painter", "artist")] * 3)
    folder.scored([(0, {"painter": -7}), (1, {"artist": -3}), (2, {"tree": -1})])

    assert counts(folder.run())["P(s, g)"] == (1 / 2, 2, 0, 1)


def test_a_word_of_both_sides_speaks_for_the_first(folder: Folder) -> None:
    rows = [("p", "a", "painter, brush"), ("a", "root", "artist, brush")]
    table = pl.DataFrame(rows, ["child", "parent", "title"], orient="row")
    table.write_csv(folder.path / "edges.csv")
    folder.asked([("painter", "artist")])
    folder.scored([(0, {"brush": 0.5, "artist": 0.4, "root": 0.1})])

    assert counts(folder.run())["P(s-down, s-up)"] == (1, 1, 0, 0)


def test_parquet_and_packed_lines_say_what_lines_say(folder: Folder) -> None:
    rows = [
        (int(str(key).strip("Q")), list(scores), list(scores.values())) for key, scores in SCORED
    ]
    table = pl.DataFrame(rows, ["question", "tokens", "scores"], orient="row")
    table.write_parquet(folder.path / "scores.parquet")
    named = table.with_columns(question=pl.format("Q{}", "question"))
    named.write_parquet(folder.path / "named.parquet")
    said = table.to_arrow().replace_schema_metadata({b"by\xff": b"\xfe"})  # which need not be text
    pq.write_table(said, folder.path / "said.parquet")
    packed = gzip.compress((folder.path / "scores.jsonl").read_bytes())
    (folder.path / "scores.jsonl.gz").write_bytes(packed)
    (folder.path / "half.jsonl.gz").write_bytes(packed[:-20])

    for name in ("scores.parquet", "named.parquet", "said.parquet", "scores.jsonl.gz"):
        assert same(folder.run(name), folder.run())
    assert "half.jsonl.gz" in folder.refused("half.jsonl.gz")


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
    assert counts(found)["P(s-down, s-up)"] == (1, 1, 0, 1)  # the town has nothing below it
    assert counts(found)["P(s-updown, t)"] == (1 / 2, 2, 0, 0)
    assert wordnet.run(words="dict", relation="hypernym").facts["relation"] == "hypernym"
    assert "--relation needs a WordNet folder" in wordnet.refused(relation="hypernym")


def test_an_unknown_predicate_needs_a_relation_and_a_task_its_top(wordnet: Folder) -> None:
    wordnet.asked([("painter", "artist")], predicate_id="P999")
    wordnet.scored([(0, {"painter": 2, "artist": 1})])

    assert "P106, P131, P19" in wordnet.refused(words="dict")
    assert counts(wordnet.run(words="dict", relation="hypernym"))["P(s, g)"][0] == 1
    wordnet.asked([("painter", "artist")])
    write_wordnet(wordnet.path / "small", {"entity": Synset(["entity"])})
    assert "person.n.01" in wordnet.refused(words="small")
    assert str(wordnet.path) in wordnet.refused(words=".")


@pytest.mark.parametrize(
    ("word", "k", "expected"),
    [(1, 1, (LOST, LOST)), (1, 2, (TIED, WON)), (2, 2, (TIED, LOST)), (2, 3, (WON, WON))],
)
def test_among_highest(word: int, k: int, expected: tuple[str, str]) -> None:
    scores, own = np.array([0.4, 0.3, 0.3, 0.0]), np.arange(4) == word
    told = [among_highest(scores, own, k, in_order=in_order) for in_order in (False, True)]

    assert tuple(told) == expected


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        *(([(key, NONE)], f"{key!r}, which none is") for key in (4, -1, True, "Q9")),
        ([(0, NONE), ("Q0", NONE)], "or one before"),
        ([(0, {})], "at least one"),
        *(([(0, {"a": one})], f"{{'a': {one!r}}}") for one in (None, "1", True)),
        ([(0, {"a": 10**400})], "finite"),
    ],
)
def test_bad_scores_are_refused_with_their_line(
    rows: list[tuple[object, dict[str, object]]], told: str, folder: Folder
) -> None:
    folder.scored(rows)
    message = folder.refused()

    assert told in message
    assert f"scores.jsonl:{len(rows)}" in message


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"question": 0, "scores": {"a": NaN}}', "NaN"),
        ('{"question": 0, "scores": {"a": 1e999}}', "finite"),
        ('{"question": 0, "scores": [1]}', "'scores', an object"),
        ('{"scores": {"a": 1}}', "'question'"),
        *(("[1]", "JSON object"), ("{", "JSON document"), ("", "empty")),
        ("\xff", "text in UTF-8 is required"),
    ],
)
def test_bad_lines_are_refused(line: str, told: str, folder: Folder) -> None:
    (folder.path / "scores.jsonl").write_text(line, "latin-1")

    assert told in folder.refused()


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"question": [0], "tokens": [["a"]]}, "the columns"),
        ({"question": [0], "tokens": [["a"]], "scores": [1.0]}, "lists"),
        ({"question": [0], "tokens": [["a", "b"]], "scores": [[1.0]]}, "2 tokens and 1 scores"),
        ({"question": [0], "tokens": [["a"]], "scores": [[float("nan")]]}, "nan"),
        ({"question": [0], "tokens": [["a"]], "scores": [[None]]}, "{'a': None}"),
        ({"question": [0, 1], "tokens": [["a"], None], "scores": [[1.0], [1.0]]}, "row 1"),
        ({"question": [0.5], "tokens": [["a"]], "scores": [[1.0]]}, "0.5"),
    ],
)
def test_bad_parquet_is_refused(columns: dict[str, object], told: str, folder: Folder) -> None:
    pl.DataFrame(columns).write_parquet(folder.path / "scores.parquet")

    assert told in folder.refused("scores.parquet")


@pytest.mark.parametrize("key", ["sub_label", "obj_label", "obj2_label", "predicate_id"])
def test_questions_need_their_keys_and_one_predicate(key: str, folder: Folder) -> None:
    folder.asked(ASKED, **{key: None})
    message = folder.refused()

    assert repr(key) in message
    assert "questions.jsonl:1" in message
    record = {"sub_label": "x", "obj_label": "a", "obj2_label": "b"}
    folder.lines("questions.jsonl", [record | {"predicate_id": f"P{row}"} for row in range(2)])
    assert "'P0', 'P1'" in folder.refused()
    folder.asked(ASKED, sub_uri="Q1")
    assert "several have" in folder.refused()
