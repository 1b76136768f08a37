"""Files of class names."""

from __future__ import annotations

from pathlib import Path

import pytest

from audit.base.errors import InputError, SchemaError
from audit.data.class_names import classes_for, read_classes


def names(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "classes.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_line_is_a_name(tmp_path: Path) -> None:
    assert read_classes(names(tmp_path, "dog\r\n guinea pig \n0380\n\n")) == (
        "dog",
        "guinea pig",
        "0380",
    )


def test_a_blank_line_between_is_told_with_its_number(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"classes\.txt:2"):
        read_classes(names(tmp_path, "dog\n\ncow\n"))


def test_a_name_that_stands_twice_is_told(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="repeated: 'dog'"):
        read_classes(names(tmp_path, "dog\ncow\ndog\n"))


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="an empty file"):
        read_classes(names(tmp_path, "\n\n"))


def test_both_numbers_are_told(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"the 1,370 columns\nFound: 2 names in .*classes\.txt"):
        classes_for(1370, names(tmp_path, "dog\ncow\n"), Path("scores.npy"))


def test_no_file_is_told_with_the_option() -> None:
    with pytest.raises(SchemaError, match=r"scores\.npy(.|\n)*--classes"):
        classes_for(10, None, Path("scores.npy"))
