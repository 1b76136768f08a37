"""Edge tables: what is read from them, and what is refused with its place."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

from audit.base.errors import FormatError, HierarchyError, SchemaError
from audit.hierarchies.formats import edges
from audit.hierarchies.reading import load_hierarchy
from fixtures.hierarchy_files import refused
from fixtures.written import written


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("h.csv", "child,parent,title\ndog,animal,Dog\ncat,animal,\n"),
        ("h.csv", "\ufeffTitle,PARENT,Child\r\nDog,animal,dog\r\n,animal,cat\r\n"),
        ("h.csv", 'more,child,parent,title\n1,"dog",animal,Dog\n\n2,cat,animal,\n'),
        ("h.tsv", "child\tparent\ttitle\ndog\tanimal\tDog\ncat\tanimal\t\n"),
    ],
)
def test_header_in_any_case_and_order(tmp_path: Path, name: str, text: str) -> None:
    hierarchy = load_hierarchy(written(tmp_path / name, text))

    assert hierarchy.edge_frame().rows() == [("cat", "animal"), ("dog", "animal")]
    assert hierarchy.titles == ("", "", "Dog")
    assert hierarchy.assignable.tolist() == [False, True, True]
    assert hierarchy.name == "h"


def test_gzip_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "h.csv.gz"
    path.write_bytes(gzip.compress(b"child,parent\ndog,animal\n"))

    assert load_hierarchy(path).nodes == ("animal", "dog")
    assert load_hierarchy(path).name == "h"


def test_ids_stay_text(tmp_path: Path) -> None:
    hierarchy = load_hierarchy(
        written(tmp_path / "h.csv", "child,parent\n007,00\n1e3,00\nnull,00\n")
    )

    assert hierarchy.nodes == ("00", "007", "1e3", "null")


def test_a_row_without_parent_declares_its_child(tmp_path: Path) -> None:
    hierarchy = load_hierarchy(
        written(tmp_path / "h.csv", "child,parent,title\na,,Top\nb,a,\n,,\nc,,\n")
    )

    assert hierarchy.children("(root)") == ("a", "c")
    assert hierarchy.titles[hierarchy.index("a")] == "Top"


def test_a_title_may_stand_in_every_row_of_its_child(tmp_path: Path) -> None:
    text = "child,parent,title\nd,a,Dog\nd,b,Dog\na,r,\nb,r,\n"
    hierarchy = load_hierarchy(written(tmp_path / "h.csv", text))

    assert hierarchy.parents("d") == ("a", "b")
    assert hierarchy.titles[hierarchy.index("d")] == "Dog"


def test_a_repeated_edge_is_told(tmp_path: Path) -> None:
    assert (
        load_hierarchy(written(tmp_path / "h.csv", "child,parent\na,b\na,b\n")).repeated_edges == 1
    )


@pytest.mark.parametrize("dtype", [pl.Int64, pl.String, pl.Categorical])
def test_parquet_of_numbers_or_text(tmp_path: Path, dtype: pl.DataType) -> None:
    frame = pl.DataFrame({"Child": ["2", "3"], "Parent": ["1", None]})
    frame.cast(dtype).write_parquet(tmp_path / "h.parquet")
    hierarchy = load_hierarchy(tmp_path / "h.parquet")

    assert hierarchy.nodes == ("(root)", "1", "2", "3")
    assert hierarchy.parents("2") == ("1",)


def test_a_blank_child_is_refused_with_its_line(tmp_path: Path) -> None:
    text = 'child,parent,title\na,b,"two\nlines"\n\n  ,b,\n,c,\n'

    assert "2 without" in refused(written(tmp_path / "h.csv", text), SchemaError, ":5")


def test_a_line_of_blanks_is_passed_over(tmp_path: Path) -> None:
    assert load_hierarchy(written(tmp_path / "h.csv", "child,parent\n  \na,b\n")).nodes == (
        "a",
        "b",
    )


def test_a_stray_carriage_return_is_refused(tmp_path: Path) -> None:
    refused(written(tmp_path / "h.csv", "child,parent\na,b\rc,d\n"), SchemaError, "")


def test_a_blank_child_in_parquet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "h.parquet"
    pl.DataFrame({"child": ["a", None], "parent": ["b", "c"]}).write_parquet(path)

    assert "'c'" in refused(path, SchemaError, "")


def test_a_cycle_is_shown(tmp_path: Path) -> None:
    path = written(tmp_path / "h.csv", "child,parent\na,b\nb,a\n")

    assert "a -> b -> a" in refused(path, HierarchyError, "")


def test_two_titles_of_a_node_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "h.csv", "child,parent,title\nd,a,Dog\nd,b,Hound\n")

    assert "several for 'd'" in refused(path, SchemaError, "")


def test_a_header_alone_is_refused(tmp_path: Path) -> None:
    refused(written(tmp_path / "h.csv", "child,parent\n"), HierarchyError, "")


def test_wrong_columns_are_told(tmp_path: Path) -> None:
    path = written(tmp_path / "h.csv", "kid,mother\na,b\n")

    assert "the columns 'kid', 'mother'" in refused(path, FormatError, "")
    assert "'kid', 'mother'" in refused(path, SchemaError, "", format="edges")


def test_columns_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "h.parquet"
    pl.DataFrame({"child": [[1]], "parent": ["a"]}).write_parquet(path)

    assert "List" in refused(path, SchemaError, "")


def test_a_text_in_windows_1252_is_read_and_told(tmp_path: Path) -> None:
    path = tmp_path / "h.csv"
    path.write_bytes("child,parent\na,b\né,b\n".encode("cp1252"))
    read = load_hierarchy(path)
    assert (read.nodes, read.name) == (("a", "b", "é"), "h")
    assert [said.decision for said in read.readings] == ["'h.csv' is in Windows-1252"]
    path.write_bytes("child,parent\na,b,c\né,b\n".encode("cp1252"))
    refused(path, SchemaError, ":2")


def test_format_is_found_by_the_header() -> None:
    assert edges.matches(Path("x"), b'"Child","PARENT"\r\n')
    assert edges.matches(Path("x"), b"child\tparent\n")
    assert edges.matches(Path("x"), b"child;parent\n")
    assert not edges.matches(Path("x"), b"child,title\n")


EDGES = [("cat", "mammal"), ("dog", "mammal"), ("mammal", "animal"), ("robin", "bird")]


@pytest.mark.parametrize(
    ("names", "turned", "rows"),
    [
        (("topic", "super_topic"), False, EDGES),
        (("taxon", "parentTaxon"), False, EDGES),
        (("finding", "place"), False, EDGES),
        (("place", "finding"), True, EDGES),
        (("finding", "place"), False, [("a", "x"), ("b", "x"), ("c", "y"), ("d", "y")]),
    ],
)
def test_the_end_at_which_each_value_stands_once_is_the_lower(
    names: tuple[str, str], turned: bool, rows: list[tuple[str, str]], tmp_path: Path
) -> None:
    lines = [",".join(row[:: -1 if turned else 1]) for row in rows]
    path = written(tmp_path / "h.csv", "\n".join([",".join(names), *lines]) + "\n")
    edges = {*load_hierarchy(path).edge_frame().rows()}
    assert {*rows} <= edges


@pytest.mark.parametrize("header", ["code,title", "node,count", "a,b"])
def test_a_dictionary_of_titles_or_numbers_is_no_hierarchy(header: str, tmp_path: Path) -> None:
    above = "12" if header == "a,b" else "xy"
    text = f"{header}\np,{above[0]}\nq,{above[0]}\nr,{above[1]}\ns,{above[1]}\n"
    with pytest.raises(FormatError):
        load_hierarchy(written(tmp_path / "h.csv", text))


def test_a_column_that_ends_as_titles_do_holds_them(tmp_path: Path) -> None:
    text = "pt_code,pt_name,parent_code\n10,Heart,\n11,Angina,10\n"
    assert load_hierarchy(written(tmp_path / "h.csv", text)).titles == ("Heart", "Angina")


def test_edges_are_those_in_force_of_is_a_alone(tmp_path: Path) -> None:
    rows = [("1", "dog", "animal", "116680003"), ("1", "animal", "top", "116680003"),
            ("0", "dog", "plant", "116680003"), ("1", "dog", "tail", "363698007")]  # fmt: skip
    for ends in ("sourceId\tdestinationId", "subject\tobject", "child\tparent"):
        text = f"id\tactive\t{ends}\ttypeId\n"
        text += "".join("\t".join([f"9{n}", *row]) + "\n" for n, row in enumerate(rows))
        hierarchy = load_hierarchy(written(tmp_path / "h.txt", text))
        assert hierarchy.edge_frame().rows() == [("animal", "top"), ("dog", "animal")]
        assert [one.rows for one in hierarchy.readings[:2]] == [1, 1]


def test_relations_that_no_column_says_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "h.csv", "child,parent\ndog,animal\n")
    with pytest.raises(SchemaError, match="beside --relations"):
        load_hierarchy(path, relations=("part_of",))


@pytest.mark.parametrize("own", ["", "{sign}{id}"])
@pytest.mark.parametrize("sign", ["/", "."])
def test_a_parent_is_the_last_on_its_way(tmp_path: Path, sign: str, own: str) -> None:
    ways = {"1": "", "2": "1", "3": f"1{sign}2", "4": f"1{sign}2{sign}3", "5": "1"}
    cells = {one: f"{way}{own.format(sign=sign, id=one)}".strip(sign) for one, way in ways.items()}
    text = "taxon_id,ancestry,name\n" + "".join(f"{a},{b},n{a}\n" for a, b in cells.items())
    edges_of = load_hierarchy(written(tmp_path / "h.csv", text)).edge_frame().rows()
    assert edges_of == [("2", "1"), ("3", "2"), ("4", "3"), ("5", "1")]
