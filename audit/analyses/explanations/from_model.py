"""Attributions of a torch model's outputs to the tokens of texts, by captum and shap."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from audit.base.dag import BoolArray, FloatArray
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.machine import require_package, torch_device
from audit.engine.statistics.resampling import unit_keys

if TYPE_CHECKING:
    import torch

METHODS = (
    *("gradient", "gradient_x_input", "integrated_gradients", "integrated_gradients_plain"),
    *("lime", "partition_shap"),
)
"""The six methods of *Dynamic top-k*."""
TOKENS_PER_PASS = 16_384
"""Number of tokens that go through the model at a time."""
POINTS = 64
"""Points on the path of integrated gradients."""
GAP_LIMIT = 0.05
"""Largest relative gap of integrated gradients that is no error."""
ROUNDINGS = 64
"""Number of rounding errors of an output of 1 that a gap may have beside the limit."""

MASKS = 500
"""Masked texts that LIME fits its line to, and that Partition SHAP may look at."""
KERNEL_WIDTH = 0.25
"""Width of LIME's kernel over the cosine distance of masks, as its authors have it for texts."""
RIDGE = 1.0
"""Penalty of the squared coefficients of LIME's line, as its authors have it."""
OfMasks: TypeAlias = Callable[[BoolArray], FloatArray]
"""Outputs for masks over the open tokens of a text, shape (masks, open tokens)."""


def attributions(
    model: tuple[Any, Any],
    texts: pl.DataFrame | Iterable[Mapping[str, Any]],
    method: str | Sequence[str] = METHODS,
    *,
    name: str = "model",
    device: str | None = None,
    seed: int = 0,
) -> pl.DataFrame:
    """Attribute a torch model's outputs to the tokens of texts, for ``audit explanations``.

    ``write_ndjson`` writes what is returned as that command reads it. For each text it costs one
    pass of the model for ``gradient``, 64 for ``integrated_gradients``, and at most 500 for
    ``lime`` and ``partition_shap``. It needs the extra ``explain``.

    Args:
        model: A torch module and its tokenizer, as Transformers has them: the module with
            ``get_input_embeddings()``, ``config.id2label`` and outputs ``logits``, shape (texts,
            labels), for token numbers, shape (texts, tokens); the tokenizer with
            ``tokenizer(text)["input_ids"]``, ``convert_ids_to_tokens``, ``all_special_ids`` and
            ``pad_token_id``. The module itself is not changed.
        texts: ``id``, ``text`` and, if it is known, ``target``, the true label, which is explained;
            without that column the answer of the model is.
        method: One or several of ``gradient, gradient_x_input, integrated_gradients,
            integrated_gradients_plain, lime, partition_shap``, the six of *Dynamic top-k*.
        name: The model in the rows.
        device: A torch device; without one, a GPU where there is one.
        seed: Seed of the draws of LIME and Partition SHAP.

    Returns:
        A row for each method, text and target: ``id, target, method, model, seed, predicted``
        (whether the target is the model's answer), ``gold`` where targets are given, ``tokens``
        and ``scores``, one number for each token that is not special, and ``text``.

    Raises:
        AuditError: If a package lacks, the model is no such pair, gives another shape or no finite
            outputs, a method or a target is unknown, a text is missing or has no token, or
            integrated gradients do not sum to the output.

    >>> import audit
    >>> texts = [{"id": "a", "text": "acute heart failure", "target": "428.0"}]
    >>> rows = audit.attributions((module, tokenizer), texts, "lime")  # doctest: +SKIP
    """
    methods = (method,) if isinstance(method, str) else tuple(method)
    if not methods or not {*methods} <= {*METHODS} or len({*methods}) < len(methods):
        required = f"different methods are required, of {', '.join(METHODS)}"
        raise InputError(required, found=first_cases(methods))
    for package in ("torch", "captum", *["shap"] * ("partition_shap" in methods)):
        require_package(package, "to explain a model")
    module, tokenizer = model
    try:
        named = module.config.id2label
        labels = [str(named[place]) for place in range(len(named))]
        own = copy.deepcopy(module).to(torch_device(device)).eval().requires_grad_(False)
        embedding = own.get_input_embeddings()
    except (AttributeError, KeyError) as error:
        required = "a model with get_input_embeddings and config.id2label is required"
        found = f"{type(module).__name__}: {type(error).__name__}: {error}"
        raise InputError(required, found=found) from None
    lines = list[dict[str, Any]]()
    for row in _rows(texts).iter_rows(named=True):
        text, told = _text(own, embedding, labels, tokenizer, row)
        (key,) = unit_keys([f"{row['id']}\0{told['target']}"], seed)
        for one in methods:
            scores = _scores(one, text, int(key >> np.uint64(1)), row["id"]).tolist()
            lines.append({**told, "method": one, "model": name, "seed": seed, "scores": scores})
    frame = pl.DataFrame(lines, infer_schema_length=None)
    ordered = frame.sort(pl.col("method").cast(pl.Enum(methods)), maintain_order=True)
    first = ["id", "target", "method", "model", "seed"]
    return ordered.select(*first, pl.exclude(first))


def _rows(texts: pl.DataFrame | Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """``id, text`` and maybe ``target``, all as text."""
    frame = texts if isinstance(texts, pl.DataFrame) else pl.DataFrame([dict(one) for one in texts])
    named = [one for one in ("id", "target", "text") if one in frame.columns]
    rows = frame.select(pl.col(named).cast(pl.String))
    whole = rows.drop_nulls()
    if not {"id", "text"} <= {*named} or rows.is_empty() or len(whole) < len(rows):
        found = f"{first_cases(frame.columns)}, {len(rows)} rows and {len(whole)} whole ones"
        raise SchemaError("rows with id, text and maybe target are required", found=found)
    if rows.select(named[:-1]).is_duplicated().any():
        twice = rows.filter(rows.select(named[:-1]).is_duplicated()).row(0)
        raise SchemaError(f"each {' and '.join(named[:-1])} may stand once", found=str(twice))
    return rows


class _Text(NamedTuple):
    """A text, the label that is explained, and the model, a function of the vectors of its tokens.

    ``open`` are tokens that are not special, which can be scored and taken away; ``vectors``, shape
    (1, tokens, dimensions), have those of padding in place of these in the ``baseline``.
    """

    module: Any
    embedding: Any
    labels: Sequence[str]
    column: int
    ids: torch.Tensor
    open: torch.Tensor
    vectors: torch.Tensor
    baseline: torch.Tensor

    def outputs(self, vectors: torch.Tensor) -> torch.Tensor:
        """Outputs, shape (n, labels), when the embedding gives these vectors, (n, tokens, ...)."""
        import torch

        calls = []

        def put(_: object, __: object, given: torch.Tensor) -> torch.Tensor:
            calls.append(tuple(given.shape))
            return vectors if given.shape == vectors.shape else given

        handle = self.embedding.register_forward_hook(put)
        try:
            told = self.module(self.ids.expand(len(vectors), -1))
        finally:
            handle.remove()
        if calls != [tuple(vectors.shape)]:
            raise InputError(
                "the model must call its embedding layer once, with the tokens of each text",
                found=f"calls that gave {first_cases(calls)} for vectors {tuple(vectors.shape)}",
            )
        numbers: torch.Tensor = getattr(told, "logits", told)
        shape = tuple(getattr(numbers, "shape", ()))
        if shape != (len(vectors), len(self.labels)) or not torch.isfinite(numbers).all():
            raise InputError(
                f"finite outputs of {len(vectors)} texts x {len(self.labels)} labels are required",
                found=f"{type(numbers).__name__} {shape or ''}",
            )
        return numbers

    def output(self, vectors: torch.Tensor) -> torch.Tensor:
        """The output of the label for each copy of the text, shape (n,)."""
        return self.outputs(vectors)[:, self.column]

    def masked(self, kept: BoolArray) -> FloatArray:
        """Outputs of the label for masks over the open tokens, shape (masks, open tokens).

        A token that is not kept has the padding's vector in its place, so that the others stay
        where they are.
        """
        import torch

        masks = torch.ones((len(kept), len(self.ids)), dtype=torch.bool, device=self.ids.device)
        masks[:, self.open] = torch.from_numpy(kept).to(self.ids.device)
        parts = torch.split(masks, max(TOKENS_PER_PASS // len(self.ids), 1))
        with torch.no_grad():
            told = [
                self.output(torch.where(some[..., None], self.vectors, self.baseline))
                for some in parts
            ]
        return np.asarray(torch.cat(told).double().cpu().numpy(), np.float64)


def _text(
    module: Any, embedding: Any, labels: list[str], tokenizer: Any, row: Mapping[str, str]
) -> tuple[_Text, dict[str, Any]]:
    """A text with its label, the target or else the answer; and its rows but for their scores."""
    import torch

    numbers = list(tokenizer(row["text"])["input_ids"])
    ids = torch.tensor(numbers, device=embedding.weight.device)
    is_open = ~torch.isin(ids, torch.tensor(list(tokenizer.all_special_ids), device=ids.device))
    if not is_open.any():
        found = f"none in the text {row['id']!r}"
        raise InputError("a text needs a token that is not special", found=found)
    vectors = embedding(ids)[None].detach()
    padding = embedding(torch.full_like(ids, tokenizer.pad_token_id)).detach()
    baseline = torch.where(is_open[:, None], padding, vectors)
    text = _Text(module, embedding, labels, 0, ids, is_open, vectors, baseline)
    with torch.no_grad():
        answer = labels[int(text.outputs(vectors)[0].argmax())]
    target = row.get("target", answer)
    if target not in labels:
        known = first_cases(labels)
        raise InputError(f"a target must be among the model's labels, {known}", found=target)
    told = {"id": row["id"], "target": target, "predicted": target == answer, "text": row["text"]}
    told["tokens"] = list(compress(tokenizer.convert_ids_to_tokens(numbers), is_open.tolist()))
    told |= {"gold": True} if "target" in row else {}
    return text._replace(column=labels.index(target)), told


def _scores(method: str, text: _Text, seed: int, row_id: str) -> FloatArray:
    """A score for each open token; InputError for gradients that lack or do not sum up."""
    if method in ("lime", "partition_shap"):
        surrogate = lime if method == "lime" else partition_shap
        return surrogate(text.masked, int(text.open.sum()), seed)
    import torch

    # cuDNN differentiates recurrent layers in training mode alone.
    recurrent = any(isinstance(part, torch.nn.RNNBase) for part in text.module.modules())
    try:
        with torch.enable_grad(), torch.backends.cudnn.flags(enabled=not recurrent):
            found, gap = _of_vectors(method, text)
    except RuntimeError as error:
        if "does not require grad" not in str(error):
            raise
        raise InputError(
            "the output must be a differentiable function of the embedding",
            found="an output without a gradient",
            hint="methods that only take tokens away need none: lime, partition_shap",
        ) from None
    scores = np.asarray(found.detach().sum(2)[0, text.open].double().cpu().numpy(), np.float64)
    rounding = ROUNDINGS * torch.finfo(found.dtype).eps
    if gap > GAP_LIMIT * float(np.abs(scores).sum()) + rounding:
        raise InputError(
            "integrated gradients must sum to the output on the text less that on its baseline, "
            f"within {GAP_LIMIT:.3g} of the sum of absolute scores",
            found=f"a gap of {gap:.3g} for text {row_id!r} and target {text.labels[text.column]!r}",
            hint="the output jumps along the path: lime and partition_shap need no gradient",
        )
    return scores


def _of_vectors(method: str, text: _Text) -> tuple[torch.Tensor, float]:
    """Scores of each dimension by captum, and how far integrated gradients miss their sum."""
    from captum.attr import InputXGradient, IntegratedGradients, Saliency

    vectors = text.vectors.clone().requires_grad_(True)
    if method == "gradient":
        return Saliency(text.output).attribute(vectors), 0.0
    if method == "gradient_x_input":
        return InputXGradient(text.output).attribute(vectors), 0.0
    whole = method == "integrated_gradients"
    at_once = min(max(TOKENS_PER_PASS // len(text.ids), 1), POINTS)
    found, gap = IntegratedGradients(text.output, multiply_by_inputs=whole).attribute(
        *(vectors, text.baseline),
        n_steps=POINTS,
        internal_batch_size=at_once,
        return_convergence_delta=True,
    )
    return found, abs(float(gap[0])) * whole


def lime(outputs: OfMasks, tokens: int, seed: int) -> FloatArray:
    """The coefficients of a line fitted to the outputs of randomly masked texts.

    "Why Should I Trust You?" (Ribeiro, Singh and Guestrin): each token is kept with probability
    1/2, a mask weighs exp(-d^2 / (2 w^2)) with d its cosine distance from the whole text and w
    `KERNEL_WIDTH`, and the line is fitted by ridge regression.
    """
    import torch
    from captum._utils.models.linear_model import SkLearnRidge
    from captum.attr import Lime
    from captum.attr._core.lime import get_exp_kernel_similarity_function

    method = Lime(
        lambda masks: torch.from_numpy(outputs(masks.numpy().astype(bool))),
        interpretable_model=SkLearnRidge(alpha=RIDGE),
        similarity_func=get_exp_kernel_similarity_function("cosine", KERNEL_WIDTH),
    )
    whole = torch.ones(1, tokens, dtype=torch.float64)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        scores = method.attribute(
            whole, baselines=0 * whole, n_samples=MASKS, perturbations_per_eval=MASKS
        )
    return np.asarray(scores[0].numpy(), np.float64)


def partition_shap(outputs: OfMasks, tokens: int, seed: int) -> FloatArray:
    """Owen values over a tree that halves the text, which sum to the output less the baseline's.

    Where the masks are spent before single tokens are reached, a part shares its value equally.
    """
    import shap

    if tokens == 1:
        away, whole = outputs(np.array([[False], [True]]))
        return np.array([whole - away])
    tree: list[tuple[int, int, int, int]] = []
    _halve(tree, 0, tokens, tokens)

    class Masker(SimpleNamespace):
        def __call__(self, mask: BoolArray, _: object) -> tuple[BoolArray, ...]:
            return (mask[None, :],)

    masker: Any = Masker(shape=(1, tokens), clustering=np.array(tree, np.float64))
    state = np.random.get_state()  # shap draws from NumPy's global generator
    try:
        np.random.seed(seed % 2**32)
        explainer = shap.PartitionExplainer(outputs, masker)
        told = explainer(np.ones((1, tokens)), max_evals=MASKS, batch_size=MASKS, silent=True)
    finally:
        np.random.set_state(state)
    return np.asarray(told.values[0], np.float64)


def _halve(tree: list[tuple[int, int, int, int]], start: int, stop: int, tokens: int) -> int:
    """Add the halves of a part to a tree as `scipy.cluster.hierarchy` writes it; the part's row."""
    if stop - start == 1:
        return start
    middle = (start + stop) // 2
    halves = _halve(tree, start, middle, tokens), _halve(tree, middle, stop, tokens)
    tree.append((*halves, stop - start, stop - start))
    return tokens + len(tree) - 1
