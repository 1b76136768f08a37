"""What every format reads alike from a path, a folder of parts and a frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import audit
from audit.base.errors import AuditError, FormatError, InputError, SchemaError
from audit.counting.counts import PairCount
from audit.counting.file import count_pairs
from audit.data.dataset import LabelDataset
from audit.data.formats import FORMATS, read_labels, read_predictions
from audit.data.label_format import RawLabels
from audit.data.sources import Frame, source_of
from fixtures.label_files import WRITERS, LabelWriter, Record
from fixtures.prediction_files import WRITERS as PREDICTION_WRITERS
from fixtures.prediction_files import PredictionWriter, Scored, cells_of

RECORDS = tuple(
    Record(f"{number:04d}", labels, f"g{number % 3}")
    for number, labels in enumerate([("0380", "V3000"), ("4019",), ("0380",), ("25000", "4019")])
)
TABLES = [writer for writer in WRITERS if writer.is_table]

each_writer = pytest.mark.parametrize("writer", WRITERS, ids=lambda w: f"{w.format}-{w.file}")
each_table = pytest.mark.parametrize("writer", TABLES, ids=lambda w: f"{w.format}-{w.file}")


def only_file(written: Path) -> Path:
    return next(path for path in (written, *written.rglob("*")) if path.is_file())


def frame_in(file: Path) -> pl.DataFrame:
    return source_of(file).table()


def in_parts(writer: LabelWriter, cuts: Sequence[int], to: Path) -> tuple[Path, Path]:
    """The records as one file, and its rows in a folder of files, cut after so many."""
    whole, folder = to / "whole" / writer.file, to / "diagnoses_parts"
    whole.parent.mkdir(parents=True)
    folder.mkdir()
    writer.write(RECORDS, whole)
    file = only_file(whole)
    suffix = file.suffix.replace(".gz", ".csv")
    rows = frame_in(file) if writer in TABLES else file.read_text().splitlines(keepends=True)
    ends = sorted({0, *cuts, len(rows)})
    for number, (first, stop) in enumerate(pairwise(ends)):
        part, some = folder / f"part-{number:02d}{suffix}", rows[first:stop]
        if isinstance(some, list):
            part.write_text("".join(some))
        elif suffix == ".parquet":
            some.write_parquet(part)
        else:
            some.write_csv(part)
    (folder / "_SUCCESS").touch()
    return whole, folder


def assert_same_labels(one: RawLabels, other: RawLabels) -> None:
    assert one.rows.equals(other.rows)
    assert one.instances.equals(other.instances)
    assert one.places.equals(other.places)
    assert one.unnamed.equals(other.unnamed)
    assert (one.format, one.persons) == (other.format, other.persons)


CUTS = ([], [1], [2], [1, 2, 3])


@each_writer
def test_partitioning_never_changes_labels(writer: LabelWriter, tmp_path: Path) -> None:
    for cuts in CUTS:
        whole, folder = in_parts(writer, cuts, tmp_path / str(cuts))

        parts = read_labels(folder, writer.columns)

        assert_same_labels(parts, read_labels(whole, writer.columns))
        assert parts.sources == tuple(sorted(folder.glob("part-*")))


@each_table
def test_a_frame_has_the_labels_of_its_file(writer: LabelWriter, tmp_path: Path) -> None:
    path = tmp_path / writer.file
    writer.write(RECORDS, path)
    read = read_labels(path, writer.columns)
    raw = read_labels(frame_in(only_file(path)), writer.columns)

    told_by_file_name = {"mimic3": ["table"]}.get(writer.format, [])
    assert raw.rows.drop(told_by_file_name).equals(read.rows.drop(told_by_file_name))
    assert raw.instances.equals(read.instances)
    assert raw.format == writer.format
    assert raw.sources == ()
    assert raw.digest


LONG = {"instance": ["1", "1", "2"], "label": ["dog", "cow", "dog"], "group": ["a", "a", None]}


def lazy(columns: Mapping[str, Any]) -> Any:
    return pl.LazyFrame(columns)


def of_pandas(columns: Mapping[str, Any]) -> Any:
    return pytest.importorskip("pandas").DataFrame(columns)


def indexed(columns: Mapping[str, Any]) -> Any:
    return of_pandas(columns).set_index("instance")


def of_arrow(columns: Mapping[str, Any]) -> Any:
    import pyarrow as pa

    return pa.table(columns)


FRAMES: tuple[Callable[[Mapping[str, Any]], Any], ...] = (
    dict,
    pl.DataFrame,
    lazy,
    of_pandas,
    indexed,
    of_arrow,
)
each_frame = pytest.mark.parametrize("made", FRAMES, ids=lambda made: made.__name__)


@each_frame
def test_labels_and_predictions_of_a_frame(
    made: Callable[[Mapping[str, Any]], Any], toy_hierarchy: audit.Hierarchy, tmp_path: Path
) -> None:
    pl.DataFrame(LONG).write_csv(tmp_path / "labels.csv")
    scores = {"instance": ["1", "2"], "node": ["dog", "cow"], "score": [0.5, 1.0]}
    pl.DataFrame(scores).write_csv(tmp_path / "scores.csv")
    labels = audit.load_labels(made(LONG), toy_hierarchy, group="group")
    of_file = audit.load_labels(tmp_path / "labels.csv", toy_hierarchy, group="group")

    assert labels.assertions.equals(of_file.assertions)
    assert labels.instances.equals(of_file.instances)
    assert labels.ledger == of_file.ledger
    assert labels.digest == audit.load_labels(LONG, toy_hierarchy, group="group").digest
    predicted = audit.load_predictions(made(scores), labels)
    wanted = audit.load_predictions(tmp_path / "scores.csv", of_file)
    assert (predicted.scores != wanted.scores).nnz == 0
    assert predicted.instances == wanted.instances
    assert predicted.sources == ()


def test_an_audit_of_a_frame_is_known_by_its_digest(toy_hierarchy: audit.Hierarchy) -> None:
    first, again = (audit.run_audit(audit.load_labels(LONG, toy_hierarchy)) for _ in range(2))
    other = audit.run_audit(audit.load_labels({**LONG, "group": ["b", "b", None]}, toy_hierarchy))

    assert first.data_sha256 == again.data_sha256 != other.data_sha256
    assert first.inputs == ()


@each_frame
@pytest.mark.parametrize("label", [[380, 4019, 380], [[380], [4019, 1], [380]], [1.5, 2.0, 3.0]])
def test_labels_that_are_numbers_are_refused_for_their_zeros(
    made: Callable[[Mapping[str, Any]], Any], toy_hierarchy: audit.Hierarchy, label: list[Any]
) -> None:
    name = "labels" if isinstance(label[0], list) else "label"
    with pytest.raises(SchemaError, match="lost leading zeros"):
        audit.load_labels(made({"instance": ["1", "2", "3"], name: label}), toy_hierarchy)


def test_nodes_of_predictions_that_are_numbers_are_refused(toy_hierarchy: audit.Hierarchy) -> None:
    labels = audit.load_labels(LONG, toy_hierarchy)
    with pytest.raises(SchemaError, match="'node' must be text"):
        audit.load_predictions({"instance": ["1"], "node": [38], "score": [0.5]}, labels)


def test_ids_are_text_or_whole_numbers(toy_hierarchy: audit.Hierarchy) -> None:
    whole = audit.load_labels({**LONG, "instance": [1, 1, 2]}, toy_hierarchy)
    assert whole.instances["instance"].to_list() == ["1", "2"]
    with pytest.raises(SchemaError, match="'instance' must be text or whole numbers"):
        audit.load_labels({**LONG, "instance": [1.0, 1.0, 2.5]}, toy_hierarchy)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (7, "a path, a frame"),
        ([7], "must be text: as numbers"),
        ({"instance": ["1"], "label": ["a", "b"]}, "a frame of named columns"),
        ({"instance": ["1", 2], "label": ["a", "b"]}, "a frame of named columns"),
        ({"instance": ["1"], "label": [object()]}, "objects of Python in 'label'"),
        ({"instance": [], "label": []}, "a dataset with rows"),
        ({"a": ["1"], "b": ["x"]}, "exactly one format must match"),
    ],
)
def test_what_is_no_frame_of_labels_is_refused(
    data: object, told: str, toy_hierarchy: audit.Hierarchy
) -> None:
    with pytest.raises(AuditError, match=told):
        audit.load_labels(data, toy_hierarchy)


@pytest.mark.parametrize("format", ["jsonl", "grouped", "psv", "npy"])
def test_formats_of_files_refuse_a_frame(format: str, toy_hierarchy: audit.Hierarchy) -> None:
    with pytest.raises(InputError, match=r"data frame(.|\n)*Found: (a data frame|an empty file)"):
        audit.load_labels(LONG, toy_hierarchy, format=format)


@pytest.mark.parametrize(("text", "found"), [("[]\n", "list"), ("{}", "object"), ("", "file")])
def test_a_file_of_nothing_is_said_to_be_empty(
    text: str, found: str, tmp_path: Path, toy_hierarchy: audit.Hierarchy
) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(InputError, match=f"an empty {found}"):
        audit.load_labels(tmp_path / "a.json", toy_hierarchy)


# --- folders ----------------------------------------------------------------------------------


def parts(folder: Path, *texts: str, suffix: str = ".csv") -> Path:
    folder.mkdir()
    for number, text in enumerate(texts):
        (folder / f"part-{number}{suffix}").write_text(text)
    return folder


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ("instance,label,site\n2,cow,x\n", "further 'site'"),
        ("label,instance\ncow,2\n", "the columns in another order"),
        ("instance,Label\n2,cow\n", "lacking 'label'; further 'Label'"),
    ],
)
@pytest.mark.parametrize("format", [None, "long"])
def test_a_part_with_other_columns_is_named(
    tmp_path: Path, toy_hierarchy: audit.Hierarchy, other: str, told: str, format: str | None
) -> None:
    folder = parts(tmp_path / "rows", "instance,label\n1,dog\n", "instance,label\n3,dog\n", other)
    with pytest.raises(SchemaError, match=r"must have the columns of .*part-0\.csv") as caught:
        audit.load_labels(folder, toy_hierarchy, format=format)
    assert caught.value.where == str(folder / "part-2.csv")
    assert caught.value.found == told


def test_a_part_with_other_types_is_named(tmp_path: Path, toy_hierarchy: audit.Hierarchy) -> None:
    for number, id in enumerate(["1", 2]):
        frame = pl.DataFrame({"instance": [id], "label": ["dog"]})
        frame.write_parquet(tmp_path / f"{number}.parquet")
    with pytest.raises(SchemaError) as caught:
        audit.load_labels(tmp_path, toy_hierarchy)
    assert caught.value.where == str(tmp_path / "1.parquet")
    assert caught.value.found == "of another type 'instance: Int64, not String'"


def test_a_part_of_no_format_leaves_the_others_listed(
    tmp_path: Path, toy_hierarchy: audit.Hierarchy
) -> None:
    folder = parts(tmp_path / "rows", "instance,label\n1,dog\n", "child,parent\na,b\n")
    told = r"part-0.csv \(long\).*part-1.csv has other columns than .*part-0.csv: 'child', 'parent'"
    with pytest.raises(FormatError, match=f"{told}(.|\n)*all its files are of one"):
        audit.load_labels(folder, toy_hierarchy)


def test_of_parts_of_no_format_the_one_that_differs_is_named(
    tmp_path: Path, toy_hierarchy: audit.Hierarchy
) -> None:
    folder = parts(tmp_path / "rows", "x,y\n1,2\n", "x,y\n3,4\n", "x,z\n1,2\n")
    with pytest.raises(SchemaError, match=r"part-2\.csv: .*\nFound: lacking 'y'; further 'z'"):
        audit.load_labels(folder, toy_hierarchy)


@pytest.mark.parametrize("beside", ["notes.txt", "year=2020"])
def test_a_folder_with_other_things_is_no_table(
    tmp_path: Path, toy_hierarchy: audit.Hierarchy, beside: str
) -> None:
    folder = parts(tmp_path / "rows", "instance,label\n1,dog\n")
    (folder / beside).mkdir() if "=" in beside else (folder / beside).write_text("a")
    with pytest.raises(InputError, match=f"the parts of one table, is required\nFound: .*{beside}"):
        audit.load_labels(folder, toy_hierarchy, format="long")


def test_a_fault_is_told_with_the_part_and_its_line(
    tmp_path: Path, toy_hierarchy: audit.Hierarchy
) -> None:
    wide = parts(tmp_path / "wide", "id,dog,cow\n1,0,1\n", "id,dog,cow\n2,1,1\n3,1,x\n")
    with pytest.raises(SchemaError) as caught:
        audit.load_labels(wide, toy_hierarchy, format="wide")
    assert caught.value.where == f"{wide / 'part-1.csv'}:3"
    lines = parts(tmp_path / "l", '{"id": 1, "labels": []}\n', '\n{"id": 2}\n', suffix=".jsonl")
    with pytest.raises(SchemaError) as caught:
        audit.load_labels(lines, toy_hierarchy)
    assert caught.value.where == f"{lines / 'part-1.jsonl'}:2"


SCORED = Scored(("7", "3", "11"), ("dog", "cow", "bird"), pl.DataFrame([[1, 0, 1]] * 3).to_numpy())
LISTED = [writer for writer in PREDICTION_WRITERS if writer.keeps_ids and writer.keeps_classes]


@pytest.mark.parametrize(
    "writer",
    [writer for writer in LISTED if writer.format in {"long", "jsonl", "psv", "grouped", "caml"}],
    ids=lambda writer: f"{writer.format}-{writer.file}",
)
def test_partitioning_never_changes_predictions(writer: PredictionWriter, tmp_path: Path) -> None:
    folder, whole = tmp_path / "parts", tmp_path / writer.file
    folder.mkdir()
    writer.write(SCORED, whole)
    for row, instance in enumerate(SCORED.instances):
        alone = Scored((instance,), SCORED.classes, SCORED.scores[row : row + 1])
        writer.write(alone, folder / f"part-{row}{whole.suffix}")

    raw = read_predictions(folder)

    assert cells_of(raw) == cells_of(read_predictions(whole))
    assert raw.sources == tuple(sorted(folder.iterdir()))


# --- in batches -------------------------------------------------------------------------------

ANNOTATIONS = {"gaf", "gpad", "gpad2", "hpoa", "openimages", "fsd50k"}
COUNTED = {known.name for known in FORMATS if known.choose}


def test_formats_say_which_give_batches() -> None:
    told = {"long", "joined", "several", "jsonl", "meds", "fhir", "omop", *ANNOTATIONS}
    assert told == COUNTED, "name a format with `choose` here"


@pytest.fixture
def codes(tmp_path: Path) -> audit.Hierarchy:
    edges = tmp_path / "edges.csv"
    edges.write_text("child,parent\n0380,a\nV3000,a\n4019,b\na,root\nb,root\n")
    return audit.load_hierarchy(edges)


def same_count(one: PairCount, other: PairCount) -> bool:
    lengths = one.record_frame.equals(other.record_frame)
    return lengths and one.ledger == other.ledger and one.labels.counts.equals(other.labels.counts)


@pytest.mark.parametrize(
    "writer",
    [writer for writer in WRITERS if writer.format in COUNTED],
    ids=lambda w: f"{w.format}-{w.file}",
)
@pytest.mark.parametrize(("cuts", "sort"), [([1], True), ([1, 2, 3], False)])
def test_partitioning_never_changes_counts(
    writer: LabelWriter, cuts: list[int], sort: bool, codes: audit.Hierarchy, tmp_path: Path
) -> None:
    whole, folder = in_parts(writer, cuts, tmp_path)
    lists = writer.format == "jsonl" or writer.file.startswith("lists")
    others = {"joined": "codes", "several": "DX#"}
    named = {
        "instance": "id" if writer.format == "jsonl" else "instance",
        "label": others.get(writer.format, "labels" if lists else "label"),
    }
    named, sort = ({}, False) if writer.format in ANNOTATIONS else (named, sort)
    counts = [count_pairs(data, codes, batch=2, sort=sort, **named) for data in (whole, folder)]
    if writer.format == "long":
        counts.append(count_pairs(frame_in(whole), codes, batch=2, sort=sort, **named))

    assert all(same_count(counts[0], count) for count in counts)
    loaded = audit.load_labels(whole, codes)
    assert counts[0].ledger.rows_read == loaded.ledger.rows_read


# --- digests ----------------------------------------------------------------------------------

VALUES = st.one_of(
    st.lists(st.none() | st.text(max_size=3), min_size=1, max_size=8),
    st.lists(st.none() | st.integers(-5, 5), min_size=1, max_size=8),
    st.lists(
        st.none() | st.lists(st.none() | st.text(max_size=2), max_size=3), min_size=1, max_size=8
    ),
)


@given(values=VALUES, cuts=st.lists(st.integers(0, 8), max_size=3))
def test_chunking_never_changes_a_digest(values: list[Any], cuts: list[int]) -> None:
    whole = pl.DataFrame({"a": values, "b": range(len(values))})
    ends = sorted({0, *(cut for cut in cuts if cut < len(values)), len(values)})
    chunked = pl.concat([whole[a:b] for a, b in pairwise(ends)], rechunk=False)

    assert Frame(chunked).digest == Frame(whole).digest
    assert Frame(whole.rename({"a": "c"})).digest != Frame(whole).digest


@given(one=VALUES, other=VALUES)
def test_frames_with_other_values_have_other_digests(one: list[Any], other: list[Any]) -> None:
    same = [_as_text(value) for value in one] == [_as_text(value) for value in other]
    first, second = (Frame(pl.DataFrame({"a": values})) for values in (one, other))

    assert (first.digest == second.digest) == (same and _nested(one) == _nested(other)) or same


def _as_text(value: Any) -> Any:
    return value if value is None or isinstance(value, list) else str(value)


def _nested(values: list[Any]) -> bool:
    return any(isinstance(value, list) for value in values)


def test_rows_that_were_never_read_have_no_digest() -> None:
    assert LabelDataset.from_rows(pl.DataFrame(LONG), "icd9cm").digest == ""
