"""Preference: four questions worked by hand, words and senses, and what is refused."""

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

from audit.analyses.preference import PreferenceResult, run_preference
from audit.analyses.preference.measure import LOST, TIED, WON, among_highest
from audit.analyses.preference.questions import TASKS, Lexicon, of_wordnet, plain
from audit.base.errors import AuditError
from audit.engine.statistics.intervals import wilson
from audit.hierarchies.formats import wordnet
from fixtures.wordnet_files import Synset, write_wordnet

EDGES = [
    ("artist", "person"),
    ("painter", "artist"),
    ("muralist", "painter"),
    ("sculptor", "artist"),
    ("worker", "person"),
    ("cook", "worker"),
]
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
        self.hierarchy(EDGES)

    def asked(self, pairs: Sequence[tuple[str, str]], **more: Any) -> None:
        shared = {"predicate_id": "P106"} | more
        self.lines(
            "questions.jsonl",
            [
                {"sub_uri": f"Q{row}", "sub_label": "x", "obj_label": s, "obj2_label": g} | shared
                for row, (s, g) in enumerate(pairs)
            ],
        )

    def scored(self, rows: Sequence[tuple[object, Mapping[str, object]]]) -> None:
        self.lines("scores.jsonl", [{"question": key, "scores": scores} for key, scores in rows])

    def hierarchy(self, edges: Sequence[tuple[str, str]]) -> None:
        pl.DataFrame(edges, ["child", "parent"], orient="row").write_csv(self.path / "edges.csv")

    def lines(self, name: str, records: Sequence[object]) -> None:
        (self.path / name).write_text("".join(json.dumps(record) + "\n" for record in records))

    def run(self, scores: str = "scores.jsonl", **options: Any) -> PreferenceResult:
        hierarchy = options.pop("hierarchy", self.path / "edges.csv")
        return run_preference(
            self.path / scores, self.path / "questions.jsonl", hierarchy, **options
        )

    def refused(self, scores: str = "scores.jsonl", **options: Any) -> str:
        with pytest.raises(AuditError) as caught:
            self.run(scores, **options)
        assert caught.value.exit_status == 2
        return str(caught.value)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def counts(result: PreferenceResult) -> dict[str, tuple[float | None, int, int, int]]:
    return {row.metric: (row.value, row.n, row.ties, row.left_out) for row in result.rows}


def test_the_worked_example(folder: Folder) -> None:
    result = folder.run(k=3)

    assert counts(result) == {
        "Acc@3": (2 / 3, 3, 0, 1),  # sculptor, person, painter; cook among the three highest
        "P(s, g)": (1 / 2, 2, 1, 2),  # .3 > .2; .2 = .2; unicorn is no token
        "P(s-down, s-up)": (0, 2, 1, 2),  # .3 < .4 (person); .2 = .2 (worker)
        "P(s-updown, t)": (1 / 2, 2, 1, 2),  # .4 > 0: sculptor is not of the task; .2 = .2
    }
    assert (result.questions, result.unscored, result.tokens) == (4, 1, 7)
    assert (result.answers, result.unmapped) == (3, {"unicorn": 1})


def test_equal_scores_at_the_edge_of_k_are_no_hit_and_counted(folder: Folder) -> None:
    row = folder.run(k=2).rows[0]

    assert (row.metric, row.value, row.ties) == ("Acc@2", 0, 1)


def test_intervals_are_wilsons(folder: Folder) -> None:
    row = folder.run().rows[1]

    assert (row.low, row.high) == wilson(1, 2)


def test_every_row_accounts_for_every_question(folder: Folder) -> None:
    result = folder.run()

    assert all(row.n + row.left_out == result.questions for row in result.rows)


def test_nothing_to_compare_is_null(folder: Folder) -> None:
    folder.asked([("unicorn", "griffin")])
    folder.scored([(0, {"artist": 1})])
    result = folder.run()

    assert counts(result)["Acc@10"] == (0, 1, 0, 0)
    assert counts(result)["P(s-down, s-up)"] == (None, 0, 0, 1)
    assert result.rows[1].low is None


def test_result_as_json(folder: Folder) -> None:
    result = folder.run()
    plain_result = json.loads(json.dumps(result.to_dict()))

    assert plain_result["rows"] == [vars(row) for row in result.rows]
    assert plain_result["unmapped"] == {"unicorn": 1}


def test_any_growing_function_of_the_scores_gives_the_same(folder: Folder) -> None:
    before = folder.run()
    folder.scored([(key, {t: 3 * s - 9 for t, s in scores.items()}) for key, scores in SCORED])

    assert folder.run() == before


def test_tokens_in_any_case_and_order_give_the_same(folder: Folder) -> None:
    before = folder.run(k=2)
    folder.scored(
        [(key, {t.title(): scores[t] for t in reversed(scores)}) for key, scores in SCORED[::-1]]
    )

    assert folder.run(k=2) == before


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


def test_parquet_says_what_json_lines_say(folder: Folder) -> None:
    rows = [
        (int(str(key).strip("Q")), list(scores), list(scores.values())) for key, scores in SCORED
    ]
    table = pl.DataFrame(rows, ["question", "tokens", "scores"], orient="row")
    table.write_parquet(folder.path / "scores.parquet")
    named = table.with_columns(question=pl.format("Q{}", "question"))
    named.write_parquet(folder.path / "named.parquet")

    assert folder.run("scores.parquet") == folder.run("named.parquet") == folder.run()

    said = table.to_arrow().replace_schema_metadata({b"by\xff": b"\xfe"})  # which need not be text
    pq.write_table(said, folder.path / "said.parquet")

    assert folder.run("said.parquet") == folder.run()


def test_gzip_is_unpacked(folder: Folder) -> None:
    packed = gzip.compress((folder.path / "scores.jsonl").read_bytes())
    (folder.path / "scores.jsonl.gz").write_bytes(packed)

    assert folder.run("scores.jsonl.gz") == folder.run()


# --- WordNet ----------------------------------------------------------------------------------

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
def dictionary(tmp_path: Path) -> Path:
    return write_wordnet(tmp_path / "dict", SYNSETS)


def lexicon(dictionary: Path, predicate: str) -> Lexicon:
    task = TASKS[predicate]
    return of_wordnet(wordnet.read_wordnet(dictionary), task.relation, task.domain)


def test_an_answer_means_its_most_frequent_fitting_sense(dictionary: Path) -> None:
    occupations = lexicon(dictionary, "P106")

    assert occupations.senses["painter"] == ("painter.n.02", "house_painter.n.01")
    assert occupations.node_of("Painter", "musician") == "painter.n.02"
    assert occupations.node_of("house_painter", "person") == "house_painter.n.01"
    assert occupations.node_of("Victoria", "Texas") is None


def test_the_general_answer_decides_between_senses(dictionary: Path) -> None:
    places = lexicon(dictionary, "P131")

    assert places.node_of("Victoria", "Canada") == "victoria.n.01"
    assert places.node_of("Victoria", "Texas") == "victoria.n.01"
    assert places.node_of("Victoria", "australia") == "victoria.n.02"


def test_the_predicate_chooses_the_relation(folder: Folder, dictionary: Path) -> None:
    folder.asked([("Victoria", "Australia"), ("Victoria", "Texas")], predicate_id="P131")
    folder.scored([(0, {"melbourne": 3, "australia": 2, "texas": 1}), (1, {"melbourne": 1})])
    result = folder.run(hierarchy=dictionary)

    assert (result.relation, result.hierarchy) == ("holonym", "dict")
    assert counts(result)["P(s-down, s-up)"] == (1, 1, 0, 1)  # the town has nothing below it
    assert counts(result)["P(s-updown, t)"] == (1 / 2, 2, 0, 0)
    assert folder.run(hierarchy=dictionary, relation="hypernym").relation == "hypernym"


def test_an_unknown_predicate_needs_a_relation(folder: Folder, dictionary: Path) -> None:
    folder.asked([("painter", "artist")], predicate_id="P999")
    folder.scored([(0, {"painter": 2, "artist": 1})])

    assert "P106, P131, P19" in folder.refused(hierarchy=dictionary)
    assert folder.run(hierarchy=dictionary, relation="hypernym").rows[1].value == 1


def test_a_wordnet_without_persons_is_refused(folder: Folder, tmp_path: Path) -> None:
    dictionary = write_wordnet(tmp_path / "small", {"entity": Synset(["entity"])})

    assert "person.n.01" in folder.refused(hierarchy=dictionary)


@pytest.mark.parametrize("word", ["New York", "new_york", " NEW  YORK ", "New_York"])
def test_words_are_compared_without_case_and_underscores(word: str) -> None:
    assert plain(word) == "new york"


# --- the highest tokens -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "k", "expected"),
    [(1, 1, (LOST, LOST)), (1, 2, (TIED, WON)), (2, 2, (TIED, LOST)), (2, 3, (WON, WON))],
)
def test_among_highest(word: int, k: int, expected: tuple[int, int]) -> None:
    scores, own = np.array([0.4, 0.3, 0.3, 0.0]), np.arange(4) == word
    told = [among_highest(scores, own, k, in_order=in_order) for in_order in (False, True)]

    assert tuple(told) == expected


# --- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([(4, NONE)], "4, which none is"),
        ([(-1, NONE)], "-1, which none is"),
        ([(True, NONE)], "True, which none is"),
        ([("Q9", NONE)], "'Q9', which none is"),
        ([(0, NONE), ("Q0", NONE)], "scored once"),
        ([(0, {})], "at least one token"),
        ([(0, {"a": None})], "{'a': None}"),
        ([(0, {"a": "1"})], "{'a': '1'}"),
        ([(0, {"a": True})], "{'a': True}"),
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
        ('{"question": 0, "scores": {"a": -Infinity}}', "Infinity"),
        ('{"question": 0, "scores": {"a": 1e999}}', "finite"),
        ('{"question": 0, "scores": [1]}', "'scores', an object"),
        ('{"scores": {"a": 1}}', "'question'"),
        ("[1]", "JSON object"),
        ("{", "JSON document"),
        ("", "empty"),
        ("\xff", "text in UTF-8 is required"),
    ],
)
def test_bad_lines_are_refused(line: str, told: str, folder: Folder) -> None:
    (folder.path / "scores.jsonl").write_text(line, "latin-1")

    assert told in folder.refused()


def test_a_uri_that_several_questions_have_is_refused(folder: Folder) -> None:
    folder.asked(ASKED, sub_uri="Q1")

    assert "several have" in folder.refused()


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


def test_what_is_no_parquet_is_refused(folder: Folder) -> None:
    (folder.path / "scores.parquet").write_text("words")

    assert "Parquet" in folder.refused("scores.parquet")
    assert "nothing there" in folder.refused("none.parquet")
    assert "nothing there" in folder.refused("none.jsonl")


def test_half_a_gzip_is_refused(folder: Folder) -> None:
    packed = gzip.compress((folder.path / "scores.jsonl").read_bytes())
    (folder.path / "half.jsonl.gz").write_bytes(packed[:-20])

    assert "half.jsonl.gz" in folder.refused("half.jsonl.gz")


@pytest.mark.parametrize("key", ["sub_label", "obj_label", "obj2_label", "predicate_id"])
def test_questions_need_their_keys(key: str, folder: Folder) -> None:
    folder.asked(ASKED, **{key: None})
    message = folder.refused()

    assert repr(key) in message
    assert "questions.jsonl:1" in message


def test_several_predicates_are_refused(folder: Folder) -> None:
    record = {"sub_label": "x", "obj_label": "a", "obj2_label": "b"}
    folder.lines("questions.jsonl", [record | {"predicate_id": f"P{row}"} for row in range(2)])

    assert "'P0', 'P1'" in folder.refused()


def test_k_below_1_is_refused(folder: Folder) -> None:
    assert "at least 1" in folder.refused(k=0)


def test_a_folder_that_is_no_wordnet_is_refused(folder: Folder) -> None:
    assert str(folder.path) in folder.refused(hierarchy=folder.path)
