"""Attributions of a torch model's outputs to the tokens of texts, by captum and shap."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import polars as pl

from audit.analyses.explanations.surrogates import lime, partition_shap
from audit.base.dag import BoolArray, FloatArray
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.machine import require_package, torch_device
from audit.engine.statistics.resampling import unit_keys

if TYPE_CHECKING:
    import torch

Link: TypeAlias = Literal["identity", "sigmoid", "softmax"]
GRADIENT, GRADIENT_X_INPUT = "gradient", "gradient_x_input"
INTEGRATED, INTEGRATED_PLAIN = "integrated_gradients", "integrated_gradients_plain"
OCCLUSION, LIME, PARTITION_SHAP = "occlusion", "lime", "partition_shap"
PAPER_METHODS = (GRADIENT, GRADIENT_X_INPUT, INTEGRATED, INTEGRATED_PLAIN, LIME, PARTITION_SHAP)
"""The six methods of *Dynamic top-k*."""
METHODS = (*PAPER_METHODS, OCCLUSION)

TOKENS_PER_PASS = 16_384
"""Number of tokens that go through the model at a time."""
POINTS = 64
"""Points on the path of integrated gradients."""
GAP_LIMIT = 0.05
"""Largest relative gap of integrated gradients that is no error."""
ROUNDINGS = 64
"""Number of rounding errors of an output that a gap may have beside the limit."""


def attributions(
    model: tuple[Any, Any],
    texts: pl.DataFrame | Iterable[Mapping[str, Any]],
    method: str | Sequence[str] = PAPER_METHODS,
    *,
    name: str = "model",
    link: Link = "identity",
    device: str | None = None,
    seed: int = 0,
) -> pl.DataFrame:
    """Attribute a torch model's outputs to the tokens of texts, for ``audit explanations``.

    ``write_ndjson`` writes what is returned as that command reads it. For each text it costs one
    pass of the model for ``gradient``, 64 for ``integrated_gradients``, one a token for
    ``occlusion``, and at most 500 for ``lime`` and ``partition_shap``. These two need the extra
    ``explain``, the others ``model``.

    Args:
        model: A torch module and its tokenizer, as Transformers has them: the module with
            ``get_input_embeddings()``, ``config.id2label`` and outputs ``logits``, shape (texts,
            labels), for token numbers, shape (texts, tokens); the tokenizer with
            ``tokenizer(text)["input_ids"]``, ``convert_ids_to_tokens``, ``all_special_ids`` and
            ``pad_token_id``. The module itself is not changed.
        texts: ``id``, ``text`` and, if it is known, ``target``, the true label, which is explained;
            without that column the answer of the model is.
        method: One or several of ``gradient, gradient_x_input, integrated_gradients,
            integrated_gradients_plain, occlusion, lime, partition_shap``; without one, the six of
            *Dynamic top-k*, which are all of these but occlusion.
        name: The model in the rows.
        link: Explain outputs as they are, their sigmoid or their softmax.
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
        raise InputError(
            f"different methods are required, of {', '.join(METHODS)}", found=first_cases(methods)
        )
    needed = {LIME: ("captum", "sklearn"), PARTITION_SHAP: ("shap",)}
    for package in ("torch", *(one for method in methods for one in needed.get(method, ()))):
        require_package(package, "to explain a model")
    module, tokenizer = model
    explained = _model(module, link, device)
    frames = [
        _explained(explained, tokenizer, row, methods, name, seed)
        for row in _rows(texts).iter_rows(named=True)
    ]
    order = pl.col("method").replace_strict({one: place for place, one in enumerate(methods)})
    if not frames:
        raise InputError("a text is required", found="none")
    return pl.concat(frames).sort(order, maintain_order=True)


def _rows(texts: pl.DataFrame | Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """``id, text`` and maybe ``target``, all as text."""
    frame = texts if isinstance(texts, pl.DataFrame) else pl.DataFrame([dict(one) for one in texts])
    if not {"id", "text"} <= {*frame.columns}:
        raise SchemaError(
            "the columns id and text are required", found=", ".join(frame.columns) or "none"
        )
    named = [one for one in ("id", "target", "text") if one in frame.columns]
    rows = frame.select(pl.col(named).cast(pl.String))
    if len(empty := rows.filter(pl.any_horizontal(pl.all().is_null()))) or rows.is_empty():
        raise InputError(
            f"each row needs {', '.join(named)}",
            found=f"{len(empty)} rows without one, such as {empty.row(0)}"
            if len(empty)
            else "none",
        )
    keys = [one for one in named if one != "text"]
    if len(twice := rows.filter(rows.select(keys).is_duplicated())):
        raise SchemaError(
            f"each {' and '.join(keys)} may stand once",
            found=first_cases(twice.select(pl.concat_str(keys, separator=" ")).to_series()),
        )
    return rows


@dataclass(frozen=True, eq=False)
class _Model:
    """A copy of a module in evaluation mode, as a function of the vectors of its embedding."""

    module: Any
    embedding: Any
    labels: tuple[str, ...]
    link: Link

    def outputs(self, vectors: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        """Outputs, shape (n, labels), when the embedding gives these vectors for one text's ids.

        Args:
            vectors: Shape (n, tokens, dimensions).
            ids: Shape (tokens,).
        """
        import torch

        calls = []

        def put(_: object, __: object, given: torch.Tensor) -> torch.Tensor:
            calls.append(tuple(given.shape))
            return vectors if given.shape == vectors.shape else given

        handle = self.embedding.register_forward_hook(put)
        try:
            told = self.module(ids.expand(len(vectors), -1))
        finally:
            handle.remove()
        if calls != [tuple(vectors.shape)]:
            raise InputError(
                "the model must call its embedding layer once, with the tokens of each text",
                found=f"calls that gave {first_cases(calls)} for vectors {tuple(vectors.shape)}",
            )
        numbers = getattr(told, "logits", told)
        shape = tuple(getattr(numbers, "shape", ()))
        if shape != (len(vectors), len(self.labels)):
            raise SchemaError(
                f"the model must give {len(vectors)} texts x {len(self.labels)} labels",
                found=str(shape) if shape else type(numbers).__name__,
            )
        if not torch.isfinite(numbers).all():
            raise InputError("the model must give finite outputs", found="NaN or infinite ones")
        if self.link == "sigmoid":
            return torch.sigmoid(numbers)
        return torch.softmax(numbers, dim=1) if self.link == "softmax" else numbers


def _model(module: Any, link: Link, device: str | None) -> _Model:
    try:
        named = module.config.id2label
        labels = tuple(str(named[place]) for place in range(len(named)))
        own = copy.deepcopy(module).to(torch_device(device)).eval()
        return _Model(own.requires_grad_(False), own.get_input_embeddings(), labels, link)
    except (AttributeError, KeyError) as error:
        raise InputError(
            "a model with get_input_embeddings and config.id2label is required",
            found=f"{type(module).__name__}: {type(error).__name__}: {error}",
        ) from None


@dataclass(frozen=True, eq=False)
class _Text:
    """A text and the label that is explained.

    Args:
        open: Tokens that are not special, which can be scored and taken away, shape (tokens,).
        vectors: Of the tokens, shape (1, tokens, dimensions).
        baseline: The same with padding in place of open tokens.
    """

    model: _Model
    ids: torch.Tensor
    column: int
    open: torch.Tensor
    vectors: torch.Tensor
    baseline: torch.Tensor

    @property
    def at_once(self) -> int:
        """Copies of the text that go through the model at a time."""
        return max(TOKENS_PER_PASS // len(self.ids), 1)

    def output(self, vectors: torch.Tensor) -> torch.Tensor:
        """The output of the label for each copy of the text, shape (n,)."""
        return self.model.outputs(vectors, self.ids)[:, self.column]

    def masked(self, kept: BoolArray) -> FloatArray:
        """Outputs of the label for masks over the open tokens, shape (masks, open tokens).

        A token that is not kept has the padding's vector in its place, so that the others stay
        where they are.
        """
        import torch

        masks = torch.ones((len(kept), len(self.ids)), dtype=torch.bool, device=self.ids.device)
        masks[:, self.open] = torch.from_numpy(kept).to(self.ids.device)
        with torch.no_grad():
            parts = [
                self.output(torch.where(some[..., None], self.vectors, self.baseline))
                for some in torch.split(masks, self.at_once)
            ]
        return np.asarray(torch.cat(parts).double().cpu().numpy(), np.float64)


def _explained(
    model: _Model,
    tokenizer: Any,
    row: Mapping[str, str],
    methods: Sequence[str],
    name: str,
    seed: int,
) -> pl.DataFrame:
    """The scores of a text by each method, a row each."""
    import torch

    numbers = list(tokenizer(row["text"])["input_ids"])
    ids = torch.tensor(numbers, device=model.embedding.weight.device)
    special = torch.tensor(list(tokenizer.all_special_ids), device=ids.device)
    is_open = ~torch.isin(ids, special)
    if not is_open.any():
        raise InputError(
            "a text needs a token that is not special", found=f"none in the text {row['id']!r}"
        )
    vectors = model.embedding(ids)[None].detach()
    padding = model.embedding(torch.full_like(ids, tokenizer.pad_token_id)).detach()
    baseline = torch.where(is_open[:, None], padding, vectors)
    with torch.no_grad():
        answer = model.labels[int(model.outputs(vectors, ids)[0].argmax())]
    target = row.get("target", answer)
    if target not in model.labels:
        raise InputError(
            f"every target must be among the labels of the model, {first_cases(model.labels)}",
            found=target,
        )
    text = _Text(model, ids, model.labels.index(target), is_open, vectors, baseline)
    (key,) = unit_keys([f"{row['id']}\0{target}"], seed)
    told = {"id": row["id"], "target": target, "method": methods, "model": name, "seed": seed}
    if "target" in row:
        told["gold"] = True
    tokens = list(compress(tokenizer.convert_ids_to_tokens(numbers), is_open.tolist()))
    scores = [_scores(one, text, int(key >> np.uint64(1)), row["id"]) for one in methods]
    return pl.DataFrame(
        told
        | {"predicted": target == answer, "tokens": [tokens] * len(methods)}
        | {"scores": [one.tolist() for one in scores], "text": row["text"]}
    )


def _scores(method: str, text: _Text, seed: int, name: str) -> FloatArray:
    """One score a token that is not special."""
    tokens = int(text.open.sum())
    if method == LIME:
        return lime(text.masked, tokens, seed)
    if method == PARTITION_SHAP:
        return partition_shap(text.masked, tokens, seed)
    if method == OCCLUSION:
        outputs = text.masked(np.vstack([np.ones((1, tokens), bool), ~np.eye(tokens, dtype=bool)]))
        return np.asarray(outputs[0] - outputs[1:])
    scores = _gradients(method, text)
    if method == INTEGRATED:
        _refuse_gap(scores, text.masked(np.array([[True], [False]]).repeat(tokens, 1)), text, name)
    return scores


def _gradients(method: str, text: _Text) -> FloatArray:
    """Sums over the dimensions of the embedding, of gradients by the vectors."""
    import torch

    way = text.vectors - text.baseline
    if method in (GRADIENT, GRADIENT_X_INPUT):
        found = _gradient(text, text.vectors)
        found = found.abs() if method == GRADIENT else found * text.vectors
    else:
        places, weights = np.polynomial.legendre.leggauss(POINTS)
        shares, weight = (
            torch.from_numpy(of / 2).to(way)[:, None, None] for of in (places + 1, weights)
        )
        pieces = (torch.split(of, text.at_once) for of in (shares, weight))
        sums = [
            (of * _gradient(text, text.baseline + share * way)).sum(0, keepdim=True)
            for share, of in zip(*pieces, strict=True)
        ]
        found = torch.stack(sums).sum(0) * (way if method == INTEGRATED else 1)
    return np.asarray(found.sum(2)[0, text.open].double().cpu().numpy(), np.float64)


def _gradient(text: _Text, points: torch.Tensor) -> torch.Tensor:
    """The gradient of the label's output at points, of their shape (n, tokens, dimensions)."""
    import torch

    # cuDNN differentiates recurrent layers in training mode alone.
    recurrent = any(isinstance(part, torch.nn.RNNBase) for part in text.model.module.modules())
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=not recurrent):
        vectors = points.detach().requires_grad_(True)
        output = text.output(vectors).sum()
        if not output.requires_grad:
            raise InputError(
                "the output must be a differentiable function of the embedding",
                found="an output without a gradient",
                hint="methods that only take tokens away need none: occlusion, lime",
            )
        gradient: torch.Tensor = torch.autograd.grad(output, vectors)[0]
    return gradient


def _refuse_gap(scores: FloatArray, ends: FloatArray, text: _Text, name: str) -> None:
    """Refuse integrated gradients that do not sum to the output less that on the baseline."""
    import torch

    difference = ends[0] - ends[1]
    gap = abs(float(scores.sum() - difference))
    rounding = ROUNDINGS * torch.finfo(text.vectors.dtype).eps * float(np.abs(ends).max())
    whole = max(float(np.abs(scores).sum()), abs(difference))
    if gap > rounding and gap > GAP_LIMIT * whole:
        raise InputError(
            "integrated gradients must sum to the output on the text less that on its baseline, "
            f"within {GAP_LIMIT:.3g} of the sum of absolute scores",
            found=f"a gap of {gap / whole:.3g} for text {name!r} and target "
            f"{text.model.labels[text.column]!r}",
            hint="the output jumps along the path, and occlusion is the method to use",
        )
