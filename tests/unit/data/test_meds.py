"""MEDS: rows as plain Python has them, batches as memory, and what is asked or refused."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import audit
from audit.base.errors import AuditError
from audit.base.readings import AskedError
from fixtures.coded import icd9cm

meds = pytest.importorskip("meds")
NINE, PROCEDURES = "DIAGNOSIS//ICD//9//", "PROCEDURE//ICD//9//"
CODES = (
    *(f"{NINE}{code}" for code in ("4280", "4019", "V3000", "E8788", "0380", "99999")),
    *(f"{PROCEDURES}{code}" for code in ("3961", "9671")),
    *("DIAGNOSIS//ICD//10//I10", "LAB//50813//mg/dL", "MEDS_BIRTH"),
)


def events(seed: int) -> list[dict[str, object]]:
    """Events of 60 subjects in the order of MEDS; some name no visit, some no time either."""
    draw = Random(seed)
    rows = []
    for subject in range(60):
        start = datetime(2100 + subject % 50, 3, 1)
        for step in range(draw.randrange(12)):
            visit = None if draw.random() < 0.2 else f"{subject}-{draw.randrange(3)}"
            time = start + timedelta(hours=13 * step)
            time = None if visit is None and draw.random() < 0.2 else time
            code = draw.choice(CODES)
            rows.append({"subject_id": subject, "time": time, "code": code, "hadm_id": visit})
    return sorted(rows, key=lambda row: (row["subject_id"], str(row["time"] or "")))


def written(folder: Path, rows: list[dict[str, object]], *, visits: bool = True) -> Path:
    """A data set of two shards, written as the schemas of ``meds`` have it."""
    for name, kept in (("train/0", (0, 1)), ("held_out/0", (2,))):
        own = [row for row in rows if int(str(row["subject_id"])) % 3 in kept]
        schema = {"subject_id": pa.int64(), "time": pa.timestamp("us"), "code": pa.string()}
        schema |= {"hadm_id": pa.string()} if visits else {}
        table = meds.DataSchema.align(pa.Table.from_pylist(own, pa.schema([*schema.items()])))
        path = folder / meds.data_subdirectory / f"{name}.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(table, path, row_group_size=50)
    (folder / "metadata").mkdir()
    codes = {"code": [*CODES], "description": [None] * len(CODES)}
    parents = [[NINE[:-2]] if code.startswith(NINE) else None for code in CODES]
    metadata = pa.table({**codes, "parent_codes": pa.array(parents, pa.list_(pa.string()))})
    codes_table = meds.CodeMetadataSchema.align(metadata)
    pq.write_table(codes_table, folder / meds.code_metadata_filepath)
    splits = [{"subject_id": n, "split": "held_out" if n % 3 == 2 else "train"} for n in range(60)]
    table = meds.SubjectSplitSchema.align(pa.Table.from_pylist(splits))
    pq.write_table(table, folder / meds.subject_splits_filepath)
    return folder


def expected(rows: list[dict[str, object]], before: str, *, days: bool = False) -> Counter[tuple]:
    """Instance, code without what stands before it, subject and split of each row that counts."""
    found = Counter[tuple]()
    for row in rows:
        day = f"{row['subject_id']} {str(row['time'])[:10]}" if row["time"] else None
        instance = day if days else row["hadm_id"] or day
        if str(row["code"]).startswith(before):
            split = "held_out" if int(str(row["subject_id"])) % 3 == 2 else "train"
            found[instance, str(row["code"]), str(row["subject_id"]), split] += 1
    return found


def read(dataset: audit.LabelDataset) -> Counter[tuple]:
    """The same of a dataset, refused rows included where they have an instance."""
    lines = pl.concat([dataset.mappings["label"], dataset.refusals["label"]])
    found = Counter[tuple]()
    of = dataset.instances.select("instance", "group", "split").rows()
    for place, line in dataset.written.iter_rows():
        found[of[place][0], lines[line], *of[place][1:]] += 1
    return found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("before", [NINE, PROCEDURES, ""])
def test_rows_are_those_of_plain_python(tmp_path: Path, seed: int, before: str) -> None:
    rows = events(seed)
    folder = written(tmp_path, rows)

    dataset = audit.load_labels(folder, icd9cm(), codes=f"{before}*", unlisted="refuse")

    wanted = expected(rows, before)
    homeless = sum(n for one, n in wanted.items() if one[0] is None)
    assert read(dataset) == Counter(one for one in wanted if one[0] is not None)
    assert dataset.ledger.rows_read == wanted.total()
    assert dataset.ledger.refused.get("bad_row", 0) == homeless
    assert dataset.persons
    nodes = dict(dataset.mappings.select("label", "node").rows())
    known = {NINE: {"4280": "428.0", "V3000": "V30.00"}, PROCEDURES: {"3961": "39.61"}, "": {}}
    assert all(nodes[before + code] == node for code, node in known[before].items())
    others = sum(not str(row["code"]).startswith(before) for row in rows)
    told = [one.rows for one in dataset.readings if "other codes" in one.decision]
    assert told == ([others] if others else [])


def test_without_visits_a_day_of_a_subject_is_an_instance(tmp_path: Path) -> None:
    rows = events(1)
    dataset = audit.load_labels(
        written(tmp_path, rows, visits=False), icd9cm(), codes=f"{NINE}*", unlisted="refuse"
    )

    assert read(dataset) == Counter(one for one in expected(rows, NINE, days=True) if one[0])
    assert any("on one day" in one.decision for one in dataset.readings)


def test_codes_must_be_chosen_and_the_question_offers_what_works(tmp_path: Path) -> None:
    folder = written(tmp_path, events(1))
    with pytest.raises(AskedError, match="which codes are labels") as found:
        audit.load_labels(folder, icd9cm())
    assert f"--codes '{NINE}*'" in str(found.value)
    assert "LAB" not in str(found.value)


def test_codes_stand_below_their_parents_as_they_are_written(tmp_path: Path) -> None:
    folder = written(tmp_path, rows := events(1))
    hierarchy = audit.load_hierarchy(folder / "metadata" / "codes.parquet")

    dataset = audit.load_labels(folder, hierarchy, codes=f"{NINE}*", unlisted="refuse")

    assert {*hierarchy.children(NINE[:-2])} == {one for one in CODES if one.startswith(NINE)}
    assert dataset.ledger.rows_mapped == sum(
        bool(row["hadm_id"] or row["time"]) for row in rows if str(row["code"]).startswith(NINE)
    )


def test_a_pattern_chooses_labels_of_any_table(tmp_path: Path) -> None:
    rows = {"id": ["1", "1", "2"], "label": ["ICD9CM/428.0", "SNOMED/84114007", "ICD9CM/401.9"]}
    pl.DataFrame(rows).write_csv(tmp_path / "long.csv")

    dataset = audit.load_labels(tmp_path / "long.csv", icd9cm(), codes="ICD9CM/*")

    assert sorted(dataset.mappings["node"]) == ["401.9", "428.0"]
    assert dataset.ledger.refused == {"left_out": 1}


def test_shards_tell_the_folder_without_a_table_of_codes(tmp_path: Path) -> None:
    folder = written(tmp_path, events(1))
    wanted = audit.load_labels(folder, icd9cm(), codes=f"{NINE}*", unlisted="refuse")
    (folder / "metadata" / "codes.parquet").unlink()
    found = audit.load_labels(folder, icd9cm(), codes=f"{NINE}*", unlisted="refuse")
    assert (found.format, found.ledger) == ("meds", wanted.ledger)
    assert found.mappings.equals(wanted.mappings)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda shard: shard.rename({"code": "concept"}), "every shard must have"),
        (lambda shard: shard.with_columns(site=pl.lit("a")), "every shard must have"),
        (lambda shard: shard.with_columns(pl.col("time").cast(pl.String)), "every shard must"),
        (lambda shard: shard.filter(code="none"), "fit --codes"),
        (None, "a shard data"),
    ],
)
def test_what_is_no_data_set_is_refused(tmp_path: Path, change: object, words: str) -> None:
    folder = written(tmp_path, events(1))
    for shard in sorted(folder.glob("data/**/*.parquet")):
        if change is None:
            shard.unlink()
        elif "train" in str(shard) or "fit" in words:
            change(pl.read_parquet(shard)).write_parquet(shard)  # type: ignore[operator]
    for codes in (f"{NINE}*", ()):
        with pytest.raises(AuditError) as found:
            audit.load_labels(folder, icd9cm(), codes=codes)
        assert words in str(found.value) or not codes
