"""What is written of representations is read again, in both formats alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.errors import InputError, OutputError, SchemaError
from fixtures.doors import Representations, read_representations, write_representations
from fixtures.made_up_encoders import symbolic
from fixtures.representation_files import SUFFIXES, representations, same, written


@given(one=representations())
def test_what_is_written_is_read_again_in_each_format(
    one: Representations, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("formats")
    for suffix in SUFFIXES:
        path = folder / f"file{suffix}"
        written(one, path)
        first = path.read_bytes()
        written(one, path)

        assert same(read_representations(path), one)
        assert path.read_bytes() == first


@given(data=st.data())
def test_numbers_that_are_not_finite_are_refused_with_their_place(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("wrong") / "file.npz"
    matrix = np.arange(6.0).reshape(3, 2)
    row, column = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 1))
    matrix[row, column] = data.draw(st.sampled_from([np.nan, np.inf, -np.inf]))
    np.savez(path, **{"layer:last": matrix}, labels=np.array(["a", "b", "b"]))
    with pytest.raises(SchemaError, match=f"in feature {column} of {row}"):
        read_representations(path)


def test_files_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="writable folder"):
        write_representations(symbolic(per_class=1), tmp_path / "file" / "x.npz")
    with pytest.raises(InputError, match="representations are written as"):
        write_representations(symbolic(per_class=1), tmp_path / "x.csv")
