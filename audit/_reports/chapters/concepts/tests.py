"""The matrix of tests: what each dimension passes, by the classes that probes have seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from audit._reports.words.concept_words import (
    CAUSAL,
    GROUNDED,
    MODULAR,
    REST,
    SEEN,
    SLICES_SEEN,
    TESTS,
    TOKEN,
    VERDICTS,
)
from audit._reports.words.parts import Badge, Judged, Named, Table
from audit._reports.words.shown_numbers import Row, Rows, plain, with_interval
from audit._reports.words.table_specs import across, optional_table, table, texts
from audit._reports.words.words import UNDEFINED, capitalised, counted, listed, number

KEYS = ("test", "dimension", "seen", "ablation", "probe")
BY_DIMENSION = (TOKEN, MODULAR, CAUSAL)
PASS = "pass"
_OUTCOMES = {
    "pass": ("passes", "pass"),
    "fail": ("fails", "fail"),
    "undecided": ("is undecided", "are undecided"),
}
"""Wording of the verdicts of tests, of one and of several."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A test with its answer; ``badge`` is None where each dimension has a verdict."""

    title: str
    name: str
    question: str
    badge: Badge | None
    sentence: str


@dataclass(frozen=True, slots=True)
class Matrix:
    """The verdicts of all tests; ``reasons`` says why some are undecided or could not run."""

    answers: tuple[Answer, ...]
    table: Table
    reasons: Table | None


def of_the_paper(row: Row) -> bool:
    """Whether a row is of a test as the paper has it, by INLP."""
    return row["ablation"] in (None, "inlp")


def tested_in_words(shared: Mapping[str, Any]) -> str:
    """How many of the paper's tests passed, all slices but one seen; empty where none was made."""
    verdicts = [
        row["verdict"]
        for row in shared["concepts"]["tests"]
        if row["seen"] in (None, REST) and of_the_paper(row) and row["verdict"] in _OUTCOMES
    ]
    if not verdicts:
        return ""
    counts = {name: verdicts.count(name) for name in _OUTCOMES}
    outcomes = [f"{n:,} {_OUTCOMES[name][n > 1]}" for name, n in counts.items() if n]
    return f"Of {counted(len(verdicts), 'test')} of concepts on unseen classes, {listed(outcomes)}."


def matrix(concepts: Mapping[str, Rows]) -> Matrix:
    """The verdicts of the paper's own tests."""
    tests = [row for row in concepts["tests"] if of_the_paper(row)]
    passes = _passes(concepts["values"])
    return Matrix(
        answers=tuple(_answer(test, tests, concepts["parts"], passes) for test in TESTS),
        table=_table(tests, passes),
        reasons=_reasons(tests),
    )


Passes = Mapping[tuple[object, ...], tuple[int, int] | None]


def _passes(values: Rows) -> Passes:
    """Per test the splits that pass and all splits; None where a verdict of one is not told.

    A split passes where all its parts do, and, if something is removed, where it was read before.
    """
    by_seed: dict[tuple[object, ...], dict[int, list[str | None]]] = {}
    for row in values:
        seeds = by_seed.setdefault(tuple(row[key] for key in KEYS), {})
        seeds.setdefault(row["seed"], []).append(row["verdict"])
    for key, seeds in by_seed.items():
        if key[0] in (MODULAR, CAUSAL):
            before = by_seed.get((TOKEN, key[1], key[2], None, "transfer"), {})
            for seed, verdicts in seeds.items():
                verdicts += before.get(seed, ())
    return {
        key: None
        if any(None in verdicts for verdicts in seeds.values())
        else (sum({*verdicts} == {PASS} for verdicts in seeds.values()), len(seeds))
        for key, seeds in by_seed.items()
    }


def _answer(test: str, tests: Rows, parts: Rows, passes: Passes) -> Answer:
    words, own = TESTS[test], [row for row in tests if row["test"] == test]
    if test == GROUNDED:
        row = own[0] if own else None
        badge = None if row is None else Badge(*VERDICTS[row["verdict"]])
        sentence = _grounded(row, [part for part in parts if part["test"] == test], passes)
    else:
        badge, sentence = None, _by_dimension(own)
    return Answer(words.title, test, words.question, badge, sentence)


def _grounded(row: Row | None, parts: Rows, passes: Passes) -> str:
    if row is None or not parts:
        return "It was not tested: there are no minimal pairs."
    part = parts[0]
    if part["accuracy"] is None:
        return "Its accuracy is not told."
    accuracy = with_interval(plain(part, "accuracy"), part)
    return (
        f"Of {number(part['instances'])} answers in minimal pairs, {accuracy} are right; chance is "
        f"{plain(part, 'chance')}. {'; '.join(_beneath(row, passes)).capitalize()}."
    )


def _by_dimension(rows: Rows) -> str:
    """How many dimensions pass, by what is seen; verdicts of rounded counts are not told."""
    if rows and all(row["verdict"] is None for row in rows):
        return "What the tests say of rounded counts is not told."
    by_seen = {seen: [row for row in rows if row["seen"] == seen] for seen in SEEN}
    outcomes = [f"with {SEEN[seen]} seen, {_passing(own)}" for seen, own in by_seen.items() if own]
    text = "; ".join(outcomes)
    return f"{capitalised(text)}." if text else "It was not tested."


def _passing(rows: Rows) -> str:
    """How many dimensions pass, and which, if not all."""
    ran = [row for row in rows if row["verdict"] != "not_applicable"]
    if not ran:
        return "no dimension can be tested"
    if None in [row["verdict"] for row in ran]:
        return "verdicts are not told"
    names = [row["dimension"] for row in ran if row["verdict"] == PASS]
    which = f" ({listed(names)})" if 0 < len(names) < len(ran) else ""
    undecided = sum(row["verdict"] == "undecided" for row in ran)
    rest = f", {undecided} undecided" if undecided else ""
    verb = "passes" if len(names) == 1 else "pass"
    return f"{len(names)} of {counted(len(ran), 'dimension')} {verb}{which}{rest}"


def _beneath(row: Row, passes: Passes) -> tuple[str, ...]:
    """What stands beneath a verdict: splits that pass, and the verdict by intervals."""
    if row["verdict"] in ("not_applicable", None):
        return ()
    known = passes.get(tuple(row[key] for key in KEYS))
    splits = () if known is None else (_splits(*known),)
    return (*splits, f"by interval: {VERDICTS[row['interval_verdict']][0].lower()}")


def _splits(passed: int, every: int) -> str:
    """How many splits pass.

    >>> _splits(4, 5), _splits(0, 1)
    ('4 of 5 splits pass', '0 of 1 split passes')
    """
    return f"{passed} of {counted(every, 'split')} {'passes' if 1 in (passed, every) else 'pass'}"


def judged(row: Row, passes: Passes) -> Judged:
    """The cell of a verdict."""
    return Judged(Badge(*VERDICTS[row["verdict"]]), _beneath(row, passes))


def _table(tests: Rows, passes: Passes) -> Table:
    of = {(row["test"], row["dimension"], row["seen"]): row for row in tests}
    dimensions = dict.fromkeys(row["dimension"] for row in tests if row["dimension"] is not None)
    lines = [
        {
            "dimension": dimension,
            "seen": seen,
            "test": {test: of.get((test, dimension, seen)) for test in BY_DIMENSION},
        }
        for dimension in dimensions
        for seen in SLICES_SEEN
    ]
    return table(
        "concept-matrix",
        "Verdicts by dimension and by the classes that probes and ablation have seen",
        lines,
        texts("Dimension", "dimension"),
        texts("Slices seen", "seen", SLICES_SEEN),
        *(
            across("test", test, texts(TESTS[test].title, lambda row: judged(row, passes)))
            for test in BY_DIMENSION
        ),
    )


def _reasons(tests: Rows) -> Table | None:
    """Tests with a reason, those together that differ in one of test, seen and dimension alone."""
    cases = [_case(row) for row in tests if row["reason"]]
    for place in range(len(TOGETHER)):
        cases = _joined(cases, place)
    return optional_table(
        "concept-reasons",
        "What is undecided or could not run, and why",
        [dict(zip(CASE, case, strict=True)) for case in cases],
        texts("Test", lambda case: _tests(case["test"])),
        texts("Slices seen", lambda case: listed(list(case["seen"]))),
        texts("Dimension", lambda case: listed(list(case["dimension"]))),
        texts("Verdict", lambda case: Badge(*VERDICTS[case["verdict"]])),
        texts("Why", lambda case: f"{capitalised(case['reason'])}."),
    )


def _tests(names: Sequence[str]) -> Named:
    return Named(listed([TESTS[name].title for name in names]), ", ".join(names))


Case: TypeAlias = tuple[Any, ...]
TOGETHER = ("dimension", "test", "seen")
"""What cases with one reason may have several of, in the order in which they are joined."""
CASE = (*TOGETHER, "verdict", "reason")
"""What a case holds."""


def _case(row: Row) -> Case:
    seen = UNDEFINED if row["seen"] is None else SLICES_SEEN[row["seen"]]
    return (row["dimension"] or "all",), (row["test"],), (seen,), row["verdict"], row["reason"]


def _joined(cases: Sequence[Case], place: int) -> list[Case]:
    """Cases that differ at one place alone, as one."""
    alike: dict[Case, list[str]] = {}
    for case in cases:
        alike.setdefault((*case[:place], *case[place + 1 :]), []).extend(case[place])
    return [(*key[:place], tuple(own), *key[place:]) for key, own in alike.items()]
