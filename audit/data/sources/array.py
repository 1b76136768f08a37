"""An array of NumPy in memory, read as the file that it would be saved as."""

from __future__ import annotations

import hashlib
import io
from functools import cached_property
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from audit.base.errors import SchemaError
from audit.base.files import SNIFFED_BYTES
from audit.data.sources.source import Source


class Array(Source):
    """An array of numbers; a copy of it is made."""

    kind = "an array"

    def __init__(self, array: NDArray[Any]) -> None:
        super().__init__("array")
        if array.dtype.hasobject:
            raise SchemaError("an array of numbers is required", found=str(array.dtype))
        stream = io.BytesIO()
        np.save(stream, array, allow_pickle=False)
        self._saved = stream.getvalue()
        self.head = self._saved[:SNIFFED_BYTES]

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self._saved).hexdigest()

    @cached_property
    def size(self) -> int:
        return len(self._saved)

    def open(self) -> BinaryIO:
        return io.BytesIO(self._saved)
