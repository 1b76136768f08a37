"""Files of kinds that are not read: each is named wherever it is given, with a hint that works."""

from __future__ import annotations

import gzip
import io
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.orc as orc
import pytest
import scipy.io

import audit
from audit.base.errors import AuditError, FormatError, InputError
from audit.base.files import first_bytes
from audit.base.other_files import KINDS
from audit.concepts.representation_files import read_representations
from audit.explanations.reading.row_files import read_rows
from fixtures.labelled import tree

TABLE = pl.DataFrame({"id": ["a", "b"], "label": ["cat", "owl"]})
TREE = tree("cat owl < animal")


def zipped(*names: str) -> bytes:
    with zipfile.ZipFile(made := io.BytesIO(), "w") as archive:
        for name in names:
            archive.writestr(name, "<x/>")
    return made.getvalue()


def tarred() -> bytes:
    with tarfile.open(fileobj=(made := io.BytesIO()), mode="w") as archive:
        archive.addfile(tarfile.TarInfo("x.csv"), io.BytesIO())
    return made.getvalue()


def written(write: Callable[[io.BytesIO], object]) -> bytes:
    write(made := io.BytesIO())
    return made.getvalue()


FRAME = TABLE.to_pandas()
ARROW = pa.table(FRAME)
OWL = "Prefix(:=<http://a/>)\nOntology(<http://a>\nSubClassOf(:cat :animal))"
LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
XML = "<?xml version='1.0'?>\n<!DOCTYPE {0}>\n<!-- x -->\n<{0}>{1}</{0}>"
CLAML = XML.format("ClaML", "<Class code='cat'><SuperClass code='animal'/></Class>")
BOXES = "<filename>a</filename><object><name>cat</name></object>"
PAGE = "\n<!DOCTYPE html>\n<html><head><title>Sign in</title></head></html>"
ERROR = "<?xml version='1.0'?>\n<Error><Code>AccessDenied</Code></Error>"
NEVER = {
    "Git LFS": LFS.encode(), "git-annex": b"/annex/objects/SHA256E-s1--e3b0.csv\n",
    "HTML": PAGE.encode(), "store of objects": ERROR.encode(), "PDF": b"%PDF-1.7\n%\xe2\xe3",
    "RTF": b"{\\rtf1\\ansi x}", "HDF5": b"\x89HDF\r\n\x1a\n\0\0", "Avro": written(TABLE.write_avro),
    "MATLAB": written(lambda made: scipy.io.savemat(made, {"scores": np.eye(2)})),
    "Parquet under another": written(TABLE.write_parquet), "Feather, ": written(TABLE.write_ipc),
    "ORC": written(lambda made: orc.write_table(ARROW, made)),
    "Word": zipped("_rels/.rels", "word/d"),
    "Stata": written(lambda made: FRAME.to_stata(made, write_index=False, version=118)),
    "SAS": b"\0" * 12 + b"\xc2\xea\x81\x60\xb3\x14\x11\xcf", "SPSS": b"$FL2@(#) SPSS DATA FILE",
    "of R": b"RDX3\nX\n\0\0\0\3", "DICOM": b"\0" * 128 + b"DICM", "picture": b"\x89PNG\r\n\x1a\n",
    "tar": tarred(), "zip": zipped("x.csv"), "7z": b"7z\xbc\xaf\x27\x1c\0\4",
    "RAR": b"Rar!\x1a\7\1",
    "zstd": b"\x28\xb5\x2f\xfd\0", "xz": b"\xfd7zXZ\0\0", "bzip2": b"BZh91AY&SY\0", "lz4":
    b"\x04\"M\x18",
    "DuckDB": b"\1" * 8 + b"DUCK\0", "Access": b"\0\1\0\0Standard Jet DB\0",
    "PostgreSQL": b"PGDMP\1",
    "functional": OWL.encode(), "Manchester": b"Prefix: : <http://a/>\nClass: :cat", "encrypted":
    b"-----BEGIN PGP MESSAGE-----\n\nabc", "before 2007": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
}  # fmt: skip
"""What is never read, by words that name it."""
UNMATCHED = {
    "ClaML": CLAML, "PASCAL VOC": XML.format("annotation", BOXES),
    "YAML": "---\na: b\n",
    "tabular list": XML.format("ICD10CM.tabular", ""),
    "a workbook in XML": '<?xml version="1.0"?>\n'
    '<?mso-application progid="Excel.Sheet"?>\n<Workbook/>',
}  # fmt: skip
READERS: dict[str, Callable[[Path], object]] = {
    "labels": lambda path: audit.load_labels(path, TREE),
    "predictions": lambda path: audit.load_predictions(path, audit.load_labels(TABLE, TREE)),
    "hierarchies": audit.load_hierarchy,
    "attributions": lambda path: read_rows(path, ["id"]),
    "representations": read_representations,
    "titles": lambda path: audit.load_labels(TABLE, TREE, titles=[path]),
}


@pytest.mark.parametrize("kind", NEVER)
def test_it_is_named_wherever_it_is_given(tmp_path: Path, kind: str) -> None:
    for suffix in (".npz", ".data"):
        (tmp_path / f"x{suffix}").write_bytes(NEVER[kind])
        (tmp_path / f"x{suffix}.gz").write_bytes(gzip.compress(NEVER[kind]))
    for what, read in READERS.items():
        suffix = ".npz" if what == "representations" and kind not in ("zip", "Word") else ".data"
        for given in (tmp_path / f"x{suffix}", tmp_path / f"x{suffix}.gz"):
            with pytest.raises(FormatError) as caught:
                read(given)
            assert kind in caught.value.found, what
            assert caught.value.hint, what
            assert str(given) == caught.value.where, what


@pytest.mark.parametrize("what", ["labels", "predictions", "hierarchies"])
@pytest.mark.parametrize("kind", UNMATCHED)
def test_it_is_named_where_nothing_matches(tmp_path: Path, kind: str, what: str) -> None:
    (path := tmp_path / "x.xml").write_text(UNMATCHED[kind])
    with pytest.raises(FormatError, match=kind) as caught:
        READERS[what](path)
    assert caught.value.hint


@pytest.mark.parametrize(
    "text",
    ["ORC,animal\nID3,animal", "PAR1,ORC\nRDX3,X", "BZh,animal\nRiff,animal", "7z,zip\nMM,RAR"],
)
def test_what_begins_with_the_same_letters_is_read(tmp_path: Path, text: str) -> None:
    (path := tmp_path / "h.csv").write_text(f"child,parent\n{text}\n")
    (bare := tmp_path / "bare.csv").write_text(f"{text}\n")

    assert len(audit.load_hierarchy(path)) >= 3
    assert first_bytes(bare)


def made_by(hint: str, folder: Path) -> None:
    """Runs the first command of a hint."""
    (code,) = re.findall(r'python -c "(.*?)"( > (\S+))?', hint)
    command = [sys.executable, "-c", code[0]]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True)
    if code[2]:
        (folder / code[2]).write_bytes(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Avro", "ORC", "Feather, ", "Stata", "Parquet under another"])
def test_the_hint_makes_a_file_of_labels(tmp_path: Path, kind: str) -> None:
    (path := tmp_path / "x.data").write_bytes(NEVER[kind])
    with pytest.raises(FormatError) as caught:
        audit.load_labels(path, TREE)
    if caught.value.hint.startswith("mv "):
        subprocess.run(caught.value.hint.split(), check=True)
    else:
        made_by(caught.value.hint, tmp_path)
    (made,) = (one for one in tmp_path.iterdir() if one != path)

    assert audit.load_labels(made, TREE).ledger.rows_mapped == 2


@pytest.mark.slow
def test_the_hint_makes_a_hierarchy(tmp_path: Path) -> None:
    (path := tmp_path / "x.xml").write_text(CLAML)
    with pytest.raises(FormatError) as caught:
        audit.load_hierarchy(path)
    made_by(caught.value.hint, tmp_path)

    assert audit.load_hierarchy(tmp_path / "h.csv").parents("cat") == ("animal",)


FUNCAT = {"01/01": "01", "01/01/03": "01/01", "02/07": "02"}
WRITTEN = {
    "an attribute of Clus": (
        "y.arff", "@RELATION y\n@ATTRIBUTE g string\n"
        f"@ATTRIBUTE class hierarchical 01,02,{','.join(FUNCAT)}\n@DATA\na,01/01\n",
        "classes.txt", FUNCAT),
    "an attribute of pairs": (
        "y.arff", "% Clus\n@relation y\n@attribute class hierarchical r/GO1,r/GO2,GO1/GO3\n@data\n",
        "h.csv", {"GO1": "r", "GO2": "r", "GO3": "GO1"}),
    "codes, a blank, titles": (
        "f.txt", "# FunCat\n01 METABOLISM\n01.01 amino acid metabolism\n02 ENERGY\n"
        "02.07 pentose pathway\n", "f.txt.tsv", {"01.01": "01", "02.07": "02"}),
}  # fmt: skip


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
def test_the_line_of_a_hint_makes_a_hierarchy(
    written: tuple[str, str, str, dict[str, str]], tmp_path: Path
) -> None:
    name, text, made, above = written
    (tmp_path / name).write_text(text)
    with pytest.raises(FormatError) as caught:
        audit.load_hierarchy(tmp_path / name)
    line, _, pairs = caught.value.hint.partition(" writes a path a class; ")
    line = line.partition(" puts a tab")[0]
    line += f"; {pairs.partition('GO, ')[2].partition(' makes')[0]}" * made.startswith("h.")
    subprocess.run(line, shell=True, cwd=tmp_path, check=True)
    found = audit.load_hierarchy(tmp_path / made)
    assert {n: found.parents(n)[0] for n in above} == above


@pytest.mark.slow
def test_the_hint_makes_labels_of_boxes_and_arrays_of_matlab(tmp_path: Path) -> None:
    for kind, content in (
        ("PASCAL VOC", UNMATCHED["PASCAL VOC"].encode()),
        ("MATLAB", NEVER["MATLAB"]),
    ):
        (path := tmp_path / f"{kind.split()[0]}.data").write_bytes(content)
        with pytest.raises(FormatError) as caught:
            audit.load_labels(path, TREE)
        made_by(caught.value.hint, tmp_path)

    assert audit.load_labels(tmp_path / "labels.csv", TREE).ledger.rows_mapped == 1
    assert np.load(tmp_path / "MATLAB.data.npz")["scores"].tolist() == [[1, 0], [0, 1]]


def test_a_link_of_git_annex_whose_content_is_elsewhere(tmp_path: Path) -> None:
    (path := tmp_path / "x.csv").symlink_to(".git/annex/objects/x")
    for read in READERS.values():
        with pytest.raises(InputError, match="git annex get"):
            read(path)


def test_a_pointer_in_place_of_parquet_is_named(tmp_path: Path) -> None:
    (path := tmp_path / "x.parquet").write_text(LFS)
    for what in ("labels", "predictions", "attributions", "representations"):
        with pytest.raises(AuditError, match="Git LFS"):
            READERS[what](path)


def test_hints_say_how() -> None:
    assert len({kind.name for kind in KINDS}) == len(KINDS)
    assert all(kind.way and not kind.way.endswith(".") for kind in KINDS)
