"""What every registered format owes: a name, an inverse, one match, clear refusals."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.errors import AuditError, FormatError
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.reading import FORMATS, load_hierarchy
from fixtures import hierarchy_files as files
from fixtures.examples import examples
from fixtures.strategies import dotted_trees, hierarchies
from fixtures.toy import toy


@dataclass(frozen=True)
class Written:
    """How a format is written, for which hierarchies, and what of them it can say."""

    format: str
    name: str
    write: Callable[[Hierarchy, Path], None]
    hierarchies: st.SearchStrategy[Hierarchy]
    example: Hierarchy
    sayable: Callable[[Hierarchy], Hierarchy] = lambda hierarchy: hierarchy


def dotted_example() -> Hierarchy:
    nodes = pl.DataFrame({"node": ["a", "a.b", "a.c"], "title": ["a", "b", "c"]})
    edges = pl.DataFrame({"child": ["a.b", "a.c"], "parent": ["a", "a"]})
    return Hierarchy.build(edges, nodes, name="dotted")


WRITTEN = (
    Written("edges", "h.csv", files.write_edges_csv, hierarchies(), toy()),
    Written("edges", "h.tsv", files.write_edges_csv, hierarchies(), toy()),
    Written("edges", "h.parquet", files.write_edges_parquet, hierarchies(), toy()),
    Written("obo", "h.obo", files.write_obo, hierarchies(), toy(), files.all_assignable),
    Written("obo", "h.txt", files.write_obo, hierarchies(), toy(), files.all_assignable),
    Written(
        "obographs", "h.json", files.write_obographs, hierarchies(), toy(), files.all_assignable
    ),
    *(
        Written("rdf", name, files.write_skos, hierarchies(), toy(), files.all_assignable)
        for name in ("h.ttl", "h.rdf", "h.nt", "h.json")
    ),
    Written("audioset", "h.json", files.write_audioset, hierarchies(), toy()),
    Written("tree", "h.json", files.write_tree, hierarchies(), toy()),
    Written("dotted", "h.txt", files.write_dotted, dotted_trees(), dotted_example()),
)
READ_ONLY = {
    "skos", "owl", "caml", "levels", "outline", "prefixes", "parents", "children", "paths",
    "adjacency", "codesystem", "meds",
}  # fmt: skip
"""Formats that have no writer; their readers are tested on text written by hand."""

each_written = pytest.mark.parametrize(
    "kind", WRITTEN, ids=lambda kind: f"{kind.format}-{kind.name}"
)
each_format = pytest.mark.parametrize("format", [known.name for known in FORMATS])
holds_for_any = pytest.mark.hypothesis
"""A law whose examples depend on the format is given inside of its test."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "broken"


def refused(path: Path, format: str | None = None) -> AuditError:
    with pytest.raises(AuditError) as caught:
        load_hierarchy(path, format=format)
    assert caught.value.exit_status == 2
    assert str(path) in str(caught.value)
    return caught.value


def read_or_refused(path: Path, format: str) -> None:
    """Read a file that may be broken; anything but a message that names it is raised on."""
    try:
        load_hierarchy(path, format=format)
    except AuditError as error:
        if str(path) not in str(error):
            raise


def test_every_format_is_known_by_one_name_and_a_title() -> None:
    names = [known.name for known in FORMATS]

    assert names == [
        "edges", "levels", "outline", "prefixes", "caml", "obo", "obographs", "rdf", "skos",
        "owl", "audioset", "tree", "parents", "children", "paths", "dotted", "adjacency", "meds",
        "codesystem",
    ]  # fmt: skip
    assert all(known.title and "\n" not in known.title for known in FORMATS)


def test_every_format_is_written_here_or_listed_as_read_only() -> None:
    assert {kind.format for kind in WRITTEN} | READ_ONLY == {known.name for known in FORMATS}


@holds_for_any
@each_written
def test_reading_inverts_writing_and_exactly_one_format_matches(kind: Written) -> None:
    @given(kind.hierarchies)
    @examples(25)
    def law_holds(hierarchy: Hierarchy) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / kind.name
            kind.write(hierarchy, path)
            back, head = load_hierarchy(path, format=kind.format), path.read_bytes()
            matching = [known.name for known in FORMATS if known.matches(path, head)]
        assert back.sha256 == kind.sayable(hierarchy).sha256
        assert back.repeated_edges == 0
        assert matching == [kind.format]

    law_holds()


@each_written
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_format_is_found_and_the_toy_comes_back(
    encoding: str, kind: Written, tmp_path: Path
) -> None:
    path = tmp_path / kind.name
    kind.write(kind.example, path)
    if path.suffix in (".csv", ".tsv", ".txt", ".json"):
        path.write_text(path.read_text("utf-8"), encoding)

    assert load_hierarchy(path).sha256 == kind.sayable(kind.example).sha256


@holds_for_any
@each_written
def test_any_damage_is_told_in_one_message(kind: Written, tmp_path: Path) -> None:
    path = tmp_path / kind.name
    kind.write(kind.example, path)
    whole = path.read_bytes()

    @given(st.integers(0, len(whole)), st.integers(0, 3), st.binary(max_size=4))
    def law_holds(start: int, cut: int, put: bytes) -> None:
        path.write_bytes(whole[:start] + put + whole[start + cut :])
        read_or_refused(path, kind.format)

    law_holds()


@holds_for_any
@each_format
def test_any_bytes_are_refused_or_read(format: str, path: Path) -> None:
    @given(st.binary(max_size=40) | st.text(max_size=20).map(str.encode))
    def law_holds(content: bytes) -> None:
        path.write_bytes(content)
        read_or_refused(path, format)

    law_holds()


@each_format
@pytest.mark.parametrize("content", [b"", b" \n\n"])
def test_an_empty_file_is_refused(format: str, content: bytes, path: Path) -> None:
    path.write_bytes(content)

    refused(path, format)


@each_format
def test_a_gzip_of_0_bytes_is_refused(format: str, tmp_path: Path) -> None:
    path = tmp_path / "h.gz"
    path.touch()

    assert "0 bytes" in str(refused(path, format))


@each_format
def test_half_a_gzip_is_refused(format: str, path: Path) -> None:
    noise = np.random.default_rng(0).integers(32, 127, 100_000, np.uint8).tobytes()
    path.write_bytes(gzip.compress(noise)[:60_000])

    refused(path, format)


@each_format
def test_other_encodings_are_refused(format: str, path: Path) -> None:
    path.write_bytes("é\n".encode("latin-1"))

    assert "UTF-8" in str(refused(path, format))


@each_format
@pytest.mark.parametrize(("name", "content"), [("h.pkl", b"a"), ("h.csv", b"\x80\x04K\x01.")])
def test_a_pickle_is_never_read(format: str, name: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)

    assert "pickled" in str(refused(path, format))


def test_what_is_not_there_is_refused(path: Path) -> None:
    refused(path)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    refused(tmp_path)


def test_no_match_lists_every_format(path: Path) -> None:
    path.write_text("just words\n")
    error = refused(path)

    assert isinstance(error, FormatError)
    assert all(f"{known.name}: {known.title}" in error.hint for known in FORMATS)


def test_an_unknown_format_is_refused(path: Path) -> None:
    path.write_text("child,parent\na,b\n")

    assert isinstance(refused(path, "yaml"), FormatError)


BROKEN = {
    "cycle.csv": "child,parent\na,b\nb,a\n",
    "cycle.obo": "[Term]\nid: a\nis_a: a\n",
    "cycle.json": '{"a": {"b": ["a"]}}',
    "cycle_audioset.json": '[{"id": "a", "child_ids": ["a"]}]',
    "undeclared.obo": "[Term]\nid: a\nis_a: b\n",
    "undeclared_graphs.json": '{"graphs": [{"nodes": [{"id": "a"}], "edges": '
    '[{"sub": "a", "pred": "is_a", "obj": "b"}]}]}',
    "graphs.json": '{"graphs": [{"nodes": [{"id": "a", "meta": []}, {"id": 3}]}]}',
    "edgeless.json": '{"graphs": [{"nodes": [{"id": "a"}], "edges": [{"sub": "a"}]}]}',
    "obsolete.csv": "child,parent,obsolete\na,,true\nb,a,\n",
    "undeclared.json": '[{"id": "a", "child_ids": ["b"]}]',
    "syntax.ttl": "@prefix a: <http://a/> .\na:b a:c\n",
    "cycle.ttl": "@prefix s: <http://www.w3.org/2004/02/skos/core#> .\n"
    "<a> s:broader <b> . <a> s:narrower <b> .",
    "nothing.nt": '<http://a/b> <http://a/c> "d" .\n',
    "functional.owl": "Prefix(:=<http://a/>)\nOntology(<http://a/>)\n",
    "malformed.json": '{"a":\n[}',
    "columns.csv": "kid,mother\na,b\n",
    "blank.csv": "child,parent\n,b\n",
    "part.txt": "a..b\n",
}


@pytest.mark.parametrize(("name", "text"), BROKEN.items(), ids=list(BROKEN))
def test_broken_files_are_refused(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)

    refused(path)
