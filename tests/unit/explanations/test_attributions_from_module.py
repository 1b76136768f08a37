"""Attributions of a user's own model and tokenizer, by the command."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from audit.cli.app import app
from audit.explanations.reading.reading import read_attributions

pytest.importorskip("torch")

MODEL = """
import torch
from types import SimpleNamespace

WORDS = ["[PAD]", "[CLS]", "a", "b", "c", "d"]

class Tokenizer:
    pad_token_id, all_special_ids = 0, [0, 1]
    def __call__(self, text):
        return {"input_ids": [1, *(WORDS.index(word) for word in text.split())]}
    def convert_ids_to_tokens(self, ids):
        return [WORDS[one] for one in ids]

class Model(torch.nn.Module):
    config = SimpleNamespace(id2label={0: "no", 1: "yes"})
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(6, 1, padding_idx=0)
        self.words.weight.data = torch.tensor([[0.0], [0], [1], [2], [-1], [0]])
    def get_input_embeddings(self):
        return self.words
    def forward(self, ids):
        total = self.words(ids).sum(dim=(1, 2))
        return SimpleNamespace(logits=torch.stack([-total, total], 1))

def load():
    return Model(), Tokenizer()

def bare():
    return torch.nn.Linear(1, 1), Tokenizer()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.py").write_text(MODEL)
    (tmp_path / "texts.csv").write_text("id,text,target\n1,a b c,yes\n2,c d,yes\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    return tmp_path


def made(model: str, *options: str) -> Result:
    own = ("--method", "gradient", "--method", "integrated_gradients")
    return CliRunner().invoke(app, ["attributions", model, "texts.csv", *own, *options])


def test_a_linear_model_has_its_weights_as_scores(folder: Path) -> None:
    told = made("mine:load")
    assert told.exit_code == 0, told.output
    lines = [json.loads(line) for line in (folder / "attributions.jsonl").read_text().splitlines()]

    found = {(line["id"], line["method"]): line["scores"] for line in lines}
    assert found["1", "integrated_gradients"] == pytest.approx([1, 2, -1])
    assert found["1", "gradient"] == [1, 1, 1]
    assert {(line["id"], line["gold"], line["predicted"]) for line in lines} == {
        ("1", True, True), ("2", True, False),
    }  # fmt: skip
    assert len(read_attributions(folder / "attributions.jsonl").rows) == 4
    assert made("mine:load").exit_code == 2


def test_without_a_label_the_answer_of_the_model_is_explained(folder: Path) -> None:
    (folder / "texts.csv").write_text("id,text\n1,a b c\n2,c d\n")
    assert made("mine:load").exit_code == 0
    lines = [json.loads(line) for line in (folder / "attributions.jsonl").read_text().splitlines()]
    assert {(line["id"], line["target"]) for line in lines} == {("1", "yes"), ("2", "no")}


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("nowhere:load", "ModuleNotFoundError"),
        ("mine:nothing", "AttributeError"),
        ("mine", "no PACKAGE:FUNCTION"),
        ("mine:WORDS", "'list' object is not callable"),
        ("mine:bare", "a model with get_input_embeddings and config.id2label"),
    ],
)
def test_what_is_no_model_is_refused(folder: Path, model: str, message: str) -> None:
    told = made(model)
    assert told.exit_code == 2
    assert message in " ".join(told.output.split())
    assert "Traceback" not in told.output
    assert not (folder / "attributions.jsonl").exists()
