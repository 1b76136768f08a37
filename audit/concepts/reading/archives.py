"""Representations from NumPy archives and from safetensors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from audit.base.errors import SchemaError, first_cases
from audit.concepts.reading.arrays import representations_of
from audit.concepts.reading.names import COLUMNS, HEAD, LAYERS, in_order, layer_names
from audit.concepts.representations import LinearHead, Representations
from audit.data.label_formats.arrays import AnyArray, read_npz, texts_of
from audit.data.sources import Source
from audit.data.tensors import read_tensors


def read_archive(source: Source) -> Representations:
    """Read an ``.npz`` file: text is in arrays of text or of whole numbers.

    ``labels`` has a label per instance, or a row of them, where blanks fill the row.

    Raises:
        InputError: As `audit.data.label_formats.arrays.read_npz`.
        SchemaError: As `audit.concepts.reading.arrays.representations_of`, or if an array has
            another name or shape.
    """
    return _representations(_Archive(read_npz(source), {}, source))


def read_safetensors(source: Source) -> Representations:
    """Read a ``.safetensors`` file: text is in its metadata, as lists in JSON.

    A tensor of whole numbers may stand for such a list. ``labels`` is a list of labels, or of
    lists of them.

    Raises:
        InputError: As `audit.data.tensors.read_tensors`.
        SchemaError: As `read_archive`, or if a tensor has a type that is not read.
    """
    tensors = read_tensors(source)
    if tensors.unread:
        raise SchemaError(
            "tensors must be of a type that is read: F64, F32, F16, BF16, I64, I32, U8 or BOOL",
            found=first_cases(tensors.unread),
            where=source,
        )
    known = (*COLUMNS, LAYERS, "head_classes")
    lists = {
        name: _list(name, text, source) for name, text in tensors.metadata.items() if name in known
    }
    return _representations(_Archive(tensors.arrays, lists, source))


@dataclass(frozen=True, eq=False)
class _Archive:
    """Named arrays, and lists that stand for some of them."""

    arrays: Mapping[str, AnyArray]
    lists: Mapping[str, list[Any]]
    source: Source

    def texts(self, name: str) -> list[str | None] | None:
        """A text or whole number per instance, None where it is blank; None if not there."""
        if name in self.lists:
            return [self._text(name, value) for value in self.lists[name]]
        if name in self.arrays:
            return [text or None for text in texts_of(self.arrays[name], name, self.source)]
        return None

    def labels(self) -> list[list[str]]:
        """The labels of each instance."""
        array = self.arrays.get("labels")
        if "labels" in self.lists or (array is not None and array.ndim != 2):
            values = self.lists.get("labels") or self.texts("labels") or []
            rows = [value if isinstance(value, list) else [value] for value in values]
            texts = [[self._text("labels", label) for label in row] for row in rows]
        elif array is not None:
            flat = texts_of(array.reshape(-1), "labels", self.source)
            texts = np.array(flat, dtype=object).reshape(array.shape).tolist()
        else:
            raise SchemaError(
                "the labels of the instances are required as labels",
                found=f"the arrays {first_cases(self.arrays)}",
                where=self.source,
            )
        return [[text for text in row if text] for row in texts]

    def head(self) -> LinearHead | None:
        """The linear head; None if nothing of it is there."""
        classes = self.texts("head_classes")
        weight, bias = (self.arrays.get(name) for name in HEAD[:2])
        if classes is None and weight is None and bias is None:
            return None
        numbers = [part for part in (weight, bias) if part is not None and part.dtype.kind == "f"]
        if classes is None or None in classes or len(numbers) < 2:
            raise SchemaError(
                f"a head must have {', '.join(HEAD)}, of floating-point numbers and of names",
                found="one that is missing, blank or of another type",
                where=self.source,
            )
        names = tuple(name for name in classes if name is not None)
        return LinearHead(names, *(np.asarray(part, np.float64) for part in numbers))

    def _text(self, name: str, value: Any) -> str | None:
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            raise SchemaError(
                f"{name} must be a list of texts or whole numbers",
                found=f"{value!r:.40}",
                where=self.source,
            )
        text = str(value).strip()
        if not text.isascii() and any("\ud800" <= one <= "\udfff" for one in text):
            raise SchemaError(f"{name} must be Unicode", found=f"{text!r:.40}", where=self.source)
        return text or None


def _representations(archive: _Archive) -> Representations:
    source = archive.source
    layers = layer_names(archive.arrays, (*COLUMNS, LAYERS, *HEAD), "arrays", source)
    order: Sequence[str | None] | None = archive.texts(LAYERS)
    ordered = in_order(layers, None if order is None else [one or "" for one in order], source)
    return representations_of(
        {name: archive.arrays[key] for name, key in ordered.items()},
        archive.labels(),
        ids=archive.texts("id"),
        predictions=archive.texts("prediction"),
        pairs=archive.texts("pair"),
        head=archive.head(),
        where=source,
    )


def _list(name: str, text: str, source: Source) -> list[Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, list):
        raise SchemaError(
            f"{name} among the metadata must be a list in JSON", found=f"{text!r:.40}", where=source
        )
    return value
