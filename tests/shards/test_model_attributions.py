"""Attributions of a model: by the public function, and of the worked example with its shortcut."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import audit
from fixtures.clinical_notes import SHORTCUT_BRANCH
from fixtures.sample_runs import run_command

torch = pytest.importorskip("torch")
pytest.importorskip("captum")
pytest.importorskip("shap")
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

WORDS = ["[PAD]", "[CLS]", "a", "b", "c", "d"]
TEXTS = [{"id": "1", "text": "a b c", "target": "yes"}, {"id": "2", "text": "c d", "target": "yes"}]
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


EVERY = (
    *("gradient", "gradient_x_input", "integrated_gradients", "integrated_gradients_plain"),
    *("lime", "partition_shap"),
)
"""Every method."""


class Weighted(Model):
    """Per label a sum over tokens of the vector times a weight of the place, made smooth or not."""

    config = SimpleNamespace(id2label={0: "no", 1: "yes"})

    def __init__(self, dimensions: int = 3, after: Any = lambda numbers: numbers) -> None:
        torch.nn.Module.__init__(self)
        draw = np.random.default_rng(0)
        self.words = torch.nn.Embedding.from_pretrained(
            torch.from_numpy(draw.normal(size=(6, dimensions)))
        )
        self.weights = torch.nn.Parameter(torch.from_numpy(draw.normal(size=(2, 9, dimensions))))
        self.after = after

    def forward(self, ids: Any) -> Any:
        vectors = self.words(ids)
        return self.after(torch.einsum("rtd,ltd->rl", vectors, self.weights[:, : vectors.shape[1]]))


def explained(
    model: Any, method: Any, texts: Any = TEXTS, **options: Any
) -> dict[Any, list[float]]:
    made = audit.attributions((model, Tokenizer()), texts, method, device="cpu", **options)
    return {(one["id"], one["method"]): one["scores"] for one in made.to_dicts()}


def test_a_linear_model_has_its_weights_times_the_way() -> None:
    model = Weighted()
    found = explained(model, EVERY)

    weights = model.weights.detach().numpy()[1, 1:4]
    vectors = model.words.weight.detach().numpy()
    way = (weights * (vectors[2:5] - vectors[0])).sum(axis=1)
    for method, exact in {
        "gradient": np.abs(weights).sum(axis=1),
        "gradient_x_input": (weights * vectors[2:5]).sum(axis=1),
        "integrated_gradients": way,
        "integrated_gradients_plain": weights.sum(axis=1),
        "partition_shap": way,
    }.items():
        assert found["1", method] == pytest.approx(exact, abs=1e-7), method
    # The ridge penalty draws coefficients toward 0.
    assert found["1", "lime"] == pytest.approx(way, abs=0.1)


def test_a_row_depends_on_its_text_label_and_seed_alone() -> None:
    model = Weighted(after=torch.tanh)
    together = explained(model, EVERY)
    np.random.seed(5)
    torch.manual_seed(5)
    expected = np.random.random(), torch.rand(1).item()
    np.random.seed(5)
    torch.manual_seed(5)
    alone = explained(model, EVERY, TEXTS[1:])
    assert (np.random.random(), torch.rand(1).item()) == expected
    assert alone == {key: scores for key, scores in together.items() if key[0] == "2"}
    assert explained(model, "lime", TEXTS[1:], seed=1)["2", "lime"] != alone["2", "lime"]


def test_a_recurrent_layer_and_a_second_embedding() -> None:
    class Recurrent(Model):
        def __init__(self) -> None:
            torch.nn.Module.__init__(self)
            self.words, self.places = torch.nn.Embedding(6, 3), torch.nn.Embedding(9, 3)
            self.reader = torch.nn.LSTM(3, 2, batch_first=True)
            self.double()

        def forward(self, ids: Any) -> Any:
            places = self.places(torch.arange(ids.shape[1]))
            return SimpleNamespace(logits=self.reader(self.words(ids) + places)[0].sum(1))

    assert len(explained(Recurrent(), METHODS)) == 4


def test_a_jump_is_an_error() -> None:
    model = Weighted(1, lambda numbers: torch.tanh(numbers) + 5 * (numbers > 0))
    model.words.weight.data = torch.tensor([[-1.0], [0], [1], [1], [1], [1]])
    model.weights.data = torch.ones(2, 9, 1)
    with pytest.raises(audit.AuditError, match=r"a gap of .* for text '1' and target 'yes'"):
        explained(model, "integrated_gradients")
    assert explained(model, "lime", TEXTS[:1])["1", "lime"]


@pytest.mark.parametrize(
    ("after", "message"),
    [
        (lambda numbers: numbers.detach(), "an output without a gradient"),
        (lambda numbers: numbers / 0, r"finite outputs .*\nFound: Tensor \(1, 2\)"),
        (lambda numbers: numbers[:, :1], r"2 labels .*\nFound: Tensor \(1, 1\)"),
        (lambda numbers: [numbers], "Found: list"),
    ],
)
def test_outputs_that_cannot_be_explained(after: Any, message: str) -> None:
    with pytest.raises(audit.AuditError, match=message):
        explained(Weighted(after=after), "gradient")


def test_an_embedding_that_is_called_twice() -> None:
    class Twice(Weighted):
        def forward(self, ids: Any) -> Any:
            return super().forward(ids) + super().forward(ids)

    with pytest.raises(audit.AuditError, match="must call its embedding layer once"):
        explained(Twice(), "gradient")


pytest.importorskip("torch")
pytest.importorskip("captum")
pytest.importorskip("shap")

AUDITED = ("integrated_gradients", "gradient_x_input")


@pytest.fixture(scope="module")
def examples(one_thread: None) -> Any:
    from fixtures.text_classifier import audited_notes, example

    notes = audited_notes(50)
    return [example(0, notes, shortcut=shortcut, methods=AUDITED) for shortcut in (False, True)]


def test_an_audit_finds_the_shortcut_by_its_branch(examples: Any, tmp_path: Path) -> None:
    from fixtures.text_classifier import write_examples

    write_examples(examples, tmp_path)
    run_command(
        "explanations", tmp_path / "attributions.jsonl",
        "--evidence", tmp_path / "evidence.jsonl",
        "--hierarchy", "icd9cm", "--no-pdf", "--out", tmp_path / "run",
    )  # fmt: skip
    shared = json.loads((tmp_path / "run" / "result.json").read_bytes())
    found = {check["name"]: check["findings"] for check in shared["checks"]}
    assert [finding["id"] for finding in found["evidence_ignored"]] == [
        f"evidence_ignored:shortcut:{SHORTCUT_BRANCH}"
    ]
