"""What every label format keeps to."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.errors import AuditError
from audit.data.formats import FORMATS, read_labels
from audit.data.label_format import INSTANCES, ROWS, Columns
from fixtures.broken import BROKEN, BrokenFile
from fixtures.examples import examples
from fixtures.label_files import OF_EVENTS, WRITERS, LabelWriter, Record, records_of

RECORDS = (
    Record("100001", ("0380", "V3000"), "7"),
    Record("100002", ("4019",), "7"),
    Record("0003", ("0380",), "08"),
)

each_writer = pytest.mark.parametrize("writer", WRITERS, ids=lambda w: f"{w.format}-{w.file}")

WITHOUT_IDS = {"npy"}
"""Formats that hold no ids, so that records do not come back; they have tests of their own."""

_PLAIN = st.characters(
    codec="utf-8", exclude_categories=["Cc", "Cs", "Zs", "Zl", "Zp"], exclude_characters="|;"
)
_WORD = st.text(_PLAIN, min_size=1, max_size=6)
_PHRASE = st.builds(" ".join, st.lists(_WORD, min_size=1, max_size=2))
_ID = _WORD.filter(lambda word: not set(word) & set(",{\ufeff"))
"""An id may come first in a file, where U+FEFF is no part of it but a mark of the byte order."""
_NAMED = {"INSTANCE", "GROUP", "NULL"}


def _records(writer: LabelWriter) -> st.SearchStrategy[list[Record]]:
    labels = st.lists(
        _PHRASE.filter(lambda label: label.upper() not in _NAMED and not {*writer.sign} & {*label}),
        min_size=0 if writer.keeps_empty else 1,
        max_size=4,
        unique=True,
    ).map(lambda drawn: tuple(sorted(drawn)))
    groups = st.none() | _WORD.filter(lambda word: word.upper() not in _NAMED)
    record = st.builds(
        Record,
        _ID.filter(lambda word: word.upper() not in _NAMED),
        labels,
        groups if writer.keeps_groups else st.none(),
    )
    several = st.lists(record, min_size=1, max_size=5, unique_by=lambda one: one.instance)
    return several.filter(lambda records: any(one.labels for one in records))


@each_writer
@given(data=st.data())
@examples(20)
def test_reads_what_was_written(
    writer: LabelWriter, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    records = data.draw(_records(writer))
    path = tmp_path_factory.mktemp("law") / writer.file
    writer.write(records, path)
    assert records_of(read_labels(path, writer.columns, writer.format)) == records


@each_writer
def test_tables_have_exactly_their_columns(writer: LabelWriter, tmp_path: Path) -> None:
    writer.write(RECORDS, tmp_path / writer.file)
    raw = read_labels(tmp_path / writer.file, writer.columns)
    assert raw.format == writer.format, "`matches` of one format alone may hold of its files"
    assert dict(raw.rows.schema) == ROWS
    assert dict(raw.instances.schema) == INSTANCES
    assert raw.instances["instance"].to_list() == ["100001", "100002", "0003"]
    assert raw.rows["refused"].null_count() == raw.rows.height == 4


@each_writer
def test_sources_are_the_files_that_were_read(writer: LabelWriter, tmp_path: Path) -> None:
    path = tmp_path / writer.file
    writer.write(RECORDS, path)
    raw = read_labels(path, writer.columns)
    assert set(raw.sources) == {found for found in (path, *path.rglob("*")) if found.is_file()}
    assert raw.persons is (writer.format in {"mimic3", "mimic4", "caml"})


def test_every_format_has_a_writer() -> None:
    written = {writer.format for writer in WRITERS} | WITHOUT_IDS | OF_EVENTS
    assert written == {known.name for known in FORMATS}, "see WRITERS of fixtures/label_files.py"


def told(path: Path, name: str | None) -> AuditError | None:
    """What the reader of a format says of a file that it refuses."""
    try:
        read_labels(path, Columns(), name)
    except AuditError as error:
        return error
    return None


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
def test_a_broken_file_is_told_with_its_path(broken: BrokenFile, tmp_path: Path) -> None:
    path = broken.write(tmp_path)
    for name in (None, *(one.name for one in FORMATS)):
        error = told(path, name)
        assert error is not None, f"{name or 'the format that is found'} must refuse it"
        assert str(path) in str(error), name
        assert error.exit_status == 2, name


READ_TOO = {("joined", "caml"), ("joined", "long")}
"""Formats, and others whose files are of their shape too when they are named: a joined table has a
row with labels in one cell, be it one label."""


@each_writer
def test_another_shape_is_refused_when_a_format_is_named(
    writer: LabelWriter, tmp_path: Path
) -> None:
    path = tmp_path / writer.file
    writer.write(RECORDS, path)
    for name in {one.name for one in FORMATS} - {writer.format}:
        if (name, writer.format) not in READ_TOO:
            said = str(told(path, name))
            assert str(path) in said, f"`read` of {name} must refuse it, or READ_TOO name the two"


@each_writer
def test_a_column_that_does_not_exist_is_told(writer: LabelWriter, tmp_path: Path) -> None:
    path = tmp_path / writer.file
    writer.write(RECORDS, path)
    for columns in (Columns(id="nope"), Columns(label="nope"), Columns(split="nope")):
        with pytest.raises(AuditError, match=r"nope|--(id|label|split)"):
            read_labels(path, columns, writer.format)
