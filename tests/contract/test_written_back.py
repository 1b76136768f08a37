"""What every format keeps that is written back: nothing but the labels that a change is of."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from audit.data.formats import FORMATS
from audit.data.label_format import Columns
from audit.runs.fixes.changes import Change
from audit.runs.fixes.copying import log_of, undone
from audit.runs.settings import Settings
from fixtures.corrected_copies import copied, files_below
from fixtures.examples import examples
from fixtures.label_files import WRITERS, LabelWriter, Record, write_long

LABELS = ("0380", "4019", "V3000", "5990")
EVERY = Record("0", LABELS, "7")
"""It carries every label and never changes, so that no column of labels comes or goes."""


def flags(records: Sequence[Record]) -> NDArray[np.bool_]:
    return np.array([[label in one.labels for label in LABELS] for one in records])


def written_array(records: Sequence[Record], path: Path) -> None:
    np.save(path, flags(records))


def written_archive(records: Sequence[Record], path: Path) -> None:
    np.savez_compressed(path, codes=flags(records).astype(np.float32))


def written_in(encoding: str, records: Sequence[Record], path: Path) -> None:
    write_long(records, path)
    path.write_bytes(path.read_text("utf-8").replace(",7\n", ",é\n").encode(encoding))


def written_meds(records: Sequence[Record], path: Path) -> None:
    """A shard with the visit of each record, and another event beside its codes."""
    rows = [
        {"subject_id": int(one.group or 0), "time": datetime(2100, 3, 1), "code": code,
         "hadm_id": one.instance, "x": 0.5}
        for one in records
        for code in (*one.labels, "LAB//1")
    ]  # fmt: skip
    for folder in ("data/train", "metadata"):
        (path / folder).mkdir(parents=True)
    frame = pl.DataFrame(rows, schema_overrides={"x": pl.Float32})
    frame.write_parquet(path / "data/train/0.parquet")
    pl.DataFrame({"code": [*LABELS]}).write_parquet(path / "metadata/codes.parquet")


def written_omop(end: str, records: Sequence[Record], path: Path) -> None:
    """Conditions and procedures of visits, whose codes are written with their concepts."""
    path.mkdir(parents=True)
    concepts = {"A": 1, "B": 2, "C": 3} | {one: n for n, one in enumerate(LABELS, 5)}
    every = [(one, label) for one in records for label in one.labels]
    tables = {"concept": pl.DataFrame([
        {"concept_id": n, "concept_code": code, "vocabulary_id": "Codes" if n > 3 else "Other",
         "valid_start_date": "19700101", "valid_end_date": "20991231"}
        for code, n in concepts.items()
    ])}  # fmt: skip
    for kind, day in (("condition", "condition_start_date"), ("procedure", "procedure_date")):
        rows = [
            {f"{kind}_occurrence_id": n, "person_id": one.group, f"{kind}_concept_id": 1 + n % 3,
             day: "2100-03-01", f"{kind}_type_concept_id": 1, f"{kind}_source_value": label,
             f"{kind}_source_concept_id": concepts[label], "visit_occurrence_id": one.instance}
            for n, (one, label) in enumerate(every)
            if n % 2 == (kind == "procedure")
        ]  # fmt: skip
        tables[f"{kind}_occurrence"] = pl.DataFrame(rows)
    for name, table in tables.items():
        written = table.write_parquet if end == "parquet" else table.write_csv
        written(path / f"{name}.{end}")  # type: ignore[operator]


def resources(records: Sequence[Record]) -> Iterator[dict[str, Any]]:
    """A condition or procedure for each label, with another system's coding and a title."""
    for one in records:
        for n, label in enumerate(one.labels):
            other = {"system": "urn:other", "code": "4019", "display": "Ödem"}
            own = {"system": "urn:codes", "code": label, "display": "as it was"}
            said = {
                "resourceType": "Procedure" if n % 2 else "Condition",
                "subject": {"reference": f"Patient/{one.group}"},
                "encounter": {"reference": f"Encounter/{one.instance}"},
                "code": {"coding": [other, own], "text": "said"},
            }
            yield {**said, "status": "completed"} if n % 2 else said


def written_lines(records: Sequence[Record], path: Path) -> None:
    path.mkdir()
    lines = [json.dumps(one, ensure_ascii=False) + "\r\n" for one in resources(records)]
    for n in range(2):
        (path / f"{n}.ndjson").write_text("\n".join(lines[n::2]), "utf-8", newline="")


def written_bundle(records: Sequence[Record], path: Path) -> None:
    entries = [{"resource": one} for one in ({"resourceType": "Patient"}, *resources(records))]
    bundle = {"resourceType": "Bundle", "type": "collection", "entry": entries}
    path.write_text(json.dumps(bundle, indent=1), "utf-8")


ARRAYS = (
    LabelWriter("npy", "flags.npy", written_array, Columns(classes=LABELS)),
    LabelWriter("npy", "flags.npz", written_archive, Columns(classes=LABELS)),
)
ENCODED = tuple(
    LabelWriter("long", f"{one}.csv", partial(written_in, one), Columns(group="group"))
    for one in ("cp1252", "utf-16", "utf-8-sig")
)
EVENTS = (
    LabelWriter("meds", "events", written_meds),
    LabelWriter("omop", "tables", partial(written_omop, "csv")),
    LabelWriter("omop", "columns", partial(written_omop, "parquet")),
    LabelWriter("fhir", "lines", written_lines),
    LabelWriter("fhir", "bundle.json", written_bundle),
)
BACK = [*WRITERS, *ARRAYS, *ENCODED, *EVENTS]
each_writer = pytest.mark.parametrize("writer", BACK, ids=lambda one: f"{one.format}-{one.file}")
VOCABULARIES = {"omop": "Codes", "fhir": "urn:codes"}


def test_every_format_is_written_back() -> None:
    written = {one.format for one in BACK}
    assert written == {known.name for known in FORMATS}, "see WRITERS of fixtures/label_files.py"


def data(writer: LabelWriter, folder: Path, records: Sequence[Record]) -> Settings:
    writer.write(records, folder / writer.file)
    (folder / "tree.csv").write_text("child,parent\n" + "".join(f"{x},all\n" for x in LABELS))
    (folder / "names.txt").write_text("".join(f"{x}\n" for x in LABELS))
    columns = writer.columns
    return Settings(
        dataset=str(folder / writer.file),
        hierarchy=str(folder / "tree.csv"),
        format=writer.format,
        id=columns.id,
        group=columns.group,
        classes=folder / "names.txt" if columns.classes else None,
        codes=("[!L]*",) if writer.format == "meds" else (),
        vocabulary=VOCABULARIES.get(writer.format),
    )


@st.composite
def replacements(draw: Any) -> tuple[list[Record], list[Change], list[Record]]:
    """Records, labels of them to be others, possibly none, and the records then."""
    carried = draw(st.lists(st.lists(st.sampled_from(LABELS), min_size=1, max_size=3, unique=True)))
    before = [EVERY, *(Record(str(n), tuple(own), "8") for n, own in enumerate(carried, 1))]
    after, changes = [EVERY], list[Change]()
    for one in before[1:]:
        labels = [*one.labels]
        for place, label in enumerate(one.labels):
            new = draw(
                st.sampled_from(["", *(x for x in LABELS if x not in (*labels, *one.labels))])
            )
            if new:
                changes.append(Change(one.instance, "replace", label, new))
                labels[place] = new
        after.append(replace(one, labels=tuple(labels)))
    return before, changes, after


@each_writer
@given(case=replacements())
@examples(15)
def test_a_copy_is_what_is_written_of_the_changed_labels_and_nothing_else_differs(
    writer: LabelWriter,
    case: tuple[list[Record], list[Change], list[Record]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    before, changes, after = case
    folder = tmp_path_factory.mktemp("copies")
    known = data(writer, folder, before)
    (folder / "expected").mkdir()
    writer.write(after, folder / "expected" / writer.file)

    copy = copied(folder, known, changes)

    expected, first = (
        files_below(folder / "expected" / writer.file),
        files_below(Path(known.dataset)),
    )
    assert {*files_below(copy)} == {*expected}
    for name, file in files_below(copy).items():
        if changes and expected[name].suffix == ".parquet":
            assert_alike(file, expected[name])
        elif changes and expected[name].suffix == ".npz":
            assert parts(file) == parts(expected[name])
        else:
            assert file.read_bytes() == expected[name].read_bytes()
    again = files_below(undone(log_of(copy), folder / "again"))
    assert {n: file.read_bytes() for n, file in again.items()} == {
        n: file.read_bytes() for n, file in first.items()
    }


def parts(archive: Path) -> dict[str, tuple[int, bytes]]:
    """How each part of an archive is packed, and its bytes."""
    with zipfile.ZipFile(archive) as opened:
        return {one.filename: (one.compress_type, opened.read(one)) for one in opened.infolist()}


def assert_alike(found: Path, expected: Path) -> None:
    """Tables of Parquet are equal in cells, types, metadata, row groups and how they are packed."""
    tables = pq.read_table(found), pq.read_table(expected)
    assert tables[0].schema.equals(tables[1].schema, check_metadata=True)
    assert tables[0].equals(tables[1])
    files = pq.ParquetFile(found), pq.ParquetFile(expected)
    assert files[0].metadata.num_row_groups == files[1].metadata.num_row_groups
    packed = [
        [one.metadata.row_group(0).column(n).compression for n in range(tables[0].num_columns)]
        for one in files
    ]
    assert packed[0] == packed[1]
