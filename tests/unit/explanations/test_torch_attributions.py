"""Attributions of torch models, held against closed forms and captum."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.errors import InputError, SchemaError
from audit.base.machine import EXTRAS, require_package
from audit.explanations.attribution.embedded_model import EmbeddedModel, embedded_model
from audit.explanations.attribution.explain import METHODS, OWN_METHODS, Explained, explain
from audit.explanations.attribution.methods import GRADIENTS
from audit.explanations.attribution.rows import TokenisedTexts
from fixtures.examples import examples

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

PADDING, START = 0, 1
LABELS = ("first", "second")


class Weighted(torch.nn.Module):
    """A sum over tokens of the vector times a weight of the place, one for each label."""

    def __init__(self, weights: Any, vectors: Any) -> None:
        super().__init__()
        self.weights = torch.nn.Parameter(torch.as_tensor(weights))
        self.embedding = torch.nn.Embedding.from_pretrained(torch.as_tensor(vectors))

    def forward(self, token_ids: Any) -> Any:
        return torch.einsum("rtd,ltd->rl", self.embedding(token_ids), self.weights)


class Smooth(torch.nn.Module):
    """A convolution, a smooth function and a mean; padding's vector is not zero."""

    def __init__(self, seed: int, active: Any = torch.tanh) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.embedding = torch.nn.Embedding(12, 4)
            self.filters = torch.nn.Conv1d(4, 5, 3, padding=1)
            self.answer = torch.nn.Linear(5, 2)
        self.active = active

    def forward(self, token_ids: Any) -> Any:
        read = self.active(self.filters(self.embedding(token_ids).transpose(1, 2)))
        return self.answer(3 * read.mean(dim=2)).tanh()


def texts_of(*token_ids: list[int]) -> TokenisedTexts:
    return TokenisedTexts(
        [f"t{place}" for place in range(len(token_ids))],
        [[f"w{number}" for number in one] for one in token_ids],
        token_ids,
        PADDING,
        frozenset({START}),
    )


TEXTS = texts_of([1, 4, 5, 6], [7, 8, 1, 9], [2, 3], [1, 10, 11, 2, 3, 4, 1])
TARGETS = pl.DataFrame(
    {
        "id": ["t0", "t0", "t1", "t2", "t3"],
        "target": ["first", "second", "second", "first", "first"],
        "gold": [True, False, None, True, True],
    }
)


def smooth(seed: int = 0, **options: Any) -> EmbeddedModel:
    return embedded_model(Smooth(seed), LABELS, device="cpu", dtype="float64", **options)


def by_row(explained: Explained, method: str) -> list[Any]:
    attributions = explained.attributions
    rows = np.flatnonzero((attributions.rows["method"] == method).to_numpy())
    return [attributions.scores[row] for row in rows]


@given(st.integers(0, 1_000), st.integers(1, 5))
def test_linear_model_has_its_weights_times_the_way(seed: int, length: int) -> None:
    draw = np.random.default_rng(seed)
    weights, vectors = draw.normal(size=(1, length, 3)), draw.normal(size=(8, 3))
    token_ids = [int(one) for one in draw.integers(2, 8, length)]
    model = embedded_model(Weighted(weights, vectors), ["y"], device="cpu")
    targets = pl.DataFrame({"id": ["t0"], "target": ["y"]})
    explained = explain(model, texts_of(token_ids), targets)

    way = vectors[token_ids] - vectors[PADDING]
    exact = (weights[0] * way).sum(axis=1)
    for method, expected in {
        "integrated_gradients": exact,
        "occlusion": exact,
        "integrated_gradients_plain": weights[0].sum(axis=1),
        "gradient": np.abs(weights[0]).sum(axis=1),
        "gradient_x_input": (weights[0] * vectors[token_ids]).sum(axis=1),
    }.items():
        assert by_row(explained, method)[0] == pytest.approx(expected, abs=1e-12)


def test_sigmoid_of_three_inputs() -> None:
    """f = sigmoid(x1 + 2 x2 - x3) at (1, 1, 1) from 0."""
    weights = np.array([[[1.0], [2.0], [-1.0]]])
    vectors = np.array([[0.0], [9.0], [1.0]])
    model = embedded_model(Weighted(weights, vectors), ["y"], link="sigmoid", device="cpu")
    targets = pl.DataFrame({"id": ["t0"], "target": ["y"]})
    explained = explain(model, texts_of([2, 2, 2]), targets, ["integrated_gradients"])

    scores = by_row(explained, "integrated_gradients")[0]
    assert scores == pytest.approx([0.190399, 0.380797, -0.190399], abs=5e-7)
    assert explained.completeness["total"][0] == pytest.approx(0.380797, abs=5e-7)


@given(st.integers(0, 1_000), st.sampled_from(["identity", "sigmoid", "softmax"]))
@examples(10)
def test_integrated_gradients_are_complete(seed: int, link: Any) -> None:
    module = Smooth(seed)
    explained = explain(
        embedded_model(module, LABELS, device="cpu", dtype="float64", link=link),
        TEXTS,
        TARGETS,
        ["integrated_gradients"],
    )

    for row in explained.completeness.iter_rows(named=True):
        place = TEXTS.place[row["id"]]
        numbers = torch.tensor(TEXTS.token_ids[place])
        bare = torch.where(numbers == START, numbers, PADDING)
        logits = module.double()(torch.stack([numbers, bare]))
        linked = {
            "identity": logits,
            "sigmoid": logits.sigmoid(),
            "softmax": logits.softmax(dim=1),
        }[link]
        whole, baseline = linked[:, LABELS.index(row["target"])].tolist()
        scores = explained.attributions.scores[row["row"]]
        assert scores.sum() == pytest.approx(whole - baseline, abs=1e-9)
        assert (row["output"], row["baseline"]) == pytest.approx((whole, baseline), abs=1e-12)
        assert row["gap"] == pytest.approx(0, abs=1e-9)


def test_equal_to_captum() -> None:
    pytest.importorskip("captum")
    from captum.attr import FeatureAblation, InputXGradient, IntegratedGradients, Saliency

    module, model = Smooth(3).double().eval(), smooth(3)
    explained = explain(model, TEXTS, TARGETS)
    embedding, used = module.embedding, {}

    def outputs(vectors: Any, column: int) -> Any:
        read = torch.tanh(module.filters(vectors.transpose(1, 2)))
        return module.answer(3 * read.mean(dim=2)).tanh()[:, column]

    for row, (text, target) in enumerate(TARGETS.select("id", "target").rows()):
        place = TEXTS.place[text]
        numbers, open_places = torch.tensor([TEXTS.token_ids[place]]), TEXTS.open[place]
        vectors = embedding(numbers).detach().requires_grad_(True)
        bare = embedding(torch.where(numbers == START, numbers, PADDING)).detach()
        more = {"additional_forward_args": LABELS.index(target)}
        whole = {"n_steps": 64, "method": "gausslegendre", "baselines": bare}
        times = IntegratedGradients(outputs).attribute(vectors, **whole, **more)
        plain = IntegratedGradients(outputs, multiply_by_inputs=False)
        mask = torch.arange(numbers.shape[1])[None, :, None].expand_as(vectors)
        ablation = FeatureAblation(outputs)
        without = ablation.attribute(vectors, baselines=bare, feature_mask=mask, **more)
        used = {
            "gradient": Saliency(outputs).attribute(vectors, **more).sum(dim=2),
            "gradient_x_input": InputXGradient(outputs).attribute(vectors, **more).sum(dim=2),
            "integrated_gradients": times.sum(dim=2),
            "integrated_gradients_plain": plain.attribute(vectors, **whole, **more).sum(dim=2),
            "occlusion": without[..., 0],
        }
        for method, theirs in used.items():
            expected = theirs[0].detach().numpy()[open_places]
            assert np.abs(by_row(explained, method)[row] - expected).max() < 1e-9, method
    assert set(used) == set(OWN_METHODS)


def test_a_token_without_effect_has_no_score() -> None:
    pytest.importorskip("shap")
    weights = np.array([[[1.0, 2.0], [0.0, 0.0], [3.0, -1.0]]])
    vectors = np.random.default_rng(0).normal(size=(6, 2))
    module = Weighted(weights, vectors)
    model = embedded_model(module, ["y"], link="sigmoid", device="cpu")
    targets = pl.DataFrame({"id": ["t0"], "target": ["y"]})
    methods = [method for method in METHODS if method != "lime"]
    explained = explain(model, texts_of([3, 4, 5]), targets, methods)

    for method in methods:
        scores = by_row(explained, method)[0]
        assert scores[1] == pytest.approx(0, abs=1e-15)
        assert np.abs(scores[[0, 2]]).min() > 1e-3


@pytest.mark.parametrize("tokens_per_pass", [1, 13, 10_000])
def test_batches_do_not_change_results(tokens_per_pass: int) -> None:
    free = float("inf")
    together = explain(smooth(), TEXTS, TARGETS, nodes=5, gap_limit=free)
    model = smooth(tokens_per_pass=tokens_per_pass)
    split = explain(model, TEXTS, TARGETS, nodes=5, gap_limit=free)

    difference = together.attributions.scores.values - split.attributions.scores.values
    assert np.abs(difference).max() < 1e-13


def test_a_row_does_not_depend_on_the_others() -> None:
    pytest.importorskip("captum")
    pytest.importorskip("shap")
    few: Any = {"nodes": 8, "samples": 40, "evaluations": 6}
    together = explain(smooth(), TEXTS, TARGETS, METHODS, **few)
    for row in range(len(TARGETS)):
        torch.rand(1)  # the state of the global generator does not matter either
        alone = explain(smooth(), TEXTS, TARGETS[row : row + 1], METHODS, **few)
        for method in METHODS:
            assert by_row(together, method)[row] == pytest.approx(
                by_row(alone, method)[0], abs=1e-12
            )


def test_partition_shap_is_complete_and_exact_on_a_linear_model() -> None:
    pytest.importorskip("shap")
    explained = explain(smooth(), TEXTS, TARGETS, ["partition_shap"])
    assert explained.completeness["gap"].abs().max() < 1e-12

    draw = np.random.default_rng(1)
    weights, vectors = draw.normal(size=(1, 5, 3)), draw.normal(size=(8, 3))
    model = embedded_model(Weighted(weights, vectors), ["y"], device="cpu")
    targets = pl.DataFrame({"id": ["t0"], "target": ["y"]})
    explained = explain(model, texts_of([2, 3, 4, 5, 6]), targets, ["partition_shap"])
    expected = (weights[0] * (vectors[2:7] - vectors[PADDING])).sum(axis=1)
    assert by_row(explained, "partition_shap")[0] == pytest.approx(expected, abs=1e-12)


def test_lime_finds_the_line_of_a_linear_model() -> None:
    pytest.importorskip("captum")
    pytest.importorskip("sklearn")
    draw = np.random.default_rng(2)
    weights, vectors = draw.normal(size=(1, 4, 3)), draw.normal(size=(8, 3))
    model = embedded_model(Weighted(weights, vectors), ["y"], device="cpu")
    targets = pl.DataFrame({"id": ["t0"], "target": ["y"]})
    explained = explain(model, texts_of([2, 3, 4, 5]), targets, ["lime"], samples=2_000)
    expected = (weights[0] * (vectors[2:6] - vectors[PADDING])).sum(axis=1)
    # The ridge penalty draws coefficients toward 0, less with more samples.
    assert by_row(explained, "lime")[0] == pytest.approx(expected, abs=0.01)


def test_draws_leave_the_global_generators_alone() -> None:
    pytest.importorskip("captum")
    pytest.importorskip("shap")
    np.random.seed(5)
    torch.manual_seed(5)
    expected = np.random.random(), torch.rand(1).item()
    np.random.seed(5)
    torch.manual_seed(5)
    explain(smooth(), TEXTS, TARGETS, ["lime", "partition_shap"], samples=10, evaluations=4)
    assert (np.random.random(), torch.rand(1).item()) == expected


def test_the_record_shares_texts_and_leaves_special_tokens_out() -> None:
    record = explain(smooth(), TEXTS, TARGETS, name="cnn", seed=7).attributions

    assert record.rows["method"].to_list() == [one for one in OWN_METHODS for _ in range(5)]
    assert record.rows["text"].to_list() == [0, 0, 1, 2, 3] * len(OWN_METHODS)
    assert set(record.rows["model"]) == {"cnn"}
    assert set(record.rows["seed"]) == {7}
    assert record.rows["gold"][:5].to_list() == TARGETS["gold"].to_list()
    assert record.rows["predicted"].null_count() == len(record.rows)
    assert record.tokens.to_list()[:6] == ["w4", "w5", "w6", "w7", "w8", "w9"]
    assert record.words.lengths.tolist() == [3, 3, 2, 5]
    assert record.vocabulary.gather(record.words.values).to_list() == record.tokens.to_list()
    texts = record.rows["text"].to_numpy()
    assert record.scores.lengths.tolist() == record.words.lengths[texts].tolist()


def test_no_targets_give_no_rows() -> None:
    explained = explain(smooth(), TEXTS, TARGETS[:0])
    assert len(explained.attributions.rows) == len(explained.attributions.scores) == 0
    assert len(explained.completeness) == 0


def test_the_model_stays_as_it_is() -> None:
    module = Smooth(0).train()
    before = {name: one.clone() for name, one in module.state_dict().items()}
    model = embedded_model(module, LABELS, device="cpu", dtype="float64")
    explain(model, TEXTS, TARGETS)

    assert module.training
    assert all(one.requires_grad and one.grad is None for one in module.parameters())
    after = module.state_dict()
    assert all(torch.equal(one, after[name]) for name, one in before.items())
    assert not module.embedding._forward_hooks


def test_float32_is_near_float64() -> None:
    exact = explain(smooth(), TEXTS, TARGETS).attributions.scores.values
    single = embedded_model(Smooth(0), LABELS, device="cpu")
    near = explain(single, TEXTS, TARGETS).attributions.scores.values
    assert 0 < np.abs(near - exact).max() < 1e-5


def test_a_jump_is_an_error_and_a_kink_is_none() -> None:
    kinked = embedded_model(Smooth(0, torch.relu), LABELS, device="cpu", dtype="float64")
    gaps = explain(kinked, TEXTS, TARGETS).completeness["relative_gap"]
    assert 1e-9 < gaps.max() < 0.05

    jumping = Smooth(0)
    jumping.embedding.weight.data[PADDING] = -2
    jumping.embedding.weight.data[2:] = jumping.embedding.weight.data[2:].abs()
    model = embedded_model(jumping, LABELS, forward=with_jump, device="cpu", dtype="float64")
    with pytest.raises(InputError, match="wider gaps in 5 rows; the widest, of text 't"):
        explain(model, TEXTS, TARGETS, ["integrated_gradients"])
    free = explain(model, TEXTS, TARGETS, ["integrated_gradients"], gap_limit=float("inf"))
    assert free.completeness["relative_gap"].min() > 0.05


def with_jump(module: Any, token_ids: Any) -> Any:
    vectors = module.embedding(token_ids)
    read = module.active(module.filters(vectors.transpose(1, 2)))
    jump = (vectors.sum((1, 2)) > 0)[:, None]
    return module.answer(3 * read.mean(dim=2)).tanh() + jump


class TestBadInput:
    def test_an_output_without_a_gradient(self) -> None:
        model = embedded_model(
            Smooth(0), LABELS, forward=lambda module, ids: module(ids).detach(), device="cpu"
        )
        with pytest.raises(InputError, match="an output without a gradient"):
            explain(model, TEXTS, TARGETS, ["gradient"])
        explain(model, TEXTS, TARGETS, ["occlusion"])

    def test_an_embedding_called_twice_or_never(self) -> None:
        def twice(module: Any, ids: Any) -> Any:
            return module(ids) + module(ids)

        for forward in (twice, lambda module, ids: module.answer(torch.ones(len(ids), 5))):
            model = embedded_model(Smooth(0), LABELS, forward=forward, device="cpu")
            with pytest.raises(InputError, match="must call its embedding layer once"):
                explain(model, TEXTS, TARGETS)

    def test_outputs_of_another_shape(self) -> None:
        model = embedded_model(Smooth(0), ["only"], device="cpu")
        with pytest.raises(SchemaError, match=r"x 1 labels\nFound: \(\d, 2\)"):
            explain(model, TEXTS, TARGETS.with_columns(target=pl.lit("only")).unique("id"))

    def test_outputs_that_are_not_finite(self) -> None:
        model = embedded_model(
            Smooth(0), LABELS, forward=lambda module, ids: module(ids) / 0, device="cpu"
        )
        with pytest.raises(InputError, match="finite outputs"):
            explain(model, TEXTS, TARGETS)

    def test_layers_that_are_not_clear(self) -> None:
        pair = torch.nn.ModuleDict({"a": torch.nn.Embedding(2, 2), "b": torch.nn.Embedding(2, 2)})
        with pytest.raises(InputError, match="None; embedding layers: 'a', 'b'"):
            embedded_model(pair, LABELS)
        with pytest.raises(InputError, match="embedding layers: none"):
            embedded_model(torch.nn.Linear(2, 2), LABELS)
        with pytest.raises(InputError, match="'c'; embedding layers"):
            embedded_model(pair, LABELS, embedding="c")
        assert embedded_model(pair, LABELS, embedding="b").labels == LABELS

    def test_a_device_that_is_not_there(self) -> None:
        with pytest.raises(InputError, match="a device that torch can use"):
            embedded_model(Smooth(0), LABELS, device="abacus")

    def test_labels_that_repeat(self) -> None:
        with pytest.raises(InputError, match="a label of its own"):
            embedded_model(Smooth(0), ["a", "a"])

    @pytest.mark.parametrize(
        ("targets", "message"),
        [
            ({"id": ["x"], "target": ["first"]}, "every id of the targets"),
            ({"id": ["t0"], "target": ["third"]}, "every target of the targets"),
            ({"id": ["t0", "t0"], "target": ["first", "first"]}, "once for each text"),
            ({"id": ["t0"]}, "no target"),
        ],
    )
    def test_targets(self, targets: Any, message: str) -> None:
        with pytest.raises(InputError, match=message):
            explain(smooth(), TEXTS, pl.DataFrame(targets))

    @pytest.mark.parametrize("methods", [[], ["gradient", "gradient"], ["magic"]])
    def test_methods(self, methods: list[str]) -> None:
        with pytest.raises(InputError, match="different methods are required"):
            explain(smooth(), TEXTS, TARGETS, methods)

    def test_texts(self) -> None:
        with pytest.raises(InputError, match="not special"):
            texts_of([1, 1])
        with pytest.raises(SchemaError, match="of 1 texts are required"):
            TokenisedTexts(["a"], [], [], 0)
        with pytest.raises(SchemaError, match="one number per token"):
            TokenisedTexts(["a"], [["x", "y"]], [[3]], 0)
        with pytest.raises(SchemaError, match="repeated ids: 'a'"):
            TokenisedTexts(["a", "a"], [["x"], ["x"]], [[3], [3]], 0)

    def test_a_package_that_lacks_is_named_with_its_extra(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(EXTRAS, "explain", ("no_such_package",))
        with pytest.raises(InputError, match=r"pip install 'hierarchy-audit\[explain\]'"):
            require_package("no_such_package", "to compute it")


def test_other_models_are_called_as_they_need() -> None:
    """Two embedding layers, keywords, outputs in an object, a recurrent layer, one label."""

    class Answer:
        def __init__(self, logits: Any) -> None:
            self.logits = logits

    class Recurrent(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = torch.nn.Embedding(12, 3)
            self.places = torch.nn.Embedding(20, 3)
            self.reader = torch.nn.LSTM(3, 4, batch_first=True)

        def forward(self, *, input_ids: Any) -> Any:
            places = self.places(torch.arange(input_ids.shape[1]))
            return Answer(self.reader(self.words(input_ids) + places)[0].sum((1, 2)))

    torch.manual_seed(0)
    model = embedded_model(
        Recurrent(),
        ["y"],
        embedding="words",
        forward=lambda module, ids: module(input_ids=ids),
        device="cpu",
        dtype="float64",
    )
    targets = pl.DataFrame({"id": TEXTS.ids, "target": ["y"] * 4})
    explained = explain(replace(model, link="sigmoid"), TEXTS, targets, GRADIENTS)
    assert explained.completeness["gap"].abs().max() < 1e-9
