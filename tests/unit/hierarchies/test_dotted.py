"""Dotted paths: nodes, titles and assignability, and what is refused with its line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from audit.base.errors import FormatError, HierarchyError, SchemaError
from audit.hierarchies.formats.paths import DOTTED
from audit.hierarchies.reading import load_hierarchy
from fixtures.hierarchy_files import refused
from fixtures.written import written


def test_paths_and_their_prefixes(tmp_path: Path) -> None:
    text = "# groups, of news\n\nrec.sport.hockey\r\n  rec.sport \nsci\n"
    hierarchy = load_hierarchy(written(tmp_path / "classes.txt", text))

    assert hierarchy.nodes == ("(root)", "rec", "rec.sport", "rec.sport.hockey", "sci")
    assert hierarchy.titles == ("Root", "rec", "sport", "hockey", "sci")
    assert hierarchy.ancestors("rec.sport.hockey") == ("(root)", "rec", "rec.sport")
    assert hierarchy.assignable.tolist() == [False, False, True, True, True]


def test_a_path_may_be_repeated(tmp_path: Path) -> None:
    assert len(load_hierarchy(written(tmp_path / "classes.txt", "a.b\na.b\n"))) == 2


@pytest.mark.parametrize("path", ["a..b", ".a", "a.", "a. .b", "."])
def test_an_empty_part_is_refused_with_its_line(tmp_path: Path, path: str) -> None:
    with pytest.raises(SchemaError) as caught:
        load_hierarchy(written(tmp_path / "classes.txt", f"x.y\n\n{path}\n"), format="dotted")

    assert caught.value.where == f"{tmp_path / 'classes.txt'}:3"
    assert repr(path) in caught.value.found


def test_comments_alone_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "classes.txt", "# nothing\n")

    refused(path, FormatError)
    with pytest.raises(HierarchyError):
        load_hierarchy(path, format="dotted")


def test_text_of_another_kind_is_refused(tmp_path: Path) -> None:
    refused(written(tmp_path / "classes.txt", "Some prose. With sentences.\n"), FormatError)
    refused(written(tmp_path / "classes.txt", "no\ndots\n"), FormatError)


@pytest.mark.parametrize("name", ["x.txt", "X.TXT.gz", "x.dotted", "x"])
def test_format_is_found_by_suffix_and_dots(name: str) -> None:
    assert DOTTED.matches(Path(name), b"# a, b\nrec.sport\nsci\n")
    assert not DOTTED.matches(Path(name), b"rec.sport\tTitle\n")
    assert not DOTTED.matches(Path(name), b"[1.5]")


def test_other_suffixes_are_not_taken() -> None:
    assert not DOTTED.matches(Path("x.csv"), b"rec.sport\n")


@pytest.mark.skipif(
    "AUDIT_DATA" not in os.environ, reason="AUDIT_DATA names no folder of real data"
)
def test_real_newsgroups() -> None:
    hierarchy = load_hierarchy(Path(os.environ["AUDIT_DATA"]) / "softmax" / "20news_classes.txt")

    assert hierarchy.assignable.sum() == hierarchy.leaf.sum() == 20
    assert len(hierarchy) == 39
    assert hierarchy.parents("rec.sport.hockey") == ("rec.sport",)
