"""Layouts that strangers brought: each is read as meant, or its hint works as it is printed."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import audit
from audit.base.errors import AuditError, FormatError
from audit.hierarchies.titles import read_titles
from fixtures.labelled import tree

GO = tree("GO:1 GO:2 < GO:0", "GO:3 GO:4 < GO:9")
ILL = tree("asthma copd flu cough < ill")
CODES = tree("C18.0 C18.7 < C18", "C34.9 C34.1 < C34")
TARIFF = tree("847130 847141 < 8471", "090111 090121 < 0901")
JOBS = tree("1211 1221 < 12", "12 < 1", "2221 < 22", "22 < 2", "3 4 5 6 7 8 9 < jobs")
ISCO = tree("1211 1221 < 12", "12 < 1", "2221 < 22", "22 < 2", name="ISCO-08 EN")
CATEGORIES = tree("25000 25001 < CCS_49", "135 25010 < CCS_50", "496 < CCS_135")
ROWS = 40
TARIFFED = ("847130;090111", "847141;090121")


def table(header: str, *rows: str, times: int = ROWS) -> str:
    """Rows again and again, with the number of the row for # and of the fourth for @."""
    every = [rows[n % len(rows)] for n in range(times)]
    lines = [one.replace("#", f"{n + 10}").replace("@", f"{n // 4 + 10}")
             for n, one in enumerate(every)]  # fmt: skip
    return "\n".join([*([header] if header else []), *lines]) + "\n"


Layout = tuple[str, Any, str, int, int]
"""A table, its hierarchy, the options that are proposed, and how many instances and labels."""
ASKED: dict[str, Layout] = {
    "several columns of other nodes": (
        table("Entry\tprocess\tpart\tfunction", "P#A\ta [GO:1]; b [GO:2]\t\tc [GO:3]",
              "P#A\ta [GO:1]\td [GO:4]\t"),
        GO, "--id Entry --label process,part,function", 40, 100),
    "secondary codes beside, in runs": (
        table("KH-Kennzeichen;Kode;Stern-Kode", "20230@;C18.0+;C34.1*", "20230@;C34.9;",
              "20230@;C18.7!;"),
        CODES, "--id KH-Kennzeichen --label Kode,Stern-Kode", 10, 54),
    "a contact whose rows are apart": (
        table("krypt;kode;dw_kontakt",
              *(f"k{n % 5}00;C18.{n % 2 * 7};K{n % 7}770" for n in range(ROWS))),
        CODES, "--id dw_kontakt --label kode", 7, 40),
    "visits of persons": (
        table("DAY,ID,ACODE_1,ACODE_2",
              *(f"{n % 9},p{n % 7},4019,{['', '4280'][n % 2]}" for n in range(ROWS))),
        "icd9cm", "--id ROW --label ACODE_#", 40, 60),
    "answers in small numbers": (
        table("round,gndr,happy,isco,iscop,hours", "9,1,8,1211,2221,38", "9,2,3,2221,2221,40"),
        JOBS, "--id ROW --label isco", 40, 40),
    "one column that says again what several do": (
        table("n;LINEA;LINEB;CAUSE;FIRST", "#;*847130*090111;*090121;847130;090121",
              "#;*847141;;847141;847130", "#;*090121;*847130;847130;847130",
              "#;*090121;*847130;090121;090111", "#;*090121;;847130;090121"),
        TARIFF, "--id n --label CAUSE", 40, 40),
    "quantities that differ in each row": (
        table("MUN;SH6;KG;USD", *(f"{4735000 + n % 9 * 411};847130;{n * 7919 % 9973};${n}.5"
                                  for n in range(ROWS))),
        TARIFF, "--id ROW --label SH6", 40, 40),
    "written codes, cleaned ones and those above": (
        table("PO Order No,Raw,Code,Class,Price", 'po-@,"847130\n090111",847130,8471,$#.10',
              "po-@,847141,847141,8471,$2.50", "po-@,090111,090111,0901,$#.90"),
        TARIFF, "--id 'PO Order No' --label Code", 10, 40),
    "a time, flags and a duration before labels": (
        table("time,kept,ill,took", *(f"{n // 6:02}:{n % 60:02}:00,{'YN'[n % 2]},asthma,{n} min"
                                      for n in range(ROWS))),
        ILL, "--id ROW --label ill", 40, 40),
    "days with names of months": (
        table("seen,cured,what", *(f"{n % 28 + 1} May 20{n},{n % 2},flu" for n in range(ROWS))),
        ILL, "--id ROW --label what", 40, 40),
    "sexes, answers and ages that are nodes too": (
        table("sex,aged,own,job", *(f"{'12'[n % 2]},{n % 9 + 1},{n % 2},{[1211, 2221][n % 2]}"
                                    for n in range(ROWS))),
        JOBS, "--id ROW --label job", 40, 40),
    "minutes that are as long as codes": (
        table("hours,minutes,work,before", *(f"{n % 3 + 1},{[12, 22][n % 2]},1211,2221"
                                             for n in range(ROWS))),
        JOBS, "--id ROW --label work", 40, 40),
    "a household is none of its members": (
        table("household,weight,job", *(f"{1000 + n // 2},0.{n % 7 + 1},1211"
                                        for n in range(ROWS))),
        JOBS, "--id ROW --label job", 40, 40),
    "a column that is called as the top is": (
        table("hour,ill,free", *(f"{n % 9}:30,{['asthma', 'flu'][n % 2]},{n % 2}"
                                 for n in range(ROWS))),
        ILL, "--id ROW --label ill", 40, 40),
    "a day of birth, a hospital": (
        table("born;ward;LINEA;LINEB;n", *(
            f"{n % 28 + 1:02}09{1930 + n};{n * 37 % 997 + 1000};{TARIFFED[n % 2]};{n + 1}"
            for n in range(ROWS))),
        TARIFF, "--id n --label LINEA,LINEB", 40, 80),
    "no header, several labels in brackets": (
        table("", "jg@.t1\tf#\tGO:1(PANTHER)|GO:3(Pro)\tx", "jg@.t1\tf#\tGO:2(Pro)\tx",
              "jg@.t1\tf#\tGO:4(Pro)\tx"),
        GO, "--id 'column A' --label 'column C'", 10, 54),
}  # fmt: skip


@pytest.mark.parametrize("layout", ASKED.values(), ids=ASKED)
def test_the_first_command_that_is_proposed_reads_all_labels(
    layout: Layout, tmp_path: Path
) -> None:
    text, hierarchy, options, instances, labels = layout
    (path := tmp_path / "a.tsv").write_text(text)
    with pytest.raises(AuditError) as caught:
        audit.load_labels(path, hierarchy)
    proposed = caught.value.hint.partition("perhaps: ")[2].partition(";")[0].partition(" or: ")[0]
    typed, meant = shlex.split(proposed), shlex.split(options)
    assert typed == meant
    dataset = audit.load_labels(path, hierarchy, id=typed[1], label=typed[3])
    assert (len(dataset), dataset.ledger.rows_mapped) == (instances, labels)


def test_a_mark_of_excluded_diagnoses_below_a_name_that_is_there_twice_is_asked(
    tmp_path: Path,
) -> None:
    rows = [f"c{n // 4}000;C18.{n % 2 * 7};{'A' * (n % 5 == 0)};;" for n in range(ROWS)]
    names = "KH-Kennzeichen;ICD-Kode;Diagnosensicherheit;Sekundär-Kode;Diagnosensicherheit"
    (path := tmp_path / "ICD.csv").write_text("\n".join([names, *rows]))
    with pytest.raises(AuditError, match="what 'Diagnosensicherheit' says") as caught:
        audit.load_labels(path, CODES, id="KH-Kennzeichen", label="ICD-Kode")
    (where, *_) = re.findall(r"--where (\S+)", caught.value.hint)
    dataset = audit.load_labels(
        path, CODES, id="KH-Kennzeichen", label="ICD-Kode", where=[where.strip("'")]
    )
    assert dataset.ledger.refused == {"left_out": 8}


def test_a_state_of_labels_is_told_with_the_columns_beside_which_it_is_asked(
    tmp_path: Path,
) -> None:
    states = ["PRESENT", "ABSENT"]
    rows = [
        f"{n + 400}\turn:{n}\tDE\t{states[n % 4 == 0]}\tGO:{n % 4 + 1}\tGO:{n % 3 + 1}"
        for n in range(ROWS)
    ]
    names = "gbifID\toccurrenceID\tcountry\toccurrenceStatus\ttaxonKey\tspeciesKey"
    (path := tmp_path / "a.csv").write_text("\n".join([names, *rows]))
    with pytest.raises(AuditError) as caught:
        audit.load_labels(path, GO)
    typed = shlex.split(caught.value.hint.partition("perhaps: ")[2].partition(" or: ")[0])
    (where, *_) = re.findall(r"--where '(\S+)'", caught.value.hint)
    dataset = audit.load_labels(path, GO, id=typed[1], label=typed[3], where=[where])
    assert dataset.ledger.refused == {"left_out": 10}


@pytest.mark.parametrize("name", ["NUM_RSS", "no_sejour", "num_dossier"])
def test_a_number_of_stays_that_is_called_so_is_their_id(name: str, tmp_path: Path) -> None:
    rows = [
        f"{n + 22000};IPP{n:04};{n % 2 + 1};{n % 9};{TARIFFED[n % 2][:6]};"
        f"{['', '090111'][n % 3 == 0]};{TARIFFED[0][n % 2 * 7 :][:6]};"
        for n in range(ROWS)
    ]
    names = f"{name};IPP;SEXE;DUREE;DP;DR;DAS1;DAS2"
    (path := tmp_path / "a.csv").write_text("\n".join([names, *rows]))
    try:
        said = [one.decision for one in audit.load_labels(path, TARIFF).readings]
    except FormatError as error:
        said = [error.hint]
    assert any(f"{name!r} is the id" in one or f"perhaps: --id {name} " in one for one in said)


def test_ways_from_the_top_are_not_split_where_some_are_unknown(tmp_path: Path) -> None:
    (tmp_path / "h.txt").write_text("1 - Pets\n2 - Pets > Cats\n3 - Pets > Cats > Toys\n")
    rows = table("id,what", "#,Pets > Cats > Toys", "#,Pets > Cats > Beds", times=8)
    (path := tmp_path / "a.csv").write_text(rows.replace("Beds", "Toys", 3))
    dataset = audit.load_labels(path, audit.load_hierarchy(tmp_path / "h.txt"))
    assert dataset.ledger.rows_read == 8
    assert {*dataset.mappings["node"]} == {"3"}


def test_the_finer_of_two_ids_that_is_called_the_main_one_is_taken(tmp_path: Path) -> None:
    rows = (
        f"{10200 + n // 8}00{n // 4 % 2}${10200 + n // 8}$C18.{n % 2 * 7}$" for n in range(ROWS)
    )
    (path := tmp_path / "REAC.txt").write_text("\n".join(["primaryid$caseid$pt$act", *rows]) + "\n")
    assert len(audit.load_labels(path, CODES)) == 10


@pytest.mark.parametrize("beside", ["image_url", "scan_id", "recording_id"])
def test_a_column_that_is_called_the_id_comes_first(beside: str, tmp_path: Path) -> None:
    rows = table(f"id,{beside},user_id,kind", "9#,x#,u@,A", "8#,y#,u@,B")
    (path := tmp_path / "a.csv").write_text(rows)
    told = " ".join(
        one.decision for one in audit.load_labels(path, {"A": "top", "B": "top"}).readings
    )
    assert "'id' is the id of an instance" in told


@pytest.mark.parametrize("person", ["recordedBy", "identified_by", "annotator_id", "observer_no"])
def test_who_said_what_a_row_holds_is_no_id(person: str, tmp_path: Path) -> None:
    rows = [f"4{n * 37 % 100},URN:{n},obsr{8000 + n * 7 % 23},{'AB'[n % 2]}" for n in range(ROWS)]
    (path := tmp_path / "a.csv").write_text(
        "\n".join([f"gbifID,occurrenceID,{person},kind", *rows])
    )
    with pytest.raises(FormatError, match=r"perhaps: --id (gbif|occurrence)ID --label"):
        audit.load_labels(path, {"A": "top", "B": "top"})


@pytest.mark.parametrize(
    "header", ["text,l1,l2,l3", "review,l1,l2,l3", "realm,field,topic,abstract"]
)
def test_sentences_are_neither_levels_nor_ids(header: str, tmp_path: Path) -> None:
    kinds = [",".join(ways) for ways in zip("AAAABBBB", "aabbccdd", "stuvwxyz", strict=True)]
    texts = [f"it is the {n} " + "of them " * 9 for n in range(ROWS)]
    rows = [{"topic": kinds[n % 8], "text": text} for n, text in enumerate(texts)]
    order = ["topic", "text"] if header.startswith("realm") else ["text", "topic"]
    lines = [header, *(",".join(row[name] for name in order) for row in rows)]
    (path := tmp_path / "a.csv").write_text("\n".join(lines))
    known = audit.load_hierarchy(path)
    assert len(known.nodes) == 15
    found = audit.load_labels(path, known)
    assert {*found.instances["instance"]} == {*map(str, range(ROWS))}
    lowest = "topic" if header.startswith("realm") else "l3"
    assert any(one.decision == f"'{lowest}' holds the labels" for one in found.readings)


@pytest.mark.parametrize("named", [{}, {"id": "hospital,stay_no", "label": "code"}])
def test_stays_that_begin_anew_in_each_hospital_are_known_by_both(
    named: dict[str, str], tmp_path: Path
) -> None:
    rows = (f"H{n // 20},{n % 20 // 2},C18.{n % 2 * 7}" for n in range(ROWS))
    (path := tmp_path / "a.csv").write_text("\n".join(["hospital,stay_no,code", *rows]) + "\n")
    with pytest.raises(AuditError) as caught:
        audit.load_labels(path, CODES, **named)
    (code,) = re.findall(r'python -c "(.*?)" makes', caught.value.hint)
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    dataset = audit.load_labels(tmp_path / "keyed.csv", CODES, id="key", label="code")
    assert (len(dataset), dataset.ledger.rows_mapped) == (20, ROWS)


def test_cells_that_were_merged_are_filled_by_what_is_proposed(tmp_path: Path) -> None:
    rows = (f"m{n // 3 if n % 3 == 0 else ''},{'MF'[n % 2] if n % 3 == 0 else ''},C18.{n % 2 * 7}"
            for n in range(ROWS))  # fmt: skip
    text = "MRN,Sex,code\n" + "\n".join(rows).replace("m,", ",") + "\n"
    (path := tmp_path / "a.csv").write_text(text)
    with pytest.raises(AuditError, match="'MRN', 'Sex' stand in the first row") as caught:
        audit.load_labels(path, CODES)
    (code,) = re.findall(r'python -c "(.*?)" makes', caught.value.hint)
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    dataset = audit.load_labels(tmp_path / "filled.csv", CODES)
    assert (len(dataset), dataset.ledger.rows_mapped) == (14, ROWS)


@pytest.mark.parametrize("sign", [", ", "|", "; ", " and ", " / "])
def test_nothing_is_proposed_that_takes_words_off_lists(sign: str, tmp_path: Path) -> None:
    lists = (sign.join(["Asthma", *["copd", "flu"][: n % 2 + 1]]) for n in range(ROWS))
    (path := tmp_path / "a.csv").write_text(
        "\n".join(["id,label", *(f'#{n},"{one}"' for n, one in enumerate(lists))])
    )
    made = audit.load_labels(path, ILL, format="long")
    assert not [one.option for one in made.readings if one.option.startswith("--strip")]


def test_numbers_of_stated_classes_are_proposed(tmp_path: Path) -> None:
    (path := tmp_path / "a.csv").write_text(
        table(",y_true,y_pred,proba_0", "#,0,1,0.5", "#,2,1,0.3")
    )
    with pytest.raises(AuditError, match="--label y_true"):
        audit.load_labels(path, ILL, classes=["asthma", "flu", "copd"])
    assert (
        audit.load_labels(
            path, ILL, classes=["asthma", "flu", "copd"], label="y_true"
        ).ledger.rows_mapped
        == ROWS
    )


def test_vectors_in_cells_are_scores(tmp_path: Path) -> None:
    rows = [f'd{n},flu,"[0.1,{0.5 + n / 100},0.{4 - n}]",1.0' for n in range(4)]
    (path := tmp_path / "a.csv").write_text(
        "\n".join(["doc_id,category,probability,prediction", *rows])
    )
    labels = audit.load_labels(path, ILL, id="doc_id", label="category")
    found = audit.load_predictions(path, labels, classes=["asthma", "flu", "copd"])
    assert sorted(found.scores.toarray().max(axis=1)) == [0.5, 0.51, 0.52, 0.53]
    assert found.instances == ("d0", "d1", "d2", "d3")


READ: dict[str, tuple[str, str, Any, int, int]] = {
    "numbers beside names of other things": (
        "a.csv", table("CASE;UNIT1;CLOCK1;CLOCK1NAME;SOE;CLOCK2;CLOCK2NAME",
              *(f"{10000 + n // 4};1;{n % 9 + 1};{n % 9 + 1} Clock;{[1211, 2221][n % 2]};"
                f"{n % 7 + 1};{n % 7 + 1} Clock" for n in range(ROWS))),
        JOBS, 10, 40),
    "a column that is called as the file of nodes": (
        "a.csv", table("no,gndr,weight,isco08,isco08p", "#,1,1.0,1211,2221", "#,2,1.0,1221,1211",
                       "#,2,2.0,2221,1211"),
        ISCO, 40, 40),
    "blanks between digits of nodes": (
        "a.csv", table("No,Item", "m#,01012100", "m#,01012910;01012100"),
        audit.load_hierarchy(parents={"0101 21 00": "0101", "0101 29 10": "0101"}), 40, 60),
    **{f"blanks {how} in symbols": (
        "a.csv", table("appln_id,cpc_class_symbol", f"7@,{one}", f"7@,{other}"),
        audit.load_hierarchy(parents={"A61K": "A61", f"A61K{sign}9/20": "A61K",
                                      f"G06F{sign}17/30": "G06"}), 10, 40)
       for how, sign, one, other in (("that nodes lack", "", "A61K   9/20", "G06F  17/30"),
                                     ("that are fewer", " ", "A61K   9/20", "G06F  17/30"),
                                     ("that labels lack", " ", "A61K9/20", "G06F17/30"))},
    **{f"categories of a shop, {how}": (
        "a.csv", table("handle,title,product_category", f"p#,Thing #,{one}", f"p#,Thing #,{other}"),
        "# Categories: 2025-03\n# Format: {GID} : {Ancestor} > {Name}\n\n"
        "gid://shop/Category/aa      : Apparel & Art\n"
        "gid://shop/Category/aa-1    : Apparel & Art > Clothing\n"
        "gid://shop/Category/aa-1-2  : Apparel & Art > Clothing > Belts\n"
        "gid://shop/Category/ap-1    : Pets > Live Animals\n", 40, 40)
       for how, one, other in (
           ("by their addresses", "gid://shop/Category/aa-1-2", "gid://shop/Category/ap-1"),
           ("by the ends of these", "aa-1-2", "ap-1"),
           ("by the ways to them", "Apparel & Art > Clothing > Belts", "Pets > Live Animals"))},
    **{f"several labels at the end of lines, {how}": (
        "a.csv", table(header, *rows), ILL, 40, labels) for how, header, rows, labels in (
        ("no header", "", ("gs://b/#.jpg,flu", "gs://b/#.jpg,asthma,flu,cough"), 80),
        ("a set before", "", ("TEST,gs://b/#.jpg,flu", "TRAIN,gs://b/#.jpg,cough,flu"), 60),
        ("some have none", "", ("gs://b/#.jpg", "gs://b/#.jpg,asthma,flu,cough"), 60),
        ("a header of two", "image,labels", ("i#,flu", "i#,asthma,flu"), 60),
        ("a name for each", "image,ill_1,ill_2", ("i#,flu", "i#,asthma,flu"), 60),
        ("tabs", "", ("i#\tflu", "i#\tcopd\tflu\tcough"), 80),
        ("no ids", "", ("flu", "copd;flu;cough"), 80),
        ("numbers as ids", "", ("#,flu", "#,copd,flu"), 60))},
    **{f"numbers that a job of SageMaker names, {how}": (
        "a.manifest", "".join(json.dumps({
            "source-ref": f"s3://b/{n}.jpg", "ill": value,
            "ill-metadata": {"job-name": "labeling-job/ill", "human-annotated": "yes", **said},
        }) + "\n" for n in range(ROWS)), ILL, 40, labels)
       for how, value, said, labels in (
           ("several", [0, 2], {"class-map": {"0": "asthma", "2": "flu"}}, 80),
           ("one", 2, {"class-name": "flu", "confidence": 0.9}, 40),
           ("in boxes", {"annotations": [{"class_id": 0, "top": 1}]},
            {"class-map": {"0": "asthma"}}, 40))},
    "ways with slashes where nodes have dots": (
        "a.csv", table("gene,class", "g#,01/01/03&02/07", "g#,01/01").replace("&", "@"),
        audit.load_hierarchy(parents={"01.01": "01", "01.01.03": "01.01", "02.07": "02",
                                      "03": "01"}), 40, 60),
    **{f"answers of Prodigy, {key}": (
        "a.jsonl", "".join(json.dumps({
            "text": f"text {n}", "_input_hash": n * 7919 - 9, "_task_hash": n * 104729,
            "options": [{"id": "flu", "text": "flu"}], "answer": "accept",
            key: value}) + "\n" for n in range(ROWS)), ILL, 40, 40)
       for key, value in (("cats", {"flu": 1.0, "copd": 0.0}), ("accept", ["flu"]))},
    "a title behind a dash": (
        "a.csv", table("Patient ID,Site", "p@,C18.0-Cecum", 'p@,"C34.9-Lung, NOS"'), CODES, 10, 40),
    "dots that nodes lack": (
        "a.csv", table("MRN,Item,Commodity", "m@,1,8471.30", "m@,2,0901.11"), TARIFF, 10, 40),
    "texts behind codes, and some of no node": (
        "a.csv", table("No,Item", "m#,8471 - Machines", 'm#,"0901 - Coffee, tea"',
                       "m#,847141 - Other"), TARIFF, 40, 40),
    "bars between codes that slashes part": (
        "a.csv", table("no,dewey", "#,813/.54 | 170", "#,813.54 | 170 | 18", "#,170"),
        audit.load_hierarchy(parents={"813.54": "81", "170": "17", "18": "1"}), 40, 80),
    "numbers behind the letters of nodes": (
        "a.csv", table("hh_id,member,coicop", "@,1,0111", "@,2,012", "@,3,0111", "@,4,02"),
        audit.load_hierarchy(parents={"CP0111": "CP011", "CP011": "CP01", "CP012": "CP01",
                                      "CP02": "CP00"}), 10, 40),
    "codes in small letters": (
        "a.csv", table("id,date,atc", "#,2020-01-02,a10ba02", "#,2020-01-03,c07ab02"),
        audit.load_hierarchy(parents={"A10BA02": "A10BA", "C07AB02": "C07AB"}), 40, 40),
    "signs in twos between codes": (
        "a.csv", table("ID_LOT,CPV,ADDITIONAL_CPVS", "9000@,847130,090111---090121", "9000@,0901,",
                       "9000@,8471,847141||090111"), TARIFF, 10, 94),
    "a version that is a year": (
        "a.csv", table("MRN,IsicVersion,Item,note", "m@,2003,999999,x", "m@,2008,847130,x"),
        TARIFF, 10, 20),
    "texts beside lists": (
        "a.json", json.dumps({"articles": [
            {"pmid": f"30{n}", "title": f"Flu and a study of {n} others", "mesh": ["Flu", "Copd"]}
            for n in range(ROWS)
        ]}), ILL, 40, 80),
    "spans with numbers before": (
        "a.jsonl", "\n".join(json.dumps(
            {"id": n, "text": "x", "label": [[0, 5, "flu"], [7, n + 9, "copd"]]})
            for n in range(ROWS)), ILL, 40, 80),
    "lists of titles within texts of JSON": (
        "a.jsonl", "\n".join(json.dumps(
            {"id": f"r{n}", "answer": json.dumps({"labels": [["Cats"], ["Cats", "Dogs"]][n % 2]})}
        ) for n in range(ROWS)), "Pets\nPets > Cats\nPets > Dogs\n", 40, 60),
    "checkboxes beside others": (
        "a.csv", table("record_id,c___asthma,c___copd,c___flu,consent___1,consent___2",
                       "#,1,0,0,1,0", "#,0,1,1,0,1"), ILL, 40, 60),
    "lists of ways of titles": (
        "a.json", json.dumps([
            {"asin": f"B{n}", "on": [["Pets", "Cats"], ["Pets", "Dogs"]][n % 2 :], "or": {"x": 1}}
            for n in range(ROWS)
        ]),
        "Pets\nPets > Cats\nPets > Dogs\n", 40, 60),
    "keys of synonyms": (
        "a.csv", table("gbifID,key,acceptedKey", "#,s1,GO:1", "#,GO:1,GO:1", "#,s3,GO:3",
                       "#,s4,GO:3"),
        GO, 40, 40),
}  # fmt: skip


@pytest.mark.parametrize("layout", READ.values(), ids=READ)
def test_it_is_read_at_the_first_command(
    layout: tuple[str, str, Any, int, int], tmp_path: Path
) -> None:
    name, text, hierarchy, instances, labels = layout
    (path := tmp_path / name).write_text(text)
    if isinstance(hierarchy, str):
        (tmp_path / "h.txt").write_text(hierarchy)
        hierarchy = audit.load_hierarchy(tmp_path / "h.txt")
    dataset = audit.load_labels(path, hierarchy)
    assert (len(dataset), dataset.ledger.rows_mapped) == (instances, labels)
    assert not {**dataset.ledger.refused} or dataset.ledger.refused == {"left_out": 20}
    assert dataset.readings


@pytest.mark.parametrize("extra", [", and more", ",and more", ",1.5"])
def test_texts_with_commas_are_no_labels_at_the_ends_of_lines(extra: str, tmp_path: Path) -> None:
    rows = [f"{n},some text {n}{f'{extra} {n}' * (n % 4 == 0)},flu" for n in range(ROWS)]
    (path := tmp_path / "a.csv").write_text("\n".join(["id,text,label", *rows]))
    with pytest.raises(AuditError, match="every row must have the 3 fields"):
        audit.load_labels(path, ILL)


def test_remarks_that_name_nodes_are_no_labels(tmp_path: Path) -> None:
    said = ["no flu; a cough", "asthma and/or copd", "copd: none"]
    rows = [f"p{n},{['flu', 'copd'][n % 2]},{said[n % 3]}" for n in range(ROWS)]
    (path := tmp_path / "a.csv").write_text("\n".join(["id,found,remark", *rows]))
    dataset = audit.load_labels(path, ILL)
    assert dataset.ledger.rows_read == dataset.ledger.rows_mapped == ROWS


@pytest.mark.parametrize("bad", ["discarded", "draft", "cancelled", "withdrawn", "Rejected"])
@pytest.mark.parametrize("good", ["submitted", "Completed", "approved"])
def test_the_state_of_a_nested_answer_is_asked(good: str, bad: str, tmp_path: Path) -> None:
    answers = [{"value": ["flu"], "status": good}, {"value": ["asthma"], "status": bad}]
    lines = [{"id": n, "responses": {"topic": answers[n % 2 :]}} for n in range(ROWS)]
    (path := tmp_path / "a.json").write_text(json.dumps(lines))
    with pytest.raises(AuditError, match=r"what 'responses\.topic\.status' says") as caught:
        audit.load_labels(path, ILL, id="id", label="responses.topic.value")
    where = re.findall(r"--where '(.*?)'", caught.value.hint)
    left_out, every = (
        audit.load_labels(path, ILL, id="id", label="responses.topic.value", where=[one])
        for one in where
    )
    assert left_out.ledger.refused == {"left_out": ROWS}
    assert every.ledger.rows_mapped == 60


@pytest.mark.parametrize(
    ("cells", "carried"),
    [(["0,2,13,4", "1,0,0,7"], "every count"), (["1,2,2,1", "2,1,2,2"], "1, which may be yes")],
    ids=["counts", "1 for yes and 2 for no"],
)
def test_numbers_below_nodes_are_asked_with_what_makes_flags_of_them(
    cells: list[str], carried: str, tmp_path: Path
) -> None:
    rows = [f"site#,{one}" for one in cells]
    (path := tmp_path / "a.csv").write_text(table("plot,asthma,copd,flu,cough", *rows))
    with pytest.raises(AuditError, match=re.escape(f"in which {carried}")) as caught:
        audit.load_labels(path, ILL)
    (code,) = re.findall(r'python -c "(.*?)" makes', caught.value.hint)
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    dataset = audit.load_labels(tmp_path / "flags.csv", ILL)
    met = [int(one) for row in cells for one in row.split(",")]
    yes = sum(one >= 1 if 0 in met else one == 1 for one in met)
    assert (len(dataset), dataset.ledger.rows_mapped) == (ROWS, yes * ROWS // 2)


@pytest.mark.parametrize("doubt", ["-1", "-1.0", "u", "U"])
@pytest.mark.parametrize("meant", [0, 1])
def test_uncertain_flags_are_asked_with_what_makes_them_labels_or_none(
    doubt: str, meant: int, tmp_path: Path
) -> None:
    rows = (f"scan#,1.0,{doubt},,0.0", f"scan#,{doubt},0.0,1.0,")
    (path := tmp_path / "a.csv").write_text(table("path,asthma,copd,flu,cough", *rows))
    with pytest.raises(AuditError, match="in which what is uncertain is a label") as caught:
        audit.load_labels(path, ILL)
    (code,) = re.findall(r'python -c "(.*?)" makes', caught.value.hint)
    code = code.replace("'1'", f"'{meant}'")
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    dataset = audit.load_labels(tmp_path / "flags.csv", ILL)
    assert (len(dataset), dataset.ledger.rows_mapped) == (ROWS, ROWS * (1 + meant))


CLASSES = [{"filepath": "a", "classifications": {"classes": ["u;m;flu"], "scores": [0.9]}}]
BATCH = {"id": "batch_req_1", "custom_id": "a", "response": {"body": {"choices": [
    {"message": {"content": "flu"}}]}}, "error": None}  # fmt: skip
CONVERTED = {
    "tagged records": ("\nPMID- 12\nTI  - A\nMH  - Flu/*therapy\n", "id\tlabel\n12\tFlu\n"),
    "SpeciesNet": (json.dumps({"predictions": CLASSES}), '{"id": "a", "scores": {"flu": 0.9}}\n'),
    "OpenAI": (json.dumps(BATCH), '{"id": "a", "prediction": "flu"}\n'),
}


@pytest.mark.parametrize("kind", CONVERTED)
def test_what_is_not_read_is_named_with_what_converts_it(kind: str, tmp_path: Path) -> None:
    text, made = CONVERTED[kind]
    (path := tmp_path / "x.data").write_text(text)
    with pytest.raises(FormatError, match=kind) as caught:
        audit.load_labels(path, ILL)
    command = caught.value.hint.partition(" makes ")[0].replace("python", sys.executable)
    subprocess.run(["bash", "-c", command], check=True)
    (written,) = set(tmp_path.iterdir()) - {path}
    assert written.read_text() == made


def test_numbers_of_categories_are_not_codes_that_are_written_alike(tmp_path: Path) -> None:
    (path := tmp_path / "a.csv").write_text(table("id,CCS,LOS", "#,49,3", "#,135,49", "#,50,2"))
    dataset = audit.load_labels(path, CATEGORIES)
    assert {*dataset.mappings["node"]} == {"CCS_49", "CCS_135", "CCS_50"}
    (path := tmp_path / "b.csv").write_text(table("id,code", "#,25000", "#,135", "#,25010"))
    assert "135" in {*audit.load_labels(path, CATEGORIES).mappings["node"]}


def test_terms_are_read_by_their_titles(tmp_path: Path) -> None:
    above = {1: (2, 5), 6: (2,), 2: (3,), 5: (3,), 7: (8,), 10: (8,), 8: (9,), 3: (4,), 9: (4,)}
    rows = [(f"1000{low:04}", f"1000{up:04}", f"Term {low}") for low in above for up in above[low]]
    hierarchy = audit.load_hierarchy(pl.DataFrame(rows, ["child", "parent", "title"], orient="row"))
    (path := tmp_path / "s.csv").write_text(
        table("REPORT_ID,SYMPTOM1,SYMPTOMVERSION1,SYMPTOM2,SYMPTOMVERSION2",
              "93220@,Term 1,26.1,Term 6,26.1", "93220@,Term 2,26.1,,")
    )  # fmt: skip
    dataset = audit.load_labels(path, hierarchy)
    assert (len(dataset), dataset.ledger.rows_mapped) == (10, 60)


def test_a_format_that_a_table_is_not_of_is_to_be_left_out(tmp_path: Path) -> None:
    (path := tmp_path / "a.txt").write_text("i1 flu\ni2 copd\ni1 cough\n")
    with pytest.raises(AuditError, match="leave --format out"):
        audit.load_labels(path, ILL, format="grouped")
    assert audit.load_labels(path, ILL).ledger.rows_mapped == 3


def test_titles_without_names_of_columns_are_named_by_what_is_proposed(tmp_path: Path) -> None:
    (path := tmp_path / "class-descriptions.csv").write_text("flu,Influenza\ncopd,Lungs\n")
    with pytest.raises(AuditError, match="called so") as caught:
        read_titles(path)
    command = caught.value.hint.partition(" names ")[0]
    subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True)
    titles = read_titles(tmp_path / "titles.csv").titles
    assert [*titles.iter_rows()] == [("flu", "Influenza"), ("copd", "Lungs")]


@pytest.mark.parametrize(
    "entry",
    [
        {"paper_id": "#", "model": "x", "predictions": [{"category": "flu", "score": 0.5}]},
        {"paper_id": "#", "model": "x", "out": {"top_k": [{"class": "flu", "probability": 0.5}]}},
        {"paper_id": "#", "model": "x", "result": {"labels": ["flu"], "scores": [0.5]}},
    ],
)
def test_answers_below_any_key_are_scores(entry: dict[str, Any], tmp_path: Path) -> None:
    labels = audit.load_labels({"id": [f"p{n}" for n in range(9)], "label": ["flu"] * 9}, ILL)
    lines = (json.dumps(entry).replace("#", f"p{n}") for n in range(8, -1, -1))
    (path := tmp_path / "p.jsonl").write_text("\n".join(lines))
    found = audit.load_predictions(path, labels)
    assert {*found.instances} == {*labels.instances["instance"]}
    assert found.scores.toarray().max() == 0.5


def test_an_archive_whose_names_are_called_otherwise_is_joined_by_them(tmp_path: Path) -> None:
    labels = audit.load_labels({"id": ["a", "b", "c"], "label": ["flu", "copd", "flu"]}, ILL)
    np.savez(tmp_path / "p.npz", y_pred=np.eye(3)[:, :2], image_ids=np.array(["c", "b", "a"]),
             class_names=np.array(["flu", "copd"]))  # fmt: skip
    found = audit.load_predictions(tmp_path / "p.npz", labels)
    assert found.instances[0] == "c" or found.instances == ("a", "b", "c")
    assert [one.decision for one in found.readings][:2] == [
        "'image_ids' holds the ids of the predictions",
        "'class_names' holds the classes of the predictions",
    ]


def test_answers_and_scores_in_two_families_of_columns_are_read(tmp_path: Path) -> None:
    labels = audit.load_labels({"file": ["a", "b"], "label": ["flu", "copd"]}, ILL, id="file")
    (path := tmp_path / "top.csv").write_text(
        "file,label_0,label_1,prob_0,prob_1\nb,copd,flu,0.6,0.25\na,asthma,flu,0.5,0.375\n"
    )
    found = audit.load_predictions(path, labels)
    said = {
        (one, found.hierarchy.nodes[place]): row[place]
        for one, row in zip(found.instances, found.scores.toarray(), strict=True)
        for place in row.nonzero()[0]
    }
    both = {("b", "copd"): 0.6, ("b", "flu"): 0.25, ("a", "asthma"): 0.5, ("a", "flu"): 0.375}
    assert said == both
