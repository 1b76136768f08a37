"""Representations from a file, by its suffix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from audit.base.errors import FormatError
from audit.base.files import refuse_pickle
from audit.concepts.reading.archives import read_archive, read_safetensors
from audit.concepts.reading.tables import read_parquet
from audit.concepts.representations import Representations
from audit.data.sources import File, Source

READERS: Mapping[str, Callable[[Source], Representations]] = MappingProxyType(
    {".npz": read_archive, ".safetensors": read_safetensors, ".parquet": read_parquet}
)
"""What reads a file of each suffix."""


def read_representations(path: Path | str) -> Representations:
    """Read representations by layer, with labels and, if given, ids, predictions, pairs and head.

    A layer is called ``layer:NAME``; beside layers stand ``id``, ``labels``, ``prediction``,
    ``pair`` and, where the format has a place for it, ``head_weight``, ``head_bias`` and
    ``head_classes``. Layers are in the order of the file, or in that of ``layers``.

    Args:
        path: A NumPy archive (``.npz``), ``.safetensors`` or ``.parquet``.

    Raises:
        FormatError: If the file has another suffix.
        InputError: If it cannot be read whole, or holds pickled objects.
        SchemaError: If anything in it is not as `audit.concepts.reading.arrays.representations_of`
            requires.
    """
    source = File(Path(path))
    if source.suffix not in READERS:
        refuse_pickle(source.path, source.head, "representations")
        raise FormatError(
            f"representations are read from {', '.join(READERS)}",
            found=f"the suffix {source.suffix!r}",
            where=source,
        )
    return READERS[source.suffix](source)
