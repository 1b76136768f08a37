"""Prompts: the same bytes every time, samples within samples, examples from the training set."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from itertools import pairwise

import polars as pl
import pytest

from audit.base.errors import InputError, OutputError
from audit.entailment.dataset import ENTAILS, EVENT, HYPERNYM, NOUN, VERB
from audit.entailment.prompts import (
    detection_prompts,
    generation_prompts,
    write_prompts,
)
from fixtures.entailment_world.world import clean_world


@cache
def world():
    return clean_world(11)


def shuffled(seed):
    return replace(world(), tuples=world().tuples.sample(fraction=1, shuffle=True, seed=seed))


@pytest.mark.parametrize("prompts", [detection_prompts, generation_prompts])
@pytest.mark.parametrize("shots", [0, 4])
def test_the_same_bytes_whatever_the_order_of_rows(tmp_path, prompts, shots):
    for seed in (1, 2):
        write_prompts(prompts(shuffled(seed), shots=shots, sample=9), tmp_path / f"{seed}.jsonl")
    first, second = ((tmp_path / f"{seed}.jsonl").read_bytes() for seed in (1, 2))
    assert first == second
    lines = [json.loads(line) for line in first.splitlines()]
    assert all(list(line) == ["id", "messages"] for line in lines)
    assert {len(line["messages"]) for line in lines} == {2 + 2 * shots}
    assert first != b"".join(
        json.dumps(line).encode() for line in lines
    )  # one object a line, each ended


def test_a_smaller_sample_is_the_beginning_of_a_larger_one_of_each_relation():
    large, small = (detection_prompts(world(), sample=size) for size in (20, 5))
    relation = dict(world().tuples.select("id", "relation").iter_rows())
    for name in (NOUN, VERB, EVENT):
        ids = [[one.id for one in some if relation[one.id] == name] for some in (large, small)]
        assert len(ids[0]) == 20
        assert ids[0][:5] == ids[1]
    assert [relation[one.id] for one in small] == [NOUN] * 5 + [VERB] * 5 + [EVENT] * 5


def test_another_seed_draws_others_and_no_sample_asks_about_all():
    ids = [{one.id for one in detection_prompts(world(), sample=20, seed=seed)} for seed in (0, 1)]
    assert ids[0] != ids[1]
    test = world().tuples.filter(split="test")
    assert {one.id for one in detection_prompts(world(), sample=None)} == set(test["id"])


def test_instances_are_asked_about_once():
    test = world().tuples.filter("valid", split="test")
    ids = [one.id for one in generation_prompts(world(), sample=None)]
    keys = ["head", "relation", "instance"]
    assert len(ids) == test.select(keys).n_unique()
    assert test.filter(pl.col("id").is_in(ids)).select(keys).is_duplicated().sum() == 0


def test_examples_are_balanced_training_tuples_of_the_relation():
    train = world().tuples.filter(split="train")
    for prompt in detection_prompts(world(), shots=4, sample=2):
        relation = world().tuples.row(by_predicate=pl.col("id") == prompt.id, named=True)[
            "relation"
        ]
        shown = [
            (asked.content, answer.content)
            for asked, answer in pairwise(prompt.messages[1:])
            if answer.role == "assistant"
        ]
        assert [answer for _, answer in shown] == ["Yes", "No", "Yes", "No"]
        own = train.filter(relation=relation).iter_rows(named=True)
        known = {(row["head"], row["concept"], row["valid"]) for row in own}
        for question, answer in shown:
            assert any(
                f'"{head}"' in question and f'"{concept}"' in question
                for head, concept, valid in known
                if valid == (answer == "Yes")
            )


def one_of(relation):
    """A data set of one tuple."""
    row = {"id": "1", "head": "H1", "tail": "T1", "instance": "H1", "concept": "T1"}
    tuples = pl.DataFrame([{**row, "relation": relation, "valid": True, "split": None}]).cast(
        {"split": pl.String}
    )
    return replace(world(), tuples=tuples)


@pytest.mark.parametrize("relation", [NOUN, VERB, EVENT, ENTAILS, HYPERNYM])
def test_every_relation_is_asked_about_with_its_texts(relation):
    dataset = one_of(relation)
    judged, named = (make(dataset)[0] for make in (detection_prompts, generation_prompts))
    question = judged.messages[-1].content
    assert "H1" in question
    assert "T1" in question
    assert "T1" not in named.messages[-1].content
    assert "{" not in question + named.messages[-1].content + judged.messages[0].content
    assert [message.role for message in judged.messages] == ["system", "user"]


def test_too_few_examples_and_odd_numbers_are_refused(tmp_path):
    untrained = world().tuples.filter(split="test")
    with pytest.raises(InputError, match="2 examples of Noun-Entail are required"):
        detection_prompts(replace(world(), tuples=untrained), shots=2)
    with pytest.raises(InputError, match="at least 0"):
        detection_prompts(world(), shots=-1)
    with pytest.raises(InputError, match="at least 1"):
        generation_prompts(world(), sample=0)
    path = tmp_path / "prompts.jsonl"
    write_prompts([], path)
    with pytest.raises(OutputError, match="a new file"):
        write_prompts([], path)


PRINTED = {
    ("paper", False): "Identify the hypernym of a specific noun and provide a “Yes” or “No” "
    "response. Hypernyms are words with a broad meaning, which more specific words fall under. "
    "In the sentence H1, does the meaning of T1 encompass H1?",
    ("paper", True): "Identify the hypernym of a specific noun. Hypernyms are words with a broad "
    "meaning, which more specific words fall under. In the sentence H1, does the meaning of T1 "
    "encompass H1? Step 1: Let’s think about the meanings of those words. Step 2: Provide a "
    "“Yes” or “No” response.",
    ("nli", False): "Identify entailment and provide a “Yes” or “No” response. Entailment is about "
    "determining whether a “hypothesis” is true given a “premise.” Given the premise H1, can we "
    "know the hypothesis T1?",
}


@pytest.mark.parametrize(("prompt", "reasoning"), PRINTED)
def test_the_paper_asks_word_for_word_in_one_message(prompt, reasoning):
    asked = detection_prompts(one_of(NOUN), prompt=prompt, reasoning=reasoning)
    assert [one.content for one in asked[0].messages] == [PRINTED[prompt, reasoning]]


@pytest.mark.parametrize("prompt", ["paper", "nli"])
@pytest.mark.parametrize("reasoning", [False, True])
def test_ten_examples_are_asked_about_as_the_question_is(prompt, reasoning):
    for asked in detection_prompts(world(), shots=10, sample=1, prompt=prompt, reasoning=reasoning):
        questions = [one.content for one in asked.messages if one.role == "user"]
        assert len(questions) == 11
        assert len({question[:30] for question in questions}) == 1
        assert all("“Yes” or “No”" in question for question in questions)
        assert all(("Step 1" in question) == reasoning for question in questions)


def test_the_paper_has_no_words_for_other_relations():
    with pytest.raises(InputError, match="--prompt paper asks about Noun-Entail"):
        detection_prompts(one_of(HYPERNYM), prompt="paper")


def test_braces_in_texts_are_left_alone():
    tuples = world().tuples.head(1).with_columns(head=pl.lit("a {concept} {x}"), split=None)
    prompt = detection_prompts(replace(world(), tuples=tuples))[0]
    assert "a {concept} {x}" in prompt.messages[-1].content
