"""Attributions of a user's own model and tokenizer, by the public function."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import audit
from audit.explanations.reading.reading import read_attributions

torch = pytest.importorskip("torch")

WORDS = ["[PAD]", "[CLS]", "a", "b", "c", "d"]
TEXTS = [
    {"id": "1", "text": "a b c", "target": "yes"},
    {"id": "2", "text": "c d", "target": "yes"},
]
METHODS = ("gradient", "integrated_gradients")


class Tokenizer:
    pad_token_id, all_special_ids = 0, (0, 1)

    def __call__(self, text: str) -> dict[str, list[int]]:
        return {"input_ids": [1, *(WORDS.index(word) for word in text.split())]}

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
        return [WORDS[one] for one in ids]


class Model(torch.nn.Module):  # type: ignore[name-defined, misc]
    config = SimpleNamespace(id2label={0: "no", 1: "yes"})

    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(6, 1, padding_idx=0)
        self.words.weight.data = torch.tensor([[0.0], [0], [1], [2], [-1], [0]])

    def get_input_embeddings(self) -> Any:
        return self.words

    def forward(self, ids: Any) -> Any:
        total = self.words(ids).sum(dim=(1, 2))
        return SimpleNamespace(logits=torch.stack([-total, total], 1))


def test_a_linear_model_has_its_weights_as_scores(tmp_path: Path) -> None:
    made = audit.attributions((Model(), Tokenizer()), TEXTS, METHODS)
    lines = made.to_dicts()

    found = {(line["id"], line["method"]): line["scores"] for line in lines}
    assert found["1", "integrated_gradients"] == pytest.approx([1, 2, -1])
    assert found["1", "gradient"] == [1, 1, 1]
    assert {(line["id"], line["gold"], line["predicted"]) for line in lines} == {
        ("1", True, True), ("2", True, False),
    }  # fmt: skip
    made.write_ndjson(tmp_path / "attributions.jsonl")
    assert len(read_attributions(tmp_path / "attributions.jsonl").rows) == 4


def test_without_a_label_the_answer_of_the_model_is_explained() -> None:
    texts = pl.DataFrame(TEXTS).drop("target")
    made = audit.attributions((Model(), Tokenizer()), texts, "gradient")
    assert set(made.select("id", "target").rows()) == {("1", "yes"), ("2", "no")}


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([{"id": "1"}], "the columns id and text"),
        ([*TEXTS, {"id": "3", "text": None, "target": "yes"}], "1 rows without one"),
    ],
)
def test_what_are_no_texts_is_refused(texts: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(audit.AuditError, match=message):
        audit.attributions((Model(), Tokenizer()), texts, METHODS)


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(audit.AuditError, match="a model with get_input_embeddings"):
        audit.attributions((torch.nn.Linear(1, 1), Tokenizer()), TEXTS, METHODS)
