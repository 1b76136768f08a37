"""Annotations of genes and diseases against plain Python, in memory and in batches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import audit
from audit.base.errors import AuditError, SchemaError
from audit.counting.file import count_pairs
from audit.data.sources import source_of
from fixtures.written import written

TERMS = audit.load_hierarchy(
    pl.DataFrame({"child": ["GO:2", "GO:3", "GO:4"], "parent": ["GO:1", "GO:1", "GO:2"]})
)
SAID = [
    ("P1", "involved_in", "GO:2", "IEA", "P"), ("P1", "NOT|involved_in", "GO:3", "IDA", "P"),
    ("P2", "NOT", "GO:4", "IDA", "F"), ("P2", "enables", "GO:4", "TAS", "F"),
    ("P3", "notes|part_of", "GO:3", "IEA", "C"), ("P4", "not|part_of", "GO:3", "IEA", "C"),
]  # fmt: skip
"""Gene, qualifier, term, evidence, aspect."""
HPOA = (
    "#description: HPO annotations\n#version: 2024-04-26\ndatabase_id\tdisease_name\tqualifier\t"
    "hpo_id\treference\tevidence\tonset\tfrequency\tsex\tmodifier\taspect\tbiocuration\n"
)


def gaf(said: Sequence[Sequence[str]], version: str = "2.2", base: str = "UniProtKB") -> str:
    rows = [
        [base, gene, "S", qualifier, term, "PMID:1", evidence, "", aspect, "Name", "a|b", "protein",
         "taxon:9606", "20240101", "UniProt", "", ""]
        for gene, qualifier, term, evidence, aspect in said
    ]  # fmt: skip
    return f"!gaf-version: {version}\n!generated-by: GOC\n" + lines(rows)


def gpad(said: Sequence[Sequence[str]], version: str = "1.1") -> str:
    rows = [
        ["UniProtKB", gene, qualifier, term, "PMID:1", evidence, "", "", "20240101", "UniProt", "",
         f"go_aspect={aspect}"]
        for gene, qualifier, term, evidence, aspect in said
    ]  # fmt: skip
    return f"!gpa-version: {version}\n!\n" + lines(rows)


def gpad2(said: Sequence[Sequence[str]]) -> str:
    rows = [
        [gene, "NOT" * ("not" in qualifier.lower().split("|")), "RO:0002331", term, "PMID:1",
         evidence, "", "", "2024-01-01", "UniProt", "", aspect]
        for gene, qualifier, term, evidence, aspect in said
    ]  # fmt: skip
    return "!gpad-version: 2.0\n" + lines(rows)


def hpoa(said: Sequence[Sequence[str]], head: str = HPOA) -> str:
    rows = [
        [gene, "Some disease", "NOT" * ("not" in qualifier.lower().split("|")), term, "PMID:1",
         evidence, "", "3/7", "", "", aspect, "HPO:x[2020-01-01]"]
        for gene, qualifier, term, evidence, aspect in said
    ]  # fmt: skip
    return head + lines(rows)


def lines(rows: Sequence[Sequence[str]]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)


OLD_HPOA = HPOA.split("database_id")[0] + (
    "#DatabaseID\tDiseaseName\tQualifier\tHPO_ID\tReference\tEvidence\tOnset\tFrequency\tSex\t"
    "Modifier\tAspect\tBiocuration\n"
)
FORMS: dict[str, Any] = {
    "gaf": gaf, "gpad": gpad, "gpad2": gpad2, "hpoa": hpoa,
    "hpoa of old": lambda said: hpoa(said, OLD_HPOA),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_what_is_said_not_to_be_so_is_left_out_and_counted(form: str, tmp_path: Path) -> None:
    path = written(tmp_path / "a.txt", FORMS[form](SAID))
    kept = [(gene, term) for gene, qualifier, term, *_ in SAID
            if "not" not in qualifier.lower().split("|")]  # fmt: skip
    read = audit.load_labels(path, TERMS)
    counted = count_pairs(path, TERMS, batch=2)

    for ledger in (read.ledger, counted.ledger):
        assert (ledger.rows_read, ledger.rows_mapped) == (len(SAID), len(kept))
        assert ledger.refused == {"left_out": 3}
    rows, columns = read.direct.nonzero()
    ids = read.instances["instance"].to_list()
    found = {(ids[row], read.hierarchy.nodes[n]) for row, n in zip(rows, columns, strict=True)}
    assert found == {*kept}
    assert sorted(ids) == ["P1", "P2", "P3", "P4"]
    (told,) = [one for one in read.readings if "left out" in one.decision]
    assert told.rows == 3
    every = audit.load_labels(path, TERMS, where=[told.option.split("'")[1]])
    assert every.ledger.rows_mapped == len(SAID)


def test_evidence_and_aspect_are_columns(tmp_path: Path) -> None:
    (tmp_path / "a.gaf").write_text(gaf(SAID))
    read = audit.load_labels(tmp_path / "a.gaf", TERMS, where=["Evidence=IEA"], strata=["Aspect"])

    assert read.ledger.rows_mapped == 2
    assert read.instances["Aspect"].to_list() == ["P", "F", "C", "C"]


def test_excluded_by_frequency_is_left_out(tmp_path: Path) -> None:
    text = hpoa(SAID[:1]) + hpoa(SAID[:1], "").replace("3/7", "0/7")
    (tmp_path / "phenotype.hpoa").write_text(text)

    assert audit.load_labels(tmp_path / "phenotype.hpoa", TERMS).ledger.rows_mapped == 1


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("quoted", ['"C" lectin', '"open', 'it"s'])
def test_quotes_are_letters_as_others(form: str, quoted: str, tmp_path: Path) -> None:
    rows = FORMS[form](SAID)
    path = tmp_path / "a.txt"
    path.write_text(rows.replace("PMID:1", quoted, 1).replace("PMID:1", 'end"', 1))

    for read in (audit.load_labels(path, TERMS), count_pairs(path, TERMS, batch=2)):
        assert (read.ledger.rows_read, read.ledger.rows_mapped) == (len(SAID), 3)
    table = source_of(path).table()
    (name,) = [one for one in table.columns if one.lower().endswith("reference")]
    assert table[name].to_list()[:3] == [quoted, 'end"', "PMID:1"]


BROKEN = {
    "version 1": (gaf([(*SAID[0][:3], "IEA", "P")], "1.0"), "GAF of version 2.0 or 2.1 or 2.2"),
    "too few columns": ("!gaf-version: 2.2\nA\tB\tC\n", "in 3 columns"),
    "GPAD of 3": (gpad(SAID, "3.0"), "GPAD"),
    "two databases": (gaf(SAID) + gaf(SAID[:1], base="MGI").split("\n", 2)[2], "one database"),
    "cut": (gaf(SAID)[:-60], "fields"),
    "notes alone": ("!gpa-version: 1.1\n", "annotations below the first lines"),
}


@pytest.mark.parametrize(("text", "said"), BROKEN.values(), ids=[*BROKEN])
def test_what_is_broken_is_refused_in_a_sentence(text: str, said: str, tmp_path: Path) -> None:
    path = written(tmp_path / "a.gaf", text)

    with pytest.raises(AuditError, match=said) as caught:
        audit.load_labels(path, TERMS)
    assert caught.value.exit_status == 2
    assert str(path) in str(caught.value)
    with pytest.raises(AuditError, match=said):
        count_pairs(path, TERMS, batch=2)


def test_ids_of_two_databases_are_read_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "a.gaf").write_text(gaf(SAID) + gaf(SAID[:1], base="MGI").split("\n", 2)[2])

    read = audit.load_labels(tmp_path / "a.gaf", TERMS, where=["DB=MGI"])
    assert read.ledger.rows_mapped == 1
    with pytest.raises(SchemaError, match="nope"):
        audit.load_labels(tmp_path / "a.gaf", TERMS, id="nope")
