"""Representations of a torch module's layers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from audit.analyses.concepts.extraction import Pooling, extract_representations
from audit.analyses.concepts.reading import Representations
from audit.base.errors import InputError, SchemaError

torch = pytest.importorskip("torch")

CLASSES = ("a", "b", "c")
IMAGES = torch.arange(4 * 2 * 5 * 5).reshape(4, 2, 5, 5).remainder(7).float()
NUMBERS = torch.tensor([0, 2, 1, 2])


@pytest.fixture
def model() -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return torch.nn.Sequential(
            torch.nn.Conv2d(2, 3, 3),
            torch.nn.BatchNorm2d(3),
            torch.nn.Flatten(),
            torch.nn.Dropout(),
            torch.nn.Linear(27, 3),
        )


def batches(size: int = 4) -> list[tuple[Any, Any]]:
    return [(IMAGES[i : i + size], NUMBERS[i : i + size]) for i in range(0, 4, size)]


def extracted(model: Any, layers: list[str], **options: Any) -> Representations:
    return extract_representations(model, batches(), layers, classes=CLASSES, **options)


def by_hand(model: Any, upto: int) -> Any:
    """What the first layers give, in evaluation mode."""
    own = model.eval()
    with torch.no_grad():
        return own[:upto](IMAGES)


@pytest.mark.parametrize(
    ("pooling", "pooled"),
    [
        ("channels", lambda maps: maps.mean(dim=1).reshape(4, 9)),
        ("positions", lambda maps: maps.mean(dim=(2, 3))),
        ("none", lambda maps: maps.reshape(4, 27)),
    ],
)
def test_poolings_of_a_convolution(model: Any, pooling: Pooling, pooled: Any) -> None:
    read = extracted(model, ["0", "3"], pooling=pooling)

    assert np.allclose(read.layers["0"], pooled(by_hand(model, 1)), atol=1e-6)
    assert np.allclose(read.layers["3"], by_hand(model, 4), atol=1e-6)
    assert list(read.layers) == ["0", "3"]


@pytest.mark.parametrize("size", [1, 3])
def test_batches_do_not_matter(model: Any, size: int) -> None:
    whole = extracted(model, ["1"])
    parts = extract_representations(model, iter(batches(size)), ["1"], classes=CLASSES)

    assert np.allclose(whole.layers["1"], parts.layers["1"], atol=1e-6)
    assert whole.instances.equals(parts.instances)


def test_the_head_predicts_what_the_model_does(model: Any) -> None:
    read = extracted(model, ["0", "3"], head="4")

    assert read.head is not None
    highest = (read.layers["3"] @ read.head.weight.T + read.head.bias).argmax(axis=1)
    assert [read.head.classes[place] for place in highest] == read.instances["prediction"].to_list()
    assert read.instances["prediction"].to_list() == [
        CLASSES[place] for place in by_hand(model, 5).argmax(dim=1)
    ]


def test_the_model_stays_as_it_is(model: Any) -> None:
    before = {name: value.clone() for name, value in model.state_dict().items()}

    extracted(model, ["1"])

    assert model.training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert not any(part._forward_hooks for part in model.modules())


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (NUMBERS, [["a"], ["c"], ["b"], ["c"]]),
        (
            torch.tensor([[1, 0, 1], [0, 0, 0], [0, 1, 0], [1, 1, 1]]),
            [[*"ac"], [], ["b"], [*"abc"]],
        ),
        (["x", "y", "x", "z"], [["x"], ["y"], ["x"], ["z"]]),
        ([["x"], [], ["y", "x"], ("z",)], [["x"], [], ["y", "x"], ["z"]]),
    ],
)
def test_forms_of_labels(model: Any, labels: Any, expected: list[list[str]]) -> None:
    read = extract_representations(model, [(IMAGES, labels)], ["1"], classes=CLASSES)
    assert read.instances["labels"].to_list() == expected


def test_what_a_later_layer_does_in_place_is_not_kept(model: Any) -> None:
    in_place = torch.nn.Sequential(*model[:3], torch.nn.ReLU(inplace=True))
    read = extracted(in_place, ["2", "3"], predictions=False)

    assert np.allclose(read.layers["2"], by_hand(model, 3), atol=1e-6)
    assert np.allclose(read.layers["3"], np.maximum(read.layers["2"], 0))
    assert (read.layers["2"] < 0).any()


def test_ids_pairs_and_progress(model: Any) -> None:
    steps: list[tuple[str, int, int | None]] = []
    read = extract_representations(
        model, batches(2), ["1"], classes=CLASSES, ids=[*"wxyz"], pairs=["p", None, "p", "q"],
        progress=lambda step, done=0, total=None, unit="": steps.append((step, done, total)),
    )  # fmt: skip

    assert read.instances["id"].to_list() == [*"wxyz"]
    assert read.instances["pair"].to_list() == ["p", None, "p", "q"]
    assert steps == [("encoding", 0, 2), ("encoding", 1, 2)]


def test_a_layer_that_gives_several_tensors_gives_its_first() -> None:
    recurrent = torch.nn.Sequential(torch.nn.LSTM(5, 2, batch_first=True))
    read = extract_representations(
        recurrent, [(IMAGES[:, 0], [*"abcd"])], ["0"], pooling="positions", predictions=False
    )
    with torch.no_grad():
        expected = recurrent[0](IMAGES[:, 0])[0].mean(dim=2)
    assert np.allclose(read.layers["0"], expected)
    assert read.instances["prediction"].null_count() == 4


class TestBadInput:
    @pytest.mark.parametrize("layers", [["9"], ["1", "1"], [], [""]])
    def test_layers_that_are_not_there(self, model: Any, layers: list[str]) -> None:
        with pytest.raises(InputError, match=r"each once(.|\n)*layers: '0', '1', '2', '3', '4'"):
            extracted(model, layers)

    def test_a_layer_that_is_called_twice_or_never(self, model: Any) -> None:
        twice = torch.nn.Sequential(model[0], torch.nn.Identity(), torch.nn.Identity())
        twice[2] = twice[1]
        with pytest.raises(InputError, match="Found: 2 calls"):
            extract_representations(twice, [(IMAGES, [*"abcd"])], ["1"])
        with pytest.raises(InputError, match="Found: 0 calls"):
            extracted(model, ["4"], forward=lambda one, images: one[:4](images))

    def test_a_head_that_reads_another_layer(self, model: Any) -> None:
        with pytest.raises(InputError, match=r"must read the vectors of the last layer"):
            extracted(model, ["1"], head="4")
        with pytest.raises(InputError, match="an output per class"):
            extracted(model, ["3"], head="0")

    def test_labels_of_no_class(self, model: Any) -> None:
        with pytest.raises(SchemaError, match="numbers below 2 of the classes"):
            extract_representations(model, batches(), ["1"], classes=CLASSES[:2])
        with pytest.raises(SchemaError, match=r"float32 of shape \(4,\)"):
            extract_representations(model, [(IMAGES, NUMBERS.float())], ["1"], classes=CLASSES)

    def test_outputs_that_are_no_scores_of_classes(self, model: Any) -> None:
        with pytest.raises(
            SchemaError, match=r"4 instances x 3 classes\nFound: Tensor of shape \(4, 27\)"
        ):
            extracted(model, ["1"], forward=lambda one, images: one[:4](images))

    def test_batches_of_another_form(self, model: Any) -> None:
        with pytest.raises(SchemaError, match=r"inputs and the labels(.|\n)*Tensor"):
            extract_representations(model, [IMAGES], ["1"], classes=CLASSES)  # type: ignore[list-item]
        with pytest.raises(InputError, match="at least one batch"):
            extract_representations(model, [], ["1"])

    def test_vectors_of_another_length_in_a_later_batch(self, model: Any) -> None:
        sizes = [(IMAGES, [*"abcd"]), (IMAGES[..., :4], [*"abcd"])]
        with pytest.raises(
            InputError,
            match="Found: 1 calls, and 6, 9 features",
        ):
            extract_representations(model[:2], sizes, ["1"])

    def test_numbers_that_are_not_finite(self, model: Any) -> None:
        with pytest.raises(SchemaError, match="finite numbers"):
            extract_representations(model, [(IMAGES * np.nan, NUMBERS)], ["1"], classes=CLASSES)

    def test_names_of_options(self, model: Any) -> None:
        with pytest.raises(InputError, match="channels, positions, none"):
            extracted(model, ["1"], pooling="max")
        with pytest.raises(InputError, match="each output may occur once"):
            extract_representations(model, batches(), ["1"], classes=("a", "a", "b"))
        with pytest.raises(InputError, match="a device that torch can use"):
            extracted(model, ["1"], device="no_such_device")
