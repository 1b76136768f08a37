"""Texts, pictures and attributions of instances: what is read, and what is refused."""

from __future__ import annotations

import csv
import gzip
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.base.errors import InputError, OutputError
from audit.explorer.run import media as media_files
from audit.explorer.run.media import MediaFile, _entries
from audit.explorer.run.opened_run import open_run
from audit.explorer.run.shelf import Shelf
from audit.runs.read import read_run
from fixtures.examples import examples
from fixtures.full_disk import full_disk
from fixtures.shown_media import (
    HOSTILE,
    LABELS,
    PNG,
    SCORES,
    TOKENS,
    write_lines,
    write_notes,
)

Texts = Mapping[str, str | None]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("made")
    write_notes(made)
    return made


@pytest.fixture
def notes(folder: Path, tmp_path: Path) -> Path:
    """A copy to write into; its run names the attributions of the original."""
    return Path(shutil.copytree(folder, tmp_path / "notes"))


def media_of(folder: Path, *rows: object, name: str = "media.jsonl") -> MediaFile:
    path = write_lines(folder / name, *rows) if rows else folder / name
    return MediaFile(path, read_run(folder / "run"))


def write_table(path: Path, texts: Texts) -> None:
    """The texts by id, as a table of the kind that the name says."""
    if path.suffix == ".parquet":
        pl.DataFrame({"id": [*texts], "text": [*texts.values()]}).write_parquet(path)
        return
    if ".jsonl" in path.name:
        lines = "".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in texts.items()).encode()
        path.write_bytes(gzip.compress(lines) if path.suffix == ".gz" else lines)
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writerows([("id", "text"), *((i, t or "") for i, t in texts.items())])


@pytest.mark.parametrize("name", ["m.csv", "m.tsv", "m.jsonl", "m.jsonl.gz", "m.parquet"])
@given(
    st.fixed_dictionaries(
        dict.fromkeys(
            LABELS,
            st.none()
            | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"))
            | st.sampled_from(['"', 'a "b"\n\n, c\td', "=1+1", HOSTILE, "428.0", "007"]),
        )
    )
)
@settings(examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_each_kind_of_table_gives_back_the_texts_that_were_written(
    folder: Path, tmp_path: Path, name: str, texts: Texts
) -> None:
    wanted = {id: (text or "").strip() or None for id, text in texts.items()}
    write_table(tmp_path / name, {**texts, "bare": "there"})
    read = MediaFile(tmp_path / name, read_run(folder / "run"))

    assert {id: read.text(id) for id in LABELS} == {**wanted, "bare": "there"}


@pytest.mark.parametrize("value", ["17", " 17 ", 17, 17.0])
def test_ids_that_are_numbers_are_read_as_the_run_has_them(tmp_path: Path, value: object) -> None:
    table = tmp_path / "numbers.parquet"
    pl.DataFrame({"Instance": [value], "TEXT": ["seventeen"]}).write_parquet(table)

    assert [*_entries(table)] == [("17", ("seventeen", None))]


def test_what_was_read_is_said(folder: Path) -> None:
    said = media_of(folder).notes

    assert said[0] == "Media of 2 of 3 instances."
    assert said[1] == "Left out: 1 row of instances that the run lacks."
    assert said[2].startswith("Attributions of 3 of them, from ")


def test_an_instance_without_media_has_none(folder: Path) -> None:
    media = media_of(folder)

    for instance in ("bare", "nobody", "", "x" * 10_000):
        assert media.text(instance) is None
        assert media.picture(instance) is None
    assert [*media.attributions("nobody")] == []


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"id": "both", "text": "a"}, {"id": "both", "text": "b"}], "in several: 'both'"),
        ([{"id": "x", "text": "a"}, {"text": "b"}], "2 rows of others"),
        ([{"id": "x", "text": "a"}], "the run has the instances"),
        ([{"name": "both", "text": "a"}], "one column id, instance or hadm_id is required"),
        ([{"id": "both", "hadm_id": "1", "text": "a"}], "'id', 'hadm_id'"),
        ([{"id": "both", "body": "a"}], "a column text or picture is required"),
        ([{"id": "both", "text": ["a"]}], "the column 'text' must hold text"),
        ([{"id": True, "text": "a"}], "the column 'id' must hold text"),
        ([{"id": "both", "picture": {}}], "the column 'picture' must hold text"),
        ([["id", "text"]], "columns of the names"),
    ],
)
def test_a_table_of_something_else_is_refused(notes: Path, rows: list[object], said: str) -> None:
    with pytest.raises(InputError) as refused:
        media_of(notes, *rows)
    assert said in str(refused.value)
    assert "media.jsonl" in str(refused.value)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("gone.csv", None, "nothing there"),
        ("empty.csv", b"", "no columns"),
        ("header.csv", b"id,text\n", "0 rows of others"),
        ("other.csv", b"a,b\n1,2\n", "found the columns 'a', 'b'"),
        ("several.csv", b"id,text,Text\nboth,a,b\n", "one column named 'text' is required"),
        ("cut.csv", b"id,text\nboth\n", "as many fields"),
        ("latin.csv", b"id,text\nboth,caf\xe9\n", "UTF-8"),
        ("cut.jsonl", b'{"id": "both"', "every line must be a JSON object"),
        ("twice.jsonl", b'{"id": "both", "id": "x", "text": "a"}', "more than one value"),
        ("bad.parquet", b"PAR1 no", "a Parquet file is required"),
        ("bad.jsonl.gz", b"\x1f\x8b no", "gzip"),
        ("m.pkl", b"\x80\x04", "pickled objects"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(
    notes: Path, name: str, content: bytes | None, said: str
) -> None:
    if content is not None:
        (notes / name).write_bytes(content)
    with pytest.raises(InputError) as refused:
        media_of(notes, name=name)
    assert said.removeprefix("found ") in str(refused.value)
    assert name in str(refused.value)


def test_a_folder_is_refused(notes: Path) -> None:
    with pytest.raises(InputError, match="a file is required"):
        media_of(notes, name=".")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("dot.png", "image/png"), ("photo.dat", "image/jpeg"), ("old.gif", "image/gif"),
        ("new.webp", "image/webp"), ("./run/../dot.png", "image/png"), ("link.png", "image/png"),
    ],
)  # fmt: skip
def test_a_picture_is_known_by_its_first_bytes(notes: Path, name: str, kind: str) -> None:
    (notes / "link.png").symlink_to("dot.png")
    picture = media_of(notes, {"id": "both", "picture": name}).picture("both")

    assert picture is not None
    assert picture.media_type == kind
    assert picture.content == (notes / name).read_bytes()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("../secret.png", "leads elsewhere"),
        ("run/../../secret.png", "leads elsewhere"),
        ("{above}/secret.png", "leads elsewhere"),
        ("out.png", "leads elsewhere"),
        ("up/secret.png", "leads elsewhere"),
        ("/etc/passwd", "leads elsewhere"),
        ("gone.png", "no file of that name"),
        ("run", "no file of that name"),
        ("pipe.png", "no file of that name"),
        ("ring.png", "required"),
        ("a\0b.png", "does not name a file"),
        ("\ud800.png", "required"),
        ("x" * 5_000, "required"),
        ("drawing.svg", "a PNG, JPEG, GIF or WebP"),
        ("page.png", "a PNG, JPEG, GIF or WebP"),
        ("media.jsonl", "a PNG, JPEG, GIF or WebP"),
    ],
)
def test_what_is_no_picture_of_the_folder_is_refused(notes: Path, name: str, said: str) -> None:
    (notes.parent / "secret.png").write_bytes(PNG)
    (notes / "out.png").symlink_to("../secret.png")
    (notes / "up").symlink_to("..")
    (notes / "ring.png").symlink_to("ring.png")
    os.mkfifo(notes / "pipe.png")
    media = media_of(notes, {"id": "both", "picture": name.format(above=notes.parent)})

    with pytest.raises(InputError) as refused:
        media.picture("both")
    assert said in str(refused.value)


def test_a_picture_that_is_too_large_is_refused(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(media_files, "LARGEST", len(PNG) - 1)
    with pytest.raises(InputError, match="at most"):
        media_of(notes).picture("both")


def test_attributions_are_those_of_the_file_that_the_run_was_made_from(folder: Path) -> None:
    media = media_of(folder)

    for instance, targets in LABELS.items():
        rows = media.attributions(instance)
        assert [(row.target, row.method) for row in rows] == [
            (target, method) for target in targets for method in SCORES
        ]
        for row in rows:
            assert (*row.tokens,) == TOKENS
            assert (*row.scores,) == SCORES[row.method]
            assert (row.model, row.seed) == ("model", "0")


def test_without_that_file_no_attributions_are_shown(tmp_path: Path) -> None:
    write_notes(tmp_path)
    attributions = tmp_path / "attributions.jsonl"
    attributions.write_text(attributions.read_text("utf-8").replace("4.0", "5.0"), "utf-8")
    changed = media_of(tmp_path)
    attributions.unlink()
    gone = media_of(tmp_path)

    assert "is not the one that the run was made from" in changed.notes[-1]
    assert "is not there" in gone.notes[-1]
    for media in (changed, gone):
        assert not [row for id in LABELS for row in media.attributions(id)]


def test_rows_that_the_audit_leaves_out_are_not_shown(tmp_path: Path) -> None:
    sound = {"id": 7, "target": 428.0, "tokens": ["a"], "scores": [1], "seed": 2}
    broken = [
        {"scores": [1, 2]}, {"scores": ["x"]}, {"scores": [None]}, {"scores": "1"}, {"tokens": []},
        {"tokens": [None]}, {"tokens": None}, {"borrowed": True}, {"borrowed": "1"},
    ]  # fmt: skip
    rows = write_lines(tmp_path / "rows.jsonl", *({**sound, **fault} for fault in broken), sound)
    rows.write_text(rows.read_text("utf-8") + '{"id": 8, "tokens": ["a"], "scores": [NaN]}\n')

    assert [*media_files._attributions(rows)] == [
        ("7", ["428.0", "model", "attribution", "2", ["a"], [1.0]]),
    ]


def test_attributions_are_read_alike_from_parquet(tmp_path: Path) -> None:
    row = {"id": "7", "target": "428.0", "method": "m", "tokens": ["a", "b"], "scores": [1, -0.5]}
    lines = write_lines(tmp_path / "rows.jsonl", row)
    pl.DataFrame([row], strict=False).write_parquet(tmp_path / "rows.parquet")

    read = media_files._attributions(tmp_path / "rows.parquet")
    assert [*read] == [*media_files._attributions(lines)]


@given(st.lists(st.tuples(st.sampled_from([*"abcx", None]), st.text() | st.integers())))
def test_a_shelf_gives_back_what_was_put_there(entries: list[tuple[str | None, object]]) -> None:
    shelf = Shelf(entries, {"a": 0, "b": 1, "c": 2})

    for instance in "abc":
        assert shelf.of(instance) == [value for owner, value in entries if owner == instance]
    assert shelf.of("x") == []
    owners = [owner for owner, _ in entries]
    assert shelf.unknown == sum(owner in ("x", None) for owner in owners)
    assert shelf.instances == sum(owner in owners for owner in "abc")
    assert bool(shelf.repeated) == any(owners.count(owner) > 1 for owner in "abc")


def test_a_full_disk_is_said() -> None:
    with full_disk(2**20), pytest.raises(OutputError, match="room on the disk"):
        Shelf((("a", "x" * 2**18) for _ in range(8)), {"a": 0})


def test_a_run_that_is_shared_and_one_without_the_option_have_no_media(folder: Path) -> None:
    assert open_run(folder / "run", "notes", show_instances=True).media is None
