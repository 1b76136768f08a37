import gzip
import os
from pathlib import Path

import polars as pl
import pytest

from audit.base.errors import AuditError, InputError, SchemaError
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.titles import TitleList, read_titles, with_titles
from fixtures import coded
from fixtures.written import written

REAL = os.environ.get("AUDIT_DATA")
needs_data = pytest.mark.skipif(not REAL, reason="AUDIT_DATA does not name the folder of real data")

MIMIC3 = (
    "ROW_ID,ICD9_CODE,SHORT_TITLE,LONG_TITLE\r\n"
    '1,0066,PTCA,"Percutaneous, transluminal"\r\n'
    "2,3606,Stent,Insertion of stent\r\n"
)
MIMIC4 = (
    "icd_code,icd_version,long_title\n"
    "0010 ,9,Cholera due to vibrio cholerae\nA000,10,Cholera due to Vibrio cholerae 01\n"
)


@pytest.fixture(scope="module")
def icd9cm() -> Hierarchy:
    return coded.icd9cm()


def titles(table: str | None, **named: str) -> TitleList:
    rows = [(code.lstrip("_").replace("_", "."), title) for code, title in named.items()]
    frame = pl.DataFrame(rows, {"code": pl.String, "title": pl.String}, orient="row")
    return TitleList(table, frame)


def title(hierarchy: Hierarchy, node: str) -> str:
    return hierarchy.titles[hierarchy.index(node)]


@pytest.mark.parametrize(
    ("name", "content", "table", "rows"),
    [
        (
            "D_ICD_PROCEDURES.csv",
            MIMIC3.encode(),
            "procedures",
            [("0066", "Percutaneous, transluminal"), ("3606", "Insertion of stent")],
        ),
        (
            "d_icd_procedures.csv.gz",
            gzip.compress(MIMIC3.lower().encode()),
            "procedures",
            [("0066", "percutaneous, transluminal"), ("3606", "insertion of stent")],
        ),
        (
            "d_icd_diagnoses.csv",
            MIMIC4.encode(),
            "diagnoses",
            [("0010", "Cholera due to vibrio cholerae")],
        ),
        (
            "mine.csv",
            "code,title\nx,Crêpe\nx,Again\n".encode(),
            None,
            [("x", "Crêpe"), ("x", "Again")],
        ),
    ],
)
def test_each_kind_of_dictionary_is_read(
    tmp_path: Path, name: str, content: bytes, table: str | None, rows: list[tuple[str, str]]
) -> None:
    found = read_titles(written(tmp_path / name, content))
    assert found.table == table
    assert found.titles.rows() == rows


@pytest.mark.parametrize(
    ("name", "content", "error", "message"),
    [
        ("empty.csv", b"", InputError, "an empty file"),
        ("zero.csv.gz", b"", InputError, "an empty file"),
        ("names.csv", b"name,title\nx,y\n", SchemaError, "named 'code' is required"),
        ("bare.csv", b"code,name\nx,y\n", SchemaError, "named 'title' is required"),
        ("latin.csv", "code,title\nx,Crêpe\n".encode("latin-1"), InputError, "UTF-8"),
        ("wide.csv", b"code,title\nx,a,b\n", SchemaError, "wide.csv:2"),
        ("titles.pkl", b"\x80\x04", InputError, "pickled"),
    ],
)
def test_a_broken_dictionary_is_refused(
    tmp_path: Path, name: str, content: bytes, error: type[AuditError], message: str
) -> None:
    path = written(tmp_path / name, content)
    with pytest.raises(error, match=message):
        read_titles(path)


def test_titles_of_codes_that_are_no_nodes_are_kept_and_add_none(icd9cm: Hierarchy) -> None:
    listed = titles("procedures", _3681="Angioplasty", _0001="Ultrasound", _360="Obstruction")
    richer = with_titles(icd9cm, [listed, titles("diagnoses", abc="No code", _0001="No category")])

    assert (richer.nodes, richer.complete_tables) == (icd9cm.nodes, icd9cm.complete_tables)
    assert (richer.assignable == icd9cm.assignable).all()
    assert richer.further_titles == {"36.81": "Angioplasty"}
    assert title(richer, "36.0") == title(icd9cm, "36.0")


def test_a_title_at_hand_stays_and_the_first_list_decides(icd9cm: Hierarchy) -> None:
    first = titles("diagnoses", _4019="Other words", _25099="First")
    richer = with_titles(icd9cm, [first, titles("diagnoses", _25099="Second")])
    assert title(richer, "401.9") == title(icd9cm, "401.9")
    assert richer.further_titles == {"250.99": "First"}


def test_no_list_changes_nothing(icd9cm: Hierarchy) -> None:
    assert with_titles(icd9cm, []) is icd9cm


def test_without_coding_only_titles_are_set() -> None:
    toy = Hierarchy.build(pl.DataFrame({"child": ["a", "b"], "parent": ["r", "r"]}), name="toy")
    named = titles(None, a="Apple", z="Nowhere")
    richer = with_titles(toy, [named])
    assert (richer.nodes, title(richer, "a"), title(richer, "b")) == (toy.nodes, "Apple", "")
    assert (richer.assignable == toy.assignable).all()


@needs_data
def test_the_dictionaries_of_mimic_complete_the_built_in_tree(icd9cm: Hierarchy) -> None:
    folder = Path(REAL or "") / "mimic-iii-demo"
    lists = [read_titles(folder / f"D_ICD_{name}.csv") for name in ("DIAGNOSES", "PROCEDURES")]
    assert [len(one.titles) for one in lists] == [14_567, 3_882]
    richer = with_titles(icd9cm, lists)
    diagnoses = with_titles(icd9cm, lists[:1])
    assert diagnoses.sha256 == icd9cm.sha256
    assert richer.further_titles == {}
    assert int(richer.assignable.sum()) == 14_567 + 3_882
    assert title(richer, "36.06") == "Insertion of non-drug-eluting coronary artery stent(s)"
