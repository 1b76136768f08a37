"""JSON lines: labels are lists, numbers stay as written, and a fault is told with its line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from audit.base.errors import FormatError, InputError, SchemaError
from audit.data.formats import read_labels
from audit.data.label_format import Columns
from audit.data.label_formats.jsonl import FORMAT
from audit.data.sources import source_of


def written(folder: Path, *lines: str) -> Path:
    path = folder / "labels.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_values_become_text_as_they_are_written(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        '{"clip": 0, "labels": ["038.0", 250.10, 7, " x ", null, ""]}',
        "",
        '{"clip": 12345678901234567890, "labels": null}',
        '{"labels": [], "clip": "007"}\r',
        '{"clip": 0, "labels": ["more"]}',
    )
    raw = read_labels(path, Columns(id="clip"))
    assert raw.format == "jsonl"
    assert raw.rows["label"].to_list() == ["038.0", "250.10", "7", "x", None, None, "more"]
    assert raw.rows["instance"].unique().to_list() == ["0"]
    assert raw.instances["instance"].to_list() == ["0", "12345678901234567890", "007"]


def test_gzip_and_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl.gz"
    path.write_bytes(gzip.compress(b'\xef\xbb\xbf{"id": 1, "labels": ["a"]}\n', mtime=0))
    assert read_labels(path, Columns()).rows["label"].to_list() == ["a"]


def test_named_keys(tmp_path: Path) -> None:
    path = written(tmp_path, '{"a": 1, "b": 2, "codes": ["x"], "site": "S", "fold": 3}')
    raw = read_labels(path, Columns("b", "codes", "site", "fold"))
    assert raw.rows.select("instance", "label").rows() == [("2", "x")]
    assert raw.instances.rows() == [("2", "S", "3")]


def test_keys_that_hold_more_than_a_value_are_no_ids(tmp_path: Path) -> None:
    path = written(tmp_path, '{"clip": 1, "labels": ["a"], "meta": {"x": 1}, "tags": []}')
    assert read_labels(path, Columns()).instances["instance"].to_list() == ["1"]


def test_a_usual_name_goes_before_others(tmp_path: Path) -> None:
    path = written(tmp_path, '{"clip": 1, "HADM_ID": 2, "labels": ["a"]}')
    assert read_labels(path, Columns()).instances["instance"].to_list() == ["2"]


def test_a_line_without_an_id_is_a_bad_row(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        '{"id": 1, "labels": ["a"]}',
        '{"labels": ["b", "c"]}',
        '{"id": " ", "labels": []}',
    )
    raw = read_labels(path, Columns())
    assert raw.rows["refused"].to_list() == [None, "bad_row", "bad_row", "bad_row"]
    assert raw.instances["instance"].to_list() == ["1"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": 2, "labels": [', "a JSON object"),
        ('["a"]', r"a JSON object\nFound: \[\"a\"\]"),
        ('{"id": 2, "labels": [NaN]}', "NaN is not JSON"),
        ("[" * 100_000, "a JSON object"),
        ('{"id": 2}', "must have the key 'labels'"),
        ('{"id": 2, "labels": "a"}', "'labels' must hold a list"),
        ('{"id": 2, "labels": {"a": 0.5}}', "'labels' must hold a list"),
        ('{"id": 2, "labels": [true]}', "a label must be text or a number\nFound: true"),
        ('{"id": 2, "labels": [["a"]]}', "a label must be text or a number"),
        ('{"id": {}, "labels": ["a"]}', "'id' must hold text or a number"),
    ],
)
def test_a_broken_line_is_told_with_its_number(tmp_path: Path, line: str, message: str) -> None:
    path = written(tmp_path, '{"id": 1, "labels": ["a"]}', line)
    with pytest.raises(InputError, match=message) as caught:
        read_labels(path, Columns(id="id"))
    assert caught.value.where == f"{path}:2"


def test_half_a_character_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, '{"id": 1, "labels": ["\\ud800"]}')
    with pytest.raises(InputError, match="half a character"):
        read_labels(path, Columns())


def test_several_candidates_are_listed(tmp_path: Path) -> None:
    path = written(tmp_path, '{"clip": 1, "site": 2, "labels": []}')
    with pytest.raises(SchemaError, match=r"candidates 'clip', 'site'\nHint: name it with --id"):
        read_labels(path, Columns())


def test_the_keys_are_told_where_there_are_no_labels(tmp_path: Path) -> None:
    path = written(tmp_path, '{"clip": 1, "codes": []}')
    with pytest.raises(SchemaError, match=r"Found: .*'clip', 'codes'\nHint: .*--label"):
        read_labels(path, Columns())


@pytest.mark.parametrize("letters", [58, 59])
def test_a_long_value_is_told_by_its_beginning(tmp_path: Path, letters: int) -> None:
    """Sixty characters of it, quotes included."""
    line = f'"{"a" * letters}"'
    with pytest.raises(InputError) as caught:
        read_labels(written(tmp_path, line), Columns(), "jsonl")
    assert caught.value.found == (line if len(line) == 60 else f"{line[:60]}...")


@pytest.mark.parametrize("name", ["a.txt", "a.csv"])
def test_a_brace_alone_makes_no_lines_of_objects(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("{a}\n{b}\n")
    with pytest.raises(FormatError, match="none that matches"):
        read_labels(path, Columns())


@pytest.mark.parametrize("at_once", [1, 2, 3, 5])
def test_batches_of_any_size_are_the_lines(tmp_path: Path, at_once: int) -> None:
    lines = [f'{{"id": {n}, "labels": ["a{n}"]}}' for n in range(4)]
    source = source_of(written(tmp_path, *lines))

    assert FORMAT.choose
    chosen = FORMAT.choose(source, Columns(), source)
    frames = list(chosen.frames(source, chosen, at_once))

    assert not any(frame.is_empty() for frame in frames)
    rows = [row for frame in frames for row in frame.rows()]
    assert rows == [(str(n), [f"a{n}"]) for n in range(4)]


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.json", "a.txt"])
def test_lines_of_objects_are_known_whatever_the_suffix(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text('{"id": 1, "labels": ["a"]}\n{"id": 2, "labels": []}\n')
    raw = read_labels(path, Columns())
    assert raw.format == "jsonl"
    assert raw.instances["instance"].to_list() == ["1", "2"]


@pytest.mark.parametrize("label", [None, "labels", "codes"])
def test_keys_are_found_before_lines_are_counted(tmp_path: Path, label: str | None) -> None:
    source = source_of(written(tmp_path, '{"stay": 1, "labels": ["a"], "codes": ["b"]}'))
    assert FORMAT.choose
    chosen = FORMAT.choose(source, Columns(label=label), source)
    assert (chosen.id, chosen.labels) == ("stay", (label or "labels",))


def test_keys_of_groups_are_handed_on_as_columns_of_tables_are(tmp_path: Path) -> None:
    lines = [
        f'{{"id": {n}, "labels": ["a"], "who": "p{n // 3}", "text": "{n}"}}' for n in range(99)
    ]
    path = written(tmp_path, *lines)
    rows = "".join(f"{n},a,p{n // 3},{n}\n" for n in range(99))
    table = tmp_path / "labels.csv"
    table.write_text(f"id,label,who,text\n{rows}")

    assert read_labels(path, Columns(id="id")).unnamed.columns[1:] == ["who"]
    assert read_labels(table, Columns(id="id", label="label")).unnamed.columns[1:] == ["who"]
    assert read_labels(path, Columns(id="id", group="who")).unnamed.columns[1:] == []
