"""What a table holds however it is stored, and what is said of a broken one: a run shows neither
types, nor lines, nor which of two readers of the same rows is meant."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import audit
from audit.base.errors import InputError
from audit.base.tables import TextShape, open_table, open_tables

ROWS = [("007", "Grippe"), ("8", 'sie sagt "nein", oder'), ("9.50", None), ("ä\nb", " x ")]
NAMES = ["id", "label"]
FRAME = pl.DataFrame(ROWS, NAMES, orient="row")


def csv(sign: str, encoding: str = "utf-8") -> bytes:
    return FRAME.write_csv(separator=sign).encode(encoding)


def zstd(content: bytes) -> bytes:
    stream = pa.BufferOutputStream()
    with pa.CompressedOutputStream(stream, "zstd") as out:
        out.write(content)
    return bytes(stream.getvalue())


def records(*rows: Any) -> str:
    return "\n".join(map(json.dumps, rows))


def stored(write: Callable[[Path], Any]) -> Callable[[Path], Any]:
    return write


WAYS: dict[str, bytes | Callable[[Path], Any]] = {
    "comma.csv": csv(","),
    "semicolon.csv": csv(";"),
    "bar.psv": csv("|"),
    "tab.tsv": csv("\t"),
    "said.csv": b"sep=;\r\n" + csv(";").replace(b"\n", b"\r\n"),
    "mark.csv": b"\xef\xbb\xbf" + csv(","),
    "wide.csv": csv(",", "utf-16"),
    "notes.csv": b"# made by hand\n\n#, today\n" + csv(","),
    "named.tsv": b"# genes\n#id\tlabel\n" + csv("\t").split(b"\n", 1)[1],
    "packed.csv.gz": gzip.compress(csv(",")[:20]) + gzip.compress(csv(",")[20:]),
    "packed.csv.bz2": bz2.compress(csv(",")),
    "packed.tsv.zst": zstd(csv("\t")),
    "lines.jsonl": records(*FRAME.to_dicts()).encode(),
    "lines.json": records(*FRAME.to_dicts()).encode(),
    "array.json": json.dumps(FRAME.to_dicts(), indent=1).encode(),
    "around.json": json.dumps({"version": 2, "rows": FRAME.to_dicts()}).encode(),
    "table.parquet": FRAME.write_parquet,
    "table.arrow": FRAME.write_ipc,
    "stream.arrow": FRAME.write_ipc_stream,
    "table.feather": FRAME.write_ipc,
}


def test_every_kind_of_file_holds_the_same_rows(tmp_path: Path) -> None:
    for name in WAYS:
        file, way = tmp_path / name, WAYS[name]
        if callable(way):
            way(file)
        else:
            file.write_bytes(way)

        table = open_table(file)

        assert table.frame().equals(FRAME)
        assert [one.height for one in table.frames(at_once=3)] == [3, 1]
        assert table.frame(["label"]).equals(FRAME.select("label"))
        assert table.files == (file,)
        assert table.digest == ""


def test_a_stated_encoding_and_shape_are_obeyed(tmp_path: Path) -> None:
    file = tmp_path / "old.csv"
    file.write_bytes("Bericht, für alle\n17;Grün\n18;\n".encode("cp1252"))

    read = open_table(file, text=TextShape(encoding="cp1252", skip_rows=1, header=False))

    assert read.frame().rows() == [("17", "Grün"), ("18", None)]
    assert [*read.schema] == ["column_1", "column_2"]
    assert not read.text.header


def test_texts_without_a_header_are_told_by_their_first_lines(tmp_path: Path) -> None:
    for text, rows in [
        (
            '!gaf-version: 2.2\n!note\nA\tGO:0001\t"x\nB\tGO:0002\t\n',
            [("A", "GO:0001", '"x'), ("B", "GO:0002", None)],
        ),
        (
            '# Segments csv\n# n=1\n# YTID, start, end, labels\nab, 3.0, 4.0, "/m/1,/m/2"\n',
            [("ab", " 3.0", " 4.0", "/m/1,/m/2")],
        ),
        ("AUTHOR me\nMODEL 1\nKEYWORDS a, b.\nT1\tGO:0001\t0.5\nEND\n", [("T1", "GO:0001", "0.5")]),
        ("AT1\tGO:0005575;GO:0008150\nAT2\t\n", [("AT1", "GO:0005575;GO:0008150"), ("AT2", None)]),
        (
            "__label__a __label__b it's, \"so\n__label__c x\n",
            [("__label__a __label__b it's, \"so",), ("__label__c x",)],
        ),
    ]:
        file = tmp_path / "published.txt"
        file.write_text(text)

        table = open_table(file)

        assert table.frame().rows() == rows
        assert not table.text.header
        assert "\n".join(table.text.first) == text.removesuffix("\n")


@pytest.mark.parametrize(
    "header", ["concept_id\tconcept_name", "#version: 2\ndatabase_id\tdisease_name\tx"]
)
def test_quotes_are_letters_where_a_publisher_writes_none(header: str, tmp_path: Path) -> None:
    file, n = tmp_path / "t.csv", header.count("\t")
    file.write_text(f"{header}\n" + '1\t"open' + "\t" * (n - 1) + "\n2\tb" + "\t" * (n - 1))
    table = open_table(file)
    assert [row[:2] for row in table.frame().rows()] == [("1", '"open'), ("2", "b")]
    assert table.text.header


def test_fields_are_parted_by_what_parts_all_first_rows(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("visit;codes, all\n1;E11,9\n2;I10\n")
    assert open_table(file).frame().rows() == [("1", "E11,9"), ("2", "I10")]
    file.write_text("codes\n401.9,250.00\n\nV58\n")
    assert open_table(file).frame().rows() == [("401.9,250.00",), (None,), ("V58",)]
    file.write_text("a,b,a\n\n1,2,3\n\n")
    assert open_table(file).frame().to_dicts() == [{"a": "1", "b": "2", "a_duplicated_0": "3"}]
    file.write_text("id\tlabel\n")
    assert open_table(file).frame().shape == (0, 2)


TEXTS = st.sampled_from([None, "", "a", "a\nb", "a\n\nb", 'say "a"', "a,b", " ", "w" * 200_000])


@given(st.integers(1, 3), st.data(), st.integers(1, 3))
def test_a_table_is_read_whatever_its_texts_hold(
    tmp_path_factory: pytest.TempPathFactory, width: int, data: st.DataObject, at_once: int
) -> None:
    """Whole rows are not taken for cut ones, whether texts have line ends or are missing."""
    drawn = data.draw(st.lists(st.tuples(*[TEXTS] * width), min_size=1, max_size=6))
    names = dict.fromkeys(["a", 'b "c"', "d\ne"][:width], pl.String)
    written = pl.DataFrame([*drawn, ("end",) * width], names, orient="row")
    path = tmp_path_factory.mktemp("tables") / "a.csv"
    written.write_csv(path)
    filled = [tuple(cell if (cell or "").strip() else None for cell in row) for row in drawn]

    table = open_table(path)

    assert [*table.schema] == [*names]
    assert table.frame().rows() == [*filled, ("end",) * width]
    assert pl.concat(table.frames(at_once=at_once)).rows() == table.frame().rows()


def test_json_is_flat_with_numbers_as_written(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    row = '{"id": 1.50, "on": {"a": true, "codes": [401.10, null]}, "pred": [{"l": "x"}, {"s": 2}]}'
    file.write_text(f'{row}\n{{"id": " ", "on": {{"codes": "7"}}, "new": []}}\n')

    rows = open_table(file).frame().to_dicts()

    assert rows[0] == {
        "id": "1.50", "on.a": "true", "on.codes": ["401.10", None], "pred.l": ["x", None],
        "pred.s": [None, "2"], "new": None,
    }  # fmt: skip
    nothing = dict.fromkeys(rows[0])
    assert rows[1] == nothing | {"on.codes": ["7"], "new": []}


def test_an_object_around_several_lists_is_several_tables(tmp_path: Path) -> None:
    file = tmp_path / "coco.json"
    file.write_text(json.dumps({"info": 1, "images": [{"id": 1}], "categories": [{"name": "a"}]}))
    assert [one.name for one in open_tables(file)] == [f"{file}: images", f"{file}: categories"]
    with pytest.raises(InputError, match="one table"):
        open_table(file)


def test_parquet_names_classes_as_its_metadata_say(tmp_path: Path) -> None:
    of = {"_type": "ClassLabel", "names": ["dog", "cat"]}
    features = {"one": of, "some": {"feature": of, "_type": "Sequence"}, "list": [of], "id": {}}
    told = json.dumps({"info": {"features": features}}).encode()
    table = pa.table({"one": [0], "some": [[1, 0]], "list": [[1]], "id": ["x"]})
    pq.write_table(table.replace_schema_metadata({b"huggingface": told, b"\xff": b"\xfe"}),
                   tmp_path / "t.parquet")  # fmt: skip

    names = open_table(tmp_path / "t.parquet").class_names

    assert names == dict.fromkeys(("one", "some", "list"), ("dog", "cat"))


def test_a_workbook_is_text_of_the_only_sheet_with_rows_or_the_named_one(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    xlsxwriter = pytest.importorskip("xlsxwriter")
    for sheets in (["codes"], ["codes", "more"]):
        with xlsxwriter.Workbook(tmp_path / "book.xlsx") as book:
            for name in sheets:
                sheet = book.add_worksheet(name)
                for n, row in enumerate([["id", "code"], [1, "038.9"], [2, 250]]):
                    sheet.write_row(n, 0, row)
            book.add_worksheet("empty")
        named = {} if len(sheets) == 1 else {"table": "more"}
        read = open_table(tmp_path / "book.xlsx", **named)  # type: ignore[arg-type]
        assert read.frame().rows() == [("1", "038.9"), ("2", "250")]
    with pytest.raises(InputError, match=r"(?s)must be named.*codes.*more.*--table"):
        open_table(tmp_path / "book.xlsx")


def test_arrays_are_columns(tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", np.array([3, 1]))
    np.save(tmp_path / "two.npy", np.array([[0.5, 1.0], [0.25, 0.0]], np.float32))
    np.savez(tmp_path / "both.npz", y=np.array(["a", "b"]), p=np.zeros((2, 3)))
    assert open_table(tmp_path / "one.npy").frame().to_dict(as_series=False) == {"column_1": [3, 1]}
    assert open_table(tmp_path / "two.npy").frame().rows() == [(0.5, 1.0), (0.25, 0.0)]
    assert open_table(tmp_path / "both.npz", table="y").frame().rows() == [("a",), ("b",)]
    with pytest.raises(InputError, match=r"(?s)must be named.*'y', 'p'"):
        open_table(tmp_path / "both.npz")


GZIP = gzip.compress(csv(",") * 9)
BROKEN: dict[str, tuple[str, bytes, str]] = {
    "a row with fewer fields": ("t.csv", b"a,b\n1,2\n\n3\n", r"t.csv:4: .* 2 fields.*1 fields"),
    "a row with more fields": ("t.tsv", b"a\tb\n1\t2\t3\n", r"t.tsv:2: .* 2 fields.*3 fields"),
    "a row behind a long cell": ("t.csv", b'a,b\n"1\n\n",2\n3\n', r"t.csv:5: .*1 fields"),
    "an open quote": ("t.csv", b'a,b\n1,"2\n3,4\n5,6\n', r"t.csv:2: a closing quote"),
    "Windows-1252": ("t.csv", b"a,b\n1,f\xfcr\n", r"t.csv:2: .*UTF-8.*0xfc.*cp1252.*'1,für'"),
    "no encoding": ("t.csv", b"a,b\n1,\x81\n", r"t.csv:2: .*UTF-8.*0x81.*--encoding NAME"),
    "half of UTF-16": ("t.csv", csv(",", "utf-16")[:-1], r"UTF-8"),
    "nothing": ("t.csv", b"", "an empty file"),
    "notes alone": ("t.csv", b"\n\n", "an empty file"),
    "bytes": ("t.csv", b"a,b\n\0,2\n", "null bytes"),
    "a cut packed file": ("t.csv.gz", GZIP[:-9], r"t.csv.gz: "),
    "a damaged packed file": ("t.csv.gz", GZIP[:30] + b"zzz" + GZIP[33:], r"t.csv.gz: "),
    "half a record": ("t.jsonl", b'{"a": 1}\n{"a": ', r"t.jsonl:2: a JSON"),
    "a key twice": ("t.jsonl", b'{"a": 1, "a": 2}', r"t.jsonl:1: .*each key once"),
    "one key by two ways": ("t.jsonl", b'{"a.b": 1, "a": {"b": 2}}', r"differ.*'a.b' twice"),
    "a value a line": ("t.jsonl", b"7\n", r"t.jsonl:1: an object"),
    "half a character": ("t.jsonl", b'{"a": "\\ud800"}', "half a character"),
    "deep JSON": ("t.json", b"[" * 100_000, "depth"),
    "an object of values": ("t.json", b'{"a": 1}', r"t.json: .*'a'"),
    "no Parquet": ("t.parquet", b"PAR1" + b"x" * 90, "a whole file of Parquet"),
    "no Arrow": ("t.arrow", b"ARROW1" + b"x" * 90, "a whole file of Parquet or Arrow"),
    "no workbook": ("t.xlsx", b"PK\x03\x04zzzz", "a workbook"),
    "no array": ("t.npy", b"\x93NUMPYzz", "a whole NumPy file"),
    "a pickle": ("t.pkl", b"\x80\x04.", "could run code"),
}


def test_broken_files_are_told_in_one_sentence(tmp_path: Path) -> None:
    for name in BROKEN:
        file, content, told = BROKEN[name]
        (tmp_path / file).write_bytes(content)
        with pytest.raises(InputError, match=f"(?s){told}") as error:
            open_table(tmp_path / file).frame()
        assert str(error.value).count("\n") <= 2
        assert str(tmp_path) in str(error.value) or name == "one key by two ways"


def test_arrays_of_objects_are_refused_unread(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", np.array([{"a": 1}], object), allow_pickle=True)
    with pytest.raises(InputError, match="could run code"):
        open_table(tmp_path / "t.npy")


def test_a_line_of_another_encoding_far_down_is_found(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_bytes(b"a,b\n" + b"1,2\n" * 700_000 + b"1,\xe9\n")
    with pytest.raises(InputError, match=r"(?s)t.csv:700002: .*cp1252"):
        open_table(file).frame()


def test_what_unpacks_to_very_much_is_refused_while_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "t.csv.gz"
    file.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 900_000))
    with audit.limits(unpacked=2**20), pytest.raises(InputError, match="1,048,576 bytes"):
        open_table(file).frame()
