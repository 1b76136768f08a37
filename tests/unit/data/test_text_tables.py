"""Tables with lines of notes before them, with bars, and with blanks before their quotes."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

import audit
from audit.base.errors import AuditError, InputError, SchemaError
from audit.base.files import read_table
from audit.base.readings import AskedError
from audit.base.text_tables import Preamble, preamble_of
from audit.counting.counts import PairCount
from audit.counting.file import count_pairs
from audit.data.sources import source_of
from fixtures.written import written

TREE = {"GO:1": "GO:0", "GO:2": "GO:0", "a/1": "GO:0", "a/2": "GO:0"}
ROWS = [("g1", "GO:1", "x"), ("g1", "GO:2", "y"), ("g2", "GO:2", "x"), ("g3", "none", "y")]
NAMES = ("gene", "term", "by")


def text(names: tuple[str, ...], sign: str, *, quoted: bool = False) -> str:
    lines = [*([names] if names else []), *ROWS]
    around = '"{}"' if quoted else "{}"
    return "".join(sign.join(map(around.format, line)) + "\n" for line in lines)


def counted_in_batches(path: Path) -> PairCount:
    hierarchy = audit.load_hierarchy(TREE)
    return count_pairs(path, hierarchy, instance="gene", label="term", batch=2, sort=True)


def gaf(lines: str) -> str:
    rows = [line.split(",") for line in lines.split()]
    return "".join("\t".join(["D", a, "s", "", b, *[""] * 12]) + "\n" for a, b in rows)


TABLES = {
    "notes": ("a.csv", "# one\n\n# two, of them\n" + text(NAMES, ",")),
    "the header is the last note": ("a.tsv", "#one\n#version: 2\n#" + text(NAMES, "\t")),
    "a header after a sign": ("a.txt", "#" + text(NAMES, "\t")),
    "per cent": ("a.tsv", "% a\n%\n%" + text(NAMES, "\t")),
    "slashes": ("a.csv", "// a, b, c, d\n" + text(NAMES, ";")),
    "bars": ("a.txt", text(NAMES, "|")),
    "quoted bars": ("a.psv", text(NAMES, "|", quoted=True)),
    "notes and bars": ("a.dat", "# export\n" + text(NAMES, "|")),
    "blanks before quotes": ("a.csv", text(NAMES, ", ", quoted=True)),
    "decimal commas": ("a.csv", text((*NAMES, "kg;EUR"), ";").replace(";x\n", ";x;1,5;2.000,5\n")
                       .replace(";y\n", ";y;0,5;3,5\n")),
    "notes and blanks": ("a.csv", "# a\n# b, c\n# " + text(NAMES, ", ")),
}  # fmt: skip


@pytest.mark.parametrize(("name", "content"), TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("packed", [False, True])
def test_what_stands_before_rows_is_no_row(
    name: str, content: str, packed: bool, tmp_path: Path
) -> None:
    path = tmp_path / (name + ".gz" * packed)
    path.write_bytes(gzip.compress(content.encode()) if packed else content.encode())
    read = audit.load_labels(path, TREE, id="gene", label="term")
    assert (read.ledger.rows_read, read.ledger.rows_mapped) == (4, 3)
    assert read.instances["instance"].to_list() == ["g1", "g2", "g3"]
    counted = count_pairs(
        path, audit.load_hierarchy(TREE), instance="gene", label="term", batch=2, sort=True
    )
    assert (counted.ledger.rows_read, counted.ledger.rows_mapped) == (4, 3)
    assert source_of(path).table(["by"])["by"].str.strip_chars().to_list() == ["x", "y", "x", "y"]


@pytest.mark.parametrize("name", ['t ""x"" y', '"t ""x"" y"', 't;""x""'])
def test_quotes_in_the_name_of_a_column_are_those_of_the_text(name: str, tmp_path: Path) -> None:
    rows = [f"{gene},{term}" for gene, term, _ in ROWS[:3]]
    path = written(tmp_path / "a.csv", "\n".join([f"entry,{name}", *rows, ""]))
    read = audit.load_labels(path, TREE)
    counted = count_pairs(path, audit.load_hierarchy(TREE), batch=2)
    assert read.ledger.rows_mapped == counted.ledger.rows_mapped == 3


def test_codes_are_found_as_texts_of_a_spreadsheet_beside_decimal_commas(tmp_path: Path) -> None:
    rows = [f'{gene};"=""{term}""";1,5;2.000,5' for gene, term, _ in ROWS[:3]]
    path = written(tmp_path / "a.csv", "\n".join(["entry;code;kg;EUR", *rows, ""]))
    read = audit.load_labels(path, TREE)
    assert read.instances["instance"].to_list() == ["g1", "g2"]
    assert (read.ledger.rows_read, read.ledger.rows_mapped) == (3, 3)
    assert any("'=\"'" in one.decision for one in read.readings)


def test_columns_of_gene_annotations_go_by_their_published_names(tmp_path: Path) -> None:
    path = tmp_path / "a.gaf"
    path.write_text("!gaf-version: 2.2\n!date: today\n" + gaf("g1,GO:1 g1,GO:2 g2,GO:1"))
    read = audit.load_labels(path, TREE, id="DB_Object_ID", label="GO_ID")
    assert (read.ledger.rows_mapped, len(read)) == (3, 2)


def test_which_of_two_lines_is_the_header_is_asked(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "# one\n# gene, term\nword,other\na,b\n")
    with pytest.raises(AskedError, match="line 2 names the columns, gene, term"):
        audit.load_labels(path, TREE, id="gene", label="term")
    path.write_text("# one\ngene, term\nword,other\na,b\n")
    assert source_of(path).schema.keys() == {"gene", " term"}
    path.write_text("# one\n# gene, term\n#\nword,other\na,b\n")
    assert source_of(path).schema.keys() == {"word", "other"}


@pytest.mark.parametrize("line", ["#1\ta", "#,dog", "x|a|b", "1|401.9", "%\n%", "!", "# only\n\n"])
def test_what_may_be_a_row_is_no_note(line: str, tmp_path: Path) -> None:
    path = written(tmp_path / "a.txt", line)
    assert source_of(path).head_lines == [one for one in line.split("\n") if one.strip()]


NOTES = (
    "Total,20,", "TOTAL,,20", "TRAILER,20,", "Source: Office of Genes", "Source: Office, Genes,,",
    "\n(c) 2024 Office", "\n© Office, 2024", "* provisional", "# end, 20 rows", "-- End of report",
    "(20 rows)", "\n20 rows selected.", "Notes:\n1. as of May\n2. r = revised", "Quelle: Amt",
    ",,\nNote: provisional,,", "\nSource: Office, 2024\nRetrieved 3 May 2024", "Nota: provisional",
    "Last updated: 3 May 2024", '"Source: Office; Genes",,',
)  # fmt: skip


@pytest.mark.parametrize("notes", NOTES)
@pytest.mark.parametrize("sign", ",;\t")
def test_notes_below_rows_are_no_rows_and_are_told(notes: str, sign: str, tmp_path: Path) -> None:
    rows = "".join(f"g{n},GO:{n % 2 + 1},x\n" for n in range(20))
    (path := tmp_path / "a.tsv").write_text(f"gene,term,by\n{rows}{notes}".replace(",", sign))
    (packed := tmp_path / "b.tsv.gz").write_bytes(gzip.compress(path.read_bytes()))
    dataset, unpacked = (
        audit.load_labels(p, TREE, id="gene", label="term") for p in (packed, path)
    )
    assert (len(dataset), dataset.ledger.rows_read) == (20, 20)
    assert dataset.readings == unpacked.readings
    (said,) = [one for one in dataset.readings if "the last lines are no rows" in one.decision]
    assert said.rows == sum(any(map(str.isalnum, line)) for line in notes.split("\n"))


@pytest.mark.parametrize(
    "last", ["Note: x,GO:1", "g99,GO:1", "total,GO:1", "#g,GO:1", "Created a new one,GO:2", "end,"]
)
def test_a_last_row_with_a_label_is_no_note(last: str, tmp_path: Path) -> None:
    rows = "".join(f"g{n},GO:{n % 2 + 1}\n" for n in range(20))
    (path := tmp_path / "a.csv").write_text(f"gene,term\n{rows}{last}\n")
    dataset = audit.load_labels(path, TREE, id="gene", label="term")
    assert len(dataset) == 20 + (last != "end,")


@pytest.mark.parametrize("note", ["Source: Office", "\n(c) 2024 Office", "# 2 edges, all"])
def test_notes_below_a_hierarchy_are_no_edges(note: str, tmp_path: Path) -> None:
    (path := tmp_path / "h.csv").write_text(f"child,parent\na,b\nc,b\nd,a\ne,a\n{note}\n")
    hierarchy = audit.load_hierarchy(path)
    assert [*hierarchy.nodes] == [*"abcde"]
    assert "the last lines are no rows" in hierarchy.readings[0].decision


@pytest.mark.parametrize("before", ["", "# a\n", "# a\n\n# b\n", "# a\n# gene,term\n"])
def test_a_row_of_another_length_is_told_by_its_line(before: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    header = "" if "gene" in before else "gene,term\n"
    path.write_text(f"{before}{header}g1,GO:1\ng1,GO:2\ng2\n")
    line = len(path.read_text().splitlines())
    for read in (read_table, lambda path: audit.load_labels(path, TREE, id="gene", label="term")):
        with pytest.raises(SchemaError) as caught:
            read(path)
        assert caught.value.where == f"{path}:{line}"
    with pytest.raises(AuditError):
        counted_in_batches(path)


def test_a_hierarchy_may_have_notes_and_tells_its_lines(tmp_path: Path) -> None:
    path = written(tmp_path / "h.csv", "# made by\n# hand, 2\nchild,parent\na,b\nc,b\n")
    assert set(audit.load_hierarchy(path).nodes) >= {"a", "b", "c"}
    path.write_text("# made by\n# hand, 2\nchild,parent\na,b\n,b\n")
    with pytest.raises(InputError) as caught:
        audit.load_hierarchy(path)
    assert caught.value.where == f"{path}:5"
    path.write_text("% child\tparent\n a\tb\nc\tb\n")
    assert set(audit.load_hierarchy(path).nodes) >= {"a", "b", "c"}


def test_a_text_of_two_million_bytes_is_read_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = [f'g{number}, "GO:1, GO:2"' for number in range(150_000)]
    path.write_text("\n".join(["# a", "# gene, term", *rows]))
    read = pl.concat(source_of(path).frames(["term", "gene"], 10_000))
    assert read["term"].unique().to_list() == ["GO:1, GO:2"]
    assert read["gene"].to_list() == [row.split(",")[0] for row in rows]


def test_lines_of_a_long_text_are_no_titles() -> None:
    cell = '"seen, well, and sent, then, on, to, ward\nHome, with, her, son, on, Friday, next"'
    rows = "".join(f"n{n},{cell},dog\n" for n in range(9))
    assert preamble_of(f"id,text,label\n{rows}".split("\n")) == Preamble()
