"""What is written of representations is read again, in both formats alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.errors import SchemaError
from fixtures.doors import Representations, read_representations
from fixtures.representation_files import SUFFIXES, representations, same, write_representations


@given(one=representations())
def test_what_is_written_is_read_again_in_each_format(
    one: Representations, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for suffix in SUFFIXES:
        path = tmp_path_factory.mktemp("formats") / f"file{suffix}"
        write_representations(one, path)
        assert same(read_representations(path), one)


@given(data=st.data())
def test_numbers_that_are_not_finite_are_refused_with_their_place(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("wrong") / "file.npz"
    matrix = np.arange(6.0).reshape(3, 2)
    row, column = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 1))
    matrix[row, column] = data.draw(st.sampled_from([np.nan, np.inf, -np.inf]))
    held: dict[str, Any] = {"layer:last": matrix, "labels": np.array(["a", "b", "b"])}
    np.savez(path, **held)
    with pytest.raises(SchemaError, match=f"in feature {column} of {row}"):
        read_representations(path)
