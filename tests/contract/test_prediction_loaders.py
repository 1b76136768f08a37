"""What every format of predictions keeps to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.errors import AuditError, FormatError, InputError
from audit.data.formats import PREDICTION_FORMATS, read_predictions
from audit.data.prediction_format import PredictionFormat, RawPredictions
from audit.data.scores import as_scores
from audit.data.sources import source_of
from fixtures.broken import BrokenFile
from fixtures.broken_predictions import BROKEN
from fixtures.examples import examples
from fixtures.prediction_files import WRITERS, PredictionWriter, Scored, cells_of

SCORED = Scored(
    ("7", "3", "11"),
    ("dog", "cow", "bird"),
    np.array([[0.25, 0.5, 0.25], [1, 0, 0], [0, 0.125, 0.875]]),
)
SETS = Scored(SCORED.instances, SCORED.classes, np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1.0]]))

each_writer = pytest.mark.parametrize(
    "writer", WRITERS, ids=lambda writer: f"{writer.format}-{writer.file}"
)
each_format = pytest.mark.parametrize("known", PREDICTION_FORMATS, ids=lambda known: known.name)

_WORD = st.text("abcdefgh", min_size=1, max_size=4)
_EIGHTHS = st.integers(0, 8).map(lambda n: n / 8)
_FLAGS = st.sampled_from([0.0, 1.0])


def written(writer: PredictionWriter, scored: Scored, path: Path) -> tuple[Path, Path | None]:
    """Write scores and, where the format has no place for them, the names of the classes."""
    if writer.needs:
        pytest.importorskip(writer.needs, reason=f"{writer.needs} is not installed")
    writer.write(scored, path)
    return path, writer.classes_beside(scored, path)


def read_back(writer: PredictionWriter, scored: Scored, path: Path) -> RawPredictions:
    return read_predictions(*written(writer, scored, path))


def numbered(writer: PredictionWriter, scored: Scored) -> Scored:
    """The scores as they come back: with row numbers for ids where the format has none."""
    if writer.keeps_ids:
        return scored
    rows = tuple(str(row) for row in range(len(scored.instances)))
    return replace(scored, instances=rows)


def told(known: PredictionFormat, path: Path) -> str | None:
    """What a reader says of a file that it refuses."""
    try:
        known.read(source_of(path), None)
    except AuditError as error:
        return str(error)
    return None


@st.composite
def scored_files(draw: st.DrawFn, set_valued: bool) -> Scored:
    instances = draw(st.lists(_WORD, min_size=1, max_size=4, unique=True))
    classes = draw(
        st.lists(_WORD.map(lambda word: f"n{word}"), min_size=1, max_size=4, unique=True)
    )
    row = st.lists(_FLAGS if set_valued else _EIGHTHS, min_size=len(classes), max_size=len(classes))
    rows = draw(st.lists(row, min_size=len(instances), max_size=len(instances)))
    return Scored(tuple(instances), tuple(classes), np.array(rows))


@each_writer
@given(data=st.data())
@examples(15)
def test_reads_what_was_written(
    writer: PredictionWriter, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    scored = data.draw(scored_files(writer.set_valued).filter(lambda one: one.scores.any()))
    path, classes = written(writer, scored, tmp_path_factory.mktemp("law") / writer.file)

    raw = read_predictions(path, classes, writer.format)

    assert cells_of(raw) == numbered(writer, scored).cells


@each_writer
def test_a_written_file_is_of_exactly_its_format(writer: PredictionWriter, tmp_path: Path) -> None:
    scored = SETS if writer.set_valued else SCORED
    raw = read_back(writer, scored, tmp_path / writer.file)

    source = source_of(tmp_path / writer.file)
    matching = [known.name for known in PREDICTION_FORMATS if known.matches(source)]
    assert matching == [writer.format]
    assert raw.instances == numbered(writer, scored).instances
    assert raw.classes == scored.classes
    assert raw.scores.shape == (3, 3)
    assert raw.scores.dtype == np.float64
    assert raw.set_valued is writer.set_valued


@each_writer
def test_sources_are_the_files_that_were_read(writer: PredictionWriter, tmp_path: Path) -> None:
    raw = read_back(writer, SETS if writer.set_valued else SCORED, tmp_path / writer.file)
    assert set(raw.sources) == {path for path in tmp_path.rglob("*") if path.is_file()}


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    "writer",
    [writer for writer in WRITERS if not writer.set_valued],
    ids=lambda writer: f"{writer.format}-{writer.file}",
)
def test_what_is_not_finite_is_refused(
    writer: PredictionWriter, number: float, tmp_path: Path
) -> None:
    scores = SCORED.scores.copy()
    scores[1, 2] = number
    broken = replace(SCORED, scores=scores)

    with pytest.raises(InputError, match=r"is not JSON|for bird of (3|1)'") as caught:
        as_scores(read_back(writer, broken, tmp_path / writer.file), None)

    assert str(tmp_path / writer.file) in str(caught.value)


def test_every_format_has_a_writer() -> None:
    assert {writer.format for writer in WRITERS} == {known.name for known in PREDICTION_FORMATS}


def test_every_format_has_broken_files() -> None:
    assert {format for format, _ in BROKEN} == {known.name for known in PREDICTION_FORMATS}


def test_formats_have_their_own_names_and_one_line() -> None:
    names = [known.name for known in PREDICTION_FORMATS]
    assert len(set(names)) == len(names)
    assert all(known.title and "\n" not in known.title for known in PREDICTION_FORMATS)


@pytest.mark.parametrize(("format", "broken"), BROKEN, ids=[f"{f}-{b.name}" for f, b in BROKEN])
def test_a_broken_file_is_told_with_its_path(
    format: str, broken: BrokenFile, tmp_path: Path
) -> None:
    path, classes = broken.write(tmp_path), tmp_path / "classes.txt"
    classes.write_text("dog\ncow\n")
    with pytest.raises(AuditError) as caught:
        read_predictions(path, classes, format)
    assert str(path) in str(caught.value)
    assert caught.value.exit_status == 2


@pytest.mark.parametrize("broken", [b for _, b in BROKEN], ids=[f"{f}-{b.name}" for f, b in BROKEN])
def test_no_reader_fails_on_what_is_meant_for_another(broken: BrokenFile, tmp_path: Path) -> None:
    path = broken.write(tmp_path)
    for known in PREDICTION_FORMATS:
        message = told(known, path)
        assert message is None or str(path) in message, known.name


@each_writer
def test_another_number_of_names_is_told_with_both(
    writer: PredictionWriter, tmp_path: Path
) -> None:
    if writer.keeps_classes:
        return
    path, _ = written(writer, SETS, tmp_path / writer.file)
    classes = tmp_path / "two.txt"
    classes.write_text("dog\ncow\n")
    with pytest.raises(AuditError, match=r"each of the 3 columns\nFound: 2 names in .*two\.txt"):
        read_predictions(path, classes)


@each_format
def test_nothing_there_and_a_folder_are_told(known: PredictionFormat, tmp_path: Path) -> None:
    for path, found in ((tmp_path / "nothing", "nothing there"), (tmp_path, "an empty folder")):
        with pytest.raises(InputError, match=found):
            read_predictions(path, None, known.name)


def test_an_unknown_format_is_told_with_all(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("instance,node,score\na,b,1\n")
    with pytest.raises(FormatError, match="none named 'excel'") as caught:
        read_predictions(path, None, "excel")
    assert all(
        f"\n  {known.name}: {known.title}" in caught.value.hint for known in PREDICTION_FORMATS
    )


def test_a_file_of_no_format_is_told(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("child,parent\na,b\n")
    with pytest.raises(FormatError, match="none that matches"):
        read_predictions(path)
