"""Representations from NumPy archives and safetensors, by the suffix of a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from audit.analyses.concepts.arrays import AnyArray, read_tensors, texts_of
from audit.analyses.concepts.representations import LinearHead, Representations, representations_of
from audit.base.disk import written_whole
from audit.base.errors import FormatError, InputError, SchemaError, first_cases
from audit.base.files import first_bytes, refuse_pickle
from audit.base.stored_tables import arrays_in

LAYER = "layer:"
"""What the name of a layer begins with in a file."""
LAYERS = "layers"
"""The names of the layers in the order in which a model computes them, if not that of the file."""
COLUMNS = ("id", "labels", "prediction", "pair")
HEAD = ("head_weight", "head_bias", "head_classes")


def layer_names(
    names: Iterable[str], others: Iterable[str], what: str, where: object
) -> dict[str, str]:
    """The layers of a file: the name of each, and that of its array or column, in file order."""
    names, others = list(names), list(others)
    layers = {name.removeprefix(LAYER): name for name in names if name.startswith(LAYER)}
    unknown = [name for name in names if not name.startswith(LAYER) and name not in others]
    if unknown or not layers:
        raise SchemaError(
            f"the {what} must be a {LAYER}NAME for each layer and, beside them,"
            f" {', '.join(others)}",
            found=first_cases(unknown or names) if names else f"no {what}",
            where=where,
            hint="rename or drop the others" if layers else f"begin the name with {LAYER}",
        )
    return layers


def in_order(layers: dict[str, str], order: Iterable[str] | None, where: object) -> dict[str, str]:
    """The layers in a stated order, each once; SchemaError if it does not name just them."""
    if order is None:
        return layers
    stated = [name.removeprefix(LAYER) for name in order]
    if sorted(stated) != sorted(layers):
        raise SchemaError(
            f"{LAYERS} must name each layer once",
            found=f"{first_cases(stated)} for {first_cases(layers)}",
            where=where,
        )
    return {name: layers[name] for name in stated}


def read_archive(source: Path) -> Representations:
    """Read an ``.npz`` file: text is in arrays of text or of whole numbers.

    ``labels`` has a label per instance, or a row of them, where blanks fill the row.

    Raises:
        InputError: If it is no whole archive, or holds pickled objects.
        SchemaError: As `representations_of`, or if an array has another name or shape.
    """
    return _representations(_Archive(arrays_in(source, str(source)), {}, source))


def read_safetensors(source: Path) -> Representations:
    """Read a ``.safetensors`` file: text is in its metadata, as lists in JSON.

    A tensor of whole numbers may stand for such a list. ``labels`` is a list of labels, or of
    lists of them.

    Raises:
        InputError: As `audit.analyses.concepts.arrays.read_tensors`.
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
    source: Path

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


def _list(name: str, text: str, source: Path) -> list[Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, list):
        raise SchemaError(
            f"{name} among the metadata must be a list in JSON", found=f"{text!r:.40}", where=source
        )
    return value


READERS: Mapping[str, Callable[[Path], Representations]] = MappingProxyType(
    {".npz": read_archive, ".safetensors": read_safetensors}
)
"""What reads a file of each suffix."""


def read_representations(path: Path | str) -> Representations:
    """Read representations by layer, with labels and, if given, ids, predictions, pairs and head.

    A layer is called ``layer:NAME``; beside layers stand ``id``, ``labels``, ``prediction``,
    ``pair`` and, where the format has a place for it, ``head_weight``, ``head_bias`` and
    ``head_classes``. Layers are in the order of the file, or in that of ``layers``.

    Args:
        path: A NumPy archive (``.npz``) or ``.safetensors``.

    Raises:
        FormatError: If the file has another suffix.
        InputError: If it cannot be read whole, or holds pickled objects.
        SchemaError: If anything in it is not as `representations_of` requires.
    """
    source = Path(path)
    suffix = source.suffix.lower()
    if suffix not in READERS:
        refuse_pickle(source, first_bytes(source), "representations")
        raise FormatError(
            f"representations are read from {', '.join(READERS)}",
            found=f"the suffix {suffix!r}",
            where=source,
        )
    return READERS[suffix](source)


def write_representations(representations: Representations, path: Path | str) -> None:
    """Write representations as ``.npz``; read again they are the same, as are their bytes.

    Args:
        representations: What to write, with layers in single or double precision.
        path: The file. An existing one is replaced.

    Raises:
        InputError: If its suffix is another.
        OutputError: If the file cannot be written.
    """
    path = Path(path)
    if path.suffix.lower() != ".npz":
        raise InputError(
            "representations are written as .npz", found=f"the suffix {path.suffix!r}", where=path
        )
    lists = _lists(representations)
    rows = lists.pop("labels")
    labels = np.full((len(rows), max(1, *map(len, rows))), "", dtype=object)
    for place, row in enumerate(rows):
        labels[place, : len(row)] = row
    texts = {name: np.array([one or "" for one in values], str) for name, values in lists.items()}
    arrays = _arrays(representations) | {"labels": labels.astype(str)} | texts
    with written_whole(path) as begun, begun.open("wb") as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type]


def _arrays(representations: Representations) -> dict[str, AnyArray]:
    """Layers and the numbers of the head, as they lie in memory of small-endian machines."""
    head = representations.head
    arrays: dict[str, AnyArray] = {
        LAYER + name: matrix for name, matrix in representations.layers.items()
    }
    if head is not None:
        arrays |= dict(zip(HEAD, (head.weight, head.bias), strict=False))
    return {
        name: np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        for name, array in arrays.items()
    }


def _lists(representations: Representations) -> dict[str, list[Any]]:
    """The columns of instances that are not null throughout, and the classes of the head."""
    frame, head = representations.instances, representations.head
    given = [name for name in frame.columns if frame[name].null_count() < frame.height]
    classes = {} if head is None else {HEAD[-1]: list(head.classes)}
    return {name: frame[name].to_list() for name in given} | classes
