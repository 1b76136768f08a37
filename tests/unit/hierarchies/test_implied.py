"""Hierarchies whose tables name no parents: outlines, codes that begin with others, by values."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import audit
from audit.base.errors import AuditError, FormatError, SchemaError
from audit.hierarchies.formats.implied import above_by_level
from audit.runs.settings import Settings

CPC = {"A01B1/00": "A01B", "A01B1/02": "A01B1/00", "A01B1/022": "A01B1/02",
       "A01B3/00": "A01B"}  # fmt: skip
ATC = {"A10": "A", "A10A": "A10", "A10AB": "A10A", "A10B": "A10", "C07": "C"}
HS = {"8471": "84", "847130": "8471", "847141": "8471", "0901": "09", "090121": "0901"}
TAXA = {"3": "1", "4": "3", "5": "3", "6": "1"}
TABLES: dict[str, tuple[str, dict[str, str]]] = {
    "levels without a header": (
        "A01B\t0\tSoil\nA01B1/00\t1\tHand\nA01B1/02\t2\tSpades; Shovels\nA01B1/022\t3\tOdd\n"
        "A01B3/00\t1\tPloughs\n", CPC),
    "headings without a level": (
        "symbol\tlevel\ttitle\nA01\t\tFarms\nA01B\t\tSoil\nA01B1/00\t0\tHand\nA01B1/02\t1\tSpades\n"
        "A01B1/022\t2\tOdd\nA01B3/00\t0\tPloughs\n", {**CPC, "A01B": "A01"}),
    "depths from one": (
        "id,depth,name\na1,1,A\nb1,2,B\nc1,3,C\nd1,2,D\n", {"b1": "a1", "c1": "b1", "d1": "a1"}),
    "prefixes": (
        "atc_code,atc_name,ddd\nA,Gut,NA\nA10,Diabetes,NA\nA10A,Insulins,NA\nA10AB,Fast,40\n"
        "A10AB,Fast,20\nA10B,Oral,NA\nC,Heart,NA\nC07,Beta,NA\n", ATC),
    "prefixes without a header": (
        "A;Gut\nA10;Diabetes\nA10A;Insulins\nA10AB;Fast\nA10B;Oral\nC;Heart\nC07;Beta\n", ATC),
    "prefixes of digits": (
        "code,description\n84,Machines\n8471,Computers\n847130,Portable\n847141,Others\n"
        "09,Coffee\n0901,Coffee\n090121,Roasted\n", HS),
    "ranges above the numbers in them": (
        "No.,Code,Title\n1,11,Farms\n2,111,Crops\n3,31-33,Works\n4,311,Food\n5,3111,Feed\n"
        "6,332,Metal\n7,44-45,Shops\n8,451,Toys\n9,4511,Balls\n",
        {"111": "11", "311": "31-33", "332": "31-33", "3111": "311", "451": "44-45",
         "4511": "451"}),
    "letters that stand for what follows": (
        "code\ttext\tdescription\n" + "".join(f"{one}\tT {one}\tD {one}\n" for one in (
            "11-XX", "11Axx", "11A05", "11A07", "11Bxx", "11B13")),
        {"11Axx": "11-XX", "11A05": "11Axx", "11A07": "11Axx", "11Bxx": "11-XX",
         "11B13": "11Bxx"}),
    "a list without its headings": (
        "ICDO3;Text\nC18.0;Cecum\nC18.7;Sigmoid\nC34.1;Upper\nC34.9;Lung\n",
        {"C18.0": "C18", "C18.7": "C18", "C34.1": "C34", "C34.9": "C34"}),
    "columns without names, a blank row and numbers of rows": (
        "Seq.,Code,Title,,\n,,,,\n" + "".join(
            f"{n},{code},T{code},,\n" for n, code in enumerate(("11", "111", "1113", "21"), 1)),
        {"111": "11", "1113": "111"}),
    "an outline beside one text for all": (
        "Level,Code,Title,Text\n" + "".join(
            f"{len(code)},{code},T{code},Tasks are: (a) to plan; (b) to do\n"
            for code in ("1", "11", "111", "2", "21")), {"11": "1", "111": "11", "21": "2"}),
    "parents of no usual name": (
        "Kode;Oberkode;Text\nII;;Neoplasms\nC50-C50;II;Breast\nC50;C50-C50;Breast\nC50.4;C50;Upper\n"
        "C50.8;C50;Else\n", {"C50-C50": "II", "C50": "C50-C50", "C50.4": "C50", "C50.8": "C50"}),
    "one column filled in each row": (
        "Major,Minor,Broad,Title\n15-0000,,,A\n,15-1200,,B\n,,15-1250,C\n,15-1300,,D\n",
        {"15-1200": "15-0000", "15-1250": "15-1200", "15-1300": "15-0000"}),
    "levels of as many values, with titles": (
        "Part,Part Name,Branch,Branch Name,Class,Class Name\nA,Farms,01,Crops,0111,Wheat\n"
        "A,Farms,01,Crops,0112,Rice\nC,Works,10,Food,1071,Bread\nC,Works,10,Food,1072,Cakes\n",
        {"01": "A", "10": "C", "0111": "01", "0112": "01", "1071": "10", "1072": "10"}),
    "a code that is behind its description": (
        "About,Top,Mid,Low,Own\nAll of x,x,,,x0\nRed oak,x,x1,x11,x110\nBig elm,x,x2,x21,x210\n"
        "Old ash,x,x2,x22,x220\nAll of y,y,,,y0\nNew ash,y,y1,y11,y110\nOne fir,y,y1,y12,y120\n",
        {"x0": "x", "x1": "x", "x11": "x1", "x110": "x11", "x2": "x", "x21": "x2", "x210": "x21",
         "x22": "x2", "x220": "x22", "y0": "y", "y1": "y", "y11": "y1", "y110": "y11",
         "y12": "y1", "y120": "y12"}),
    "merged cells": (
        "SOC;HLGT;PT\nGut;Motility;Diarrhoea\n;;Constipation\n;Signs;Nausea\nSkin;Itch;Rash\n"
        ";;Pruritus\n", {
            "Motility": "Gut", "Diarrhoea": "Motility", "Constipation": "Motility", "Signs": "Gut",
            "Nausea": "Signs", "Itch": "Skin", "Rash": "Itch", "Pruritus": "Itch"}),
    "merged cells in two columns": (
        "group,item\nfruit,apple\n,pear\nroot,leek\n,beet\n",
        {"apple": "fruit", "pear": "fruit", "leek": "root", "beet": "root"}),
    "merged cells above paths of two lengths": (
        "a,b,c\nx,x1,x11\n,,x12\n,x2,\ny,y1,y11\n,,y12\n,,y13\n", {
            "x1": "x", "x11": "x1", "x12": "x1", "x2": "x", "y1": "y", "y11": "y1", "y12": "y1",
            "y13": "y1"}),
    "one level filled in each row, beside a code": (
        "uri,flat,L1/code,L2/code,L3/code,name\nu1,a,a,,,A\nu2,b,,b,,B\nu3,c,,,c,C\nu4,d,,d,,D\n",
        {"b": "a", "c": "b", "d": "a"}),
    "triples": (
        "cat\tis_a\tmammal\ndog\tis_a\tmammal\nmammal\tis_a\tanimal\n",
        {"cat": "mammal", "dog": "mammal", "mammal": "animal"}),
    "triples between blanks": (
        "cat skos:broader mammal\ndog skos:broader mammal\n", {"cat": "mammal", "dog": "mammal"}),
    "triples with a header, of several relations": (
        "x,how,y\ncat,rdfs:subClassOf,mammal\ndog,rdfs:subClassOf,mammal\npaw,part_of,dog\n"
        "mammal,rdfs:subClassOf,animal\n",
        {"cat": "mammal", "dog": "mammal", "mammal": "animal"}),
    "triples of parts": ("toe,part of,paw\nclaw,part of,toe\n", {"toe": "paw", "claw": "toe"}),
    "ways beside ids": (
        "Feature ID\tTaxon\nAMRO\tAves;Turdidae;migratorius\nHETH\tAves;Turdidae;guttatus\n"
        "BAOW\tAves;Strigidae;varia\nSPPE\tAmphibia;Hylidae;crucifer\n", {
            "Aves;Turdidae": "Aves", "AMRO": "Aves;Turdidae", "HETH": "Aves;Turdidae",
            "Aves;Strigidae": "Aves", "BAOW": "Aves;Strigidae", "Amphibia;Hylidae": "Amphibia",
            "SPPE": "Amphibia;Hylidae"}),
    "ways of QIIME that several ids share": (
        "Feature ID,Taxon,Confidence\ne1,k__A; p__B; s__,.9\ne2,k__A; p__B; s__,.8\n"
        "e3,k__A; p__C; s__x,.9\n", {
            "k__A;p__B": "k__A", "e1": "k__A;p__B", "e2": "k__A;p__B", "k__A;p__C": "k__A",
            "k__A;p__C;s__x": "k__A;p__C", "e3": "k__A;p__C;s__x"}),
    "dashes for what follows": (
        "EC\tname\n1.-.-\tA\n1.1.-\tB\n1.1.1\tC\n1.1.10\tD\n2.-.-\tE\n2.3.-\tF\n",
        {"1.1.-": "1.-.-", "1.1.1": "1.1.-", "1.1.10": "1.1.-", "2.3.-": "2.-.-"}),
    "dashes behind codes of diseases": (
        "code;text\nE10.-;A\nE10.2-;B\nE10.20;C\nE10.9;D\nE11.-;E\nE11.9;F\n",
        {"E10.2-": "E10.-", "E10.20": "E10.2-", "E10.9": "E10.-", "E11.9": "E11.-"}),
    "numbers of rows beside codes": (
        "coding\tmeaning\tnode_id\tparent_id\nChapter I\tOne\t20\t0\nA09\tGut\t30\t20\n"
        "A090\tAcute\t40\t30\n", {"A09": "Chapter I", "A090": "A09"}),
    "keys beside codes": (
        "Key,Parent key,Code,Title\n1,,A,One\n2,1,A01,Two\n3,2,A01B,Three\n",
        {"A01": "A", "A01B": "A01"}),
    **{f"a row for each title of a code, {one}": (
        f"{one}\n800,2,Neoplasms\n8000/0,Preferred,Neoplasm benign\n8000/0,Synonym,Tumor benign\n"
        "8000/3,Preferred,Neoplasm malignant\n8000/3,Synonym,Cancer\n8000/3,Related,Malignancy\n"
        "814,2,Adenomas\n8140/0,Preferred,Adenoma\n", {
            "8000/0": "800", "8000/3": "800", "8140/0": "814"})
       for one in ("ICDO3.2,Level,Term", "Code,Level,Title", "Kode,Struct,Label")},
    "names in two languages": (
        "code,name\nA,Katze / Cat\nA1,Hauskatze / House cat\nB,Hund / Dog\nB1,Pudel / Poodle\n",
        {"A1": "A", "B1": "B"}),
    "paths with slashes beside ids": (
        "Code,Literal\nF1,Fiction / General\nF2,Fiction / Crime\nF3,History / Europe\n",
        {"F1": "Fiction", "F2": "Fiction", "F3": "History"}),
    "synonyms of Darwin Core": (
        "taxonID,parentNameUsageID,acceptedNameUsageID,scientificName,taxonomicStatus\n"
        "1,,,Aves,accepted\n3,1,,Corvus,accepted\n4,3,,Corvus corax,accepted\n"
        "5,3,,Corvus corone,accepted\n6,1,,Pica,accepted\n9,,4,Corvus major,synonym\n", TAXA),
}  # fmt: skip


@pytest.mark.parametrize(("text", "above"), TABLES.values(), ids=TABLES)
def test_parents_are_known_and_told(text: str, above: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "h.txt"
    path.write_text(text)
    found = audit.load_hierarchy(path)
    assert {child: up for child, up in found.edge_frame().rows() if up != "(root)"} == above
    assert any("below" in one.decision or "parents" in one.decision or "paths" in one.decision
               or "synonyms" in one.decision or "levels" in one.decision
               or "nodes go by" in one.decision for one in found.readings)  # fmt: skip


STATED: dict[str, tuple[str, dict[str, Any], dict[str, str], list[str]]] = {
    "levels that are blank at the top, where no cell is merged": (
        "a,b,c\nx,x1,x11\nx,x1,x12\n,z1,z11\n", {"levels": ("a", "b", "c")},
        {"x1": "x", "x11": "x1", "x12": "x1", "z11": "z1"}, ["rows without 'a'"]),
    "levels that are blank between others": (
        "a,b,c\nx,x1,x11\nx,,x12\n", {"levels": ("a", "b", "c")},
        {"x1": "x", "x11": "x1", "x12": "x"}, ["blank between others"]),
    "levels that end early": (
        "a,b,c\nx,x1,x11\nx,x2,\ny,,\n", {"levels": ("a", "b", "c")},
        {"x1": "x", "x11": "x1", "x2": "x"}, []),
    "merged cells in named levels": (
        "n,a,b\n1,x,x1\n2,,x2\n3,y,y1\n", {"levels": ("a", "b")},
        {"x1": "x", "x2": "x", "y1": "y"}, ["mean as above"]),
    "ways from the top as parents": (
        "code,taxon\nq,a;b\nr,a;c\ns,a;b\n", {"child": "code", "parent": "taxon"},
        {"b": "a", "c": "a", "q": "b", "r": "c", "s": "b"}, ["ways from the top"]),
    "codes whose parents are numbers of rows": (
        "coding,node_id,parent_id\nA,1,0\nA0,2,1\nA01,3,2\n",
        {"child": "coding", "parent": "parent_id"}, {"A0": "A", "A01": "A0"}, ["go by 'coding'"]),
    "numbers of rows that stay": (
        "coding,node_id,parent_id\nA,1,0\nA0,2,1\nA01,3,2\n", {"child": "node_id"},
        {"1": "0", "2": "1", "3": "2"}, []),
    "parents that are numbers no row has": (
        "coding,parent_id\nA,7\nA0,8\nA01,8\n", {"child": "coding", "parent": "parent_id"},
        {"A": "7", "A0": "8", "A01": "8"}, ["parents without a row"]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "options", "above", "told"), STATED.values(), ids=STATED)
def test_what_is_named_is_read_and_what_changes_its_meaning_told(
    text: str, options: dict[str, Any], above: dict[str, str], told: list[str], tmp_path: Path
) -> None:
    (tmp_path / "h.csv").write_text(text)
    found = audit.load_hierarchy(tmp_path / "h.csv", **options)
    assert {child: up for child, up in found.edge_frame().rows() if up != "(root)"} == above
    assert [word in one.decision for word, one in zip(told, found.readings, strict=True)] == [
        True for _ in told
    ]


@pytest.mark.parametrize("text", ["1.-,ox\n1.1,oxen\n2.-,elk\n", "a,cat\nb,dog\nc,fox\n"])
def test_titles_are_no_parents(text: str, tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text(f"EC,accepted\n{text}")
    with pytest.raises(SchemaError, match="a parent must be that of several rows"):
        audit.load_hierarchy(tmp_path / "h.csv", child="EC", parent="accepted")


def test_the_first_column_of_words_has_the_titles_of_codes_without_a_header(tmp_path: Path) -> None:
    rows = "A|0|Gut\nA10|0|Diabetes\nA10A|3|Insulins\nA10B|0|Oral\nC|0|Heart\nC07|0|Beta\n"
    (tmp_path / "atc.txt").write_text(rows)
    hierarchy = audit.load_hierarchy(tmp_path / "atc.txt")
    assert hierarchy.titles[hierarchy.index("A10A")] == "Insulins"


@pytest.mark.parametrize("key", ["name", "label"])
def test_titles_by_language_are_those_of_one(key: str, tmp_path: Path) -> None:
    held = {
        "en:cheese": {key: {"fr": ["Fromage", "Fromages"], "en": "Cheese"}, "parents": ["en:food"]},
        "en:food": {key: {"xx": "Food"}, "children": ["en:cheese"]},
    }
    (path := tmp_path / "h.json").write_text(json.dumps(held))
    found = audit.load_hierarchy(path)
    assert dict(zip(found.nodes, found.titles, strict=True)) == {
        "en:cheese": "Cheese", "en:food": "Food"}  # fmt: skip
    assert ["titles are" in one.decision for one in found.readings] == [True]


def test_labels_at_synonyms_count_at_what_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text(TABLES["synonyms of Darwin Core"][0])
    labels = {"id": [*"abc"], "label": ["9", "4", "5"]}
    dataset = audit.load_labels(labels, tmp_path / "h.csv")
    assert dataset.mappings.select("label", "node").rows() == [("4", "4"), ("5", "5"), ("9", "4")]
    assert "9" not in dataset.hierarchy


@pytest.mark.parametrize(
    "text",
    [
        "id,name\n" + "".join(f"{n},class {n}\n" for n in range(1, 91)),
        "code,title\nI,One\nII,Two\nIII,Three\nIV,Four\n",
        "word,in\ncat,cats\ncatfish,fish\ndog,dogs\ndogfish,sharks\n",
        "code,count\nA01,0\nB02,4\nC03,1\n",
    ],
    ids=["numbers of classes", "Roman numbers", "words", "counts"],
)
def test_what_says_no_parents_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text(text)
    with pytest.raises(FormatError) as caught:
        audit.load_hierarchy(tmp_path / "h.csv")
    assert "no column of it holds parents" in caught.value.hint


def test_levels_that_skip_are_below_the_last_lower_one() -> None:
    assert above_by_level([*"abcd"], ["0", "2", "4", "2"]) == ["", "a", "b", "a"]


def test_a_record_around_a_list_of_nodes_with_parents_is_none_of_them(tmp_path: Path) -> None:
    nodes = '[{"id": "84", "parent": "#"}, {"id": "8471", "parent": "84"}]'
    (tmp_path / "h.json").write_text(f'{{"classCode": "H6", "results": {nodes}}}')
    assert audit.load_hierarchy(tmp_path / "h.json").edge_frame().rows() == [("8471", "84")]


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("group_name,archive_id,archive_name,category_id,category_name\n"
         "CS,cs,CS,cs.LG,Machine Learning\nCS,cs,CS,cs.CL,Language\nMath,math,Math,math.CO,Sums\n"
         "Physics,hep-ph,HEP,hep-ph,HEP\nPhysics,astro-ph,Stars,astro-ph.GA,Galaxies\n"
         "Statistics,stat,Statistics,stat.ML,Machine Learning\n",
         ["group_name", "archive_id", "category_id"]),
        ("unit,about,minor,minor_label,sub,sub_label,top,top_label\n0110,Army,011,Army,01,Army,0,A\n"
         "1211,Heads,121,Heads,12,Chiefs,1,C\n1221,Sales,122,Sales,12,Chiefs,1,C\n",
         ["top", "sub", "minor", "unit"]),
        ("no,kind,species,family,sort\n9,a,mallar,Ducks,Fowl\n100,b,gadwal,Ducks,Fowl\n"
         "12,a,snowgo,Geese,Fowl\n7,b,barnow,Barn owls,Owls\n65,a,tawowl,Owls,Owls\n",
         ["sort", "family", "species"]),
    ],
    ids=["from the top", "from below, one for one", "beside kinds and numbers of rows"],
)  # fmt: skip
def test_the_levels_that_are_proposed_are_all_and_are_read(
    text: str, way: list[str], tmp_path: Path
) -> None:
    (path := tmp_path / "h.csv").write_text(text)
    with pytest.raises(FormatError) as caught:
        audit.load_hierarchy(path)
    levels = re.findall(r"--hierarchy-levels (\w+)", caught.value.hint)
    assert levels == way
    first = dict(zip(text.split("\n")[0].split(","), text.split("\n")[1].split(","), strict=True))
    read = audit.load_hierarchy(path, levels=tuple(levels))
    assert read.parents(first[way[-1]]) == (first[way[-2]],)


@pytest.mark.parametrize(
    "names", ["fine_label,coarse_label", "class label,group label", "LOINC,Group,GroupName"]
)
def test_the_ends_that_are_proposed_are_read(names: str, tmp_path: Path) -> None:
    path = tmp_path / "h.csv"
    title = ",A {} of any kind" if names.count(",") > 1 else ""
    rows = [
        f"{one},{up}{title.format(up)}\n"
        for one, up in (("bus", "car"), ("van", "car"), ("elm", "tree"), ("oak", "tree"))
    ]
    path.write_text(f"{names}\n{''.join(rows)}")
    with pytest.raises(FormatError) as caught:
        audit.load_hierarchy(path)
    typed = shlex.split(caught.value.hint.partition("perhaps ")[2])
    read = audit.load_hierarchy(path, child=typed[1], parent=typed[3])
    assert read.parents("van") == ("car",)


TREE = {"kind": {"pet": ["cat", "dog"], "farm": ["cow"]}, "thing": {"tool": ["saw", "axe"]}}
WAYS = [(top, group, one) for top, of in TREE.items() for group in of for one in of[group]]


@pytest.mark.parametrize(
    ("heading", "row"),
    [
        ("id,text,l1,l2,l3", "{n},Some words of row {n},{0},{1},{2}"),
        ("top,middle,leaf,image", "{0},{1},{2},img{n}.jpg"),
        ("sku,category", "S{n},{0} > {1} > {2}"),
        ("uniq_id,product_category_tree,pid", 'u{n},"[""{0} >> {1} >> {2}""]",P{n}'),
    ],
    ids=["levels", "levels before the id", "paths", "paths in lists of one"],
)
def test_data_with_levels_are_their_own_hierarchy_where_they_are_named_as_it(
    heading: str, row: str, tmp_path: Path
) -> None:
    rows = [row.format(*WAYS[n % len(WAYS)], n=n) for n in range(400)]
    path = str(tmp_path / "data.csv")
    for notes in (["", "Source: the shop"], []):
        Path(path).write_text("\n".join([heading, *rows, *notes, ""]))
        with pytest.raises(AuditError) as caught:
            Settings(dataset=path)
        assert caught.value.hint.startswith(f"--hierarchy {path} if ")
        assert re.search(
            r"are levels from the top down$|joins the names of paths", caught.value.hint
        )

    data = audit.load_labels(path, path)
    tree = data.hierarchy
    called = {
        node.rpartition("> ")[2]: node for node in tree.nodes if node != tree.nodes[tree.root]
    }
    assert set(called) == {name for way in WAYS for name in way}
    for top, group, leaf in WAYS:
        assert {called[top], called[group]} <= {*tree.ancestors(called[leaf])}
    assert len(data.instances) == 400
    assert not data.ledger.refused
    assert {tree.nodes[n] for n in data.direct.indices} == {called[way[2]] for way in WAYS}


@pytest.mark.parametrize("sign", [";", "|", ">"])
def test_prose_is_no_way_from_the_top(sign: str, tmp_path: Path) -> None:
    said = [f"He said no{sign} then he left", f"A good day{sign} a bad night", "Oak"]
    rows = [f"n{n},{said[n % 3]}\n" for n in range(9)]
    (tmp_path / "h.csv").write_text("name,description\n" + "".join(rows))
    with pytest.raises(AuditError, match="a hierarchy is required"):
        audit.load_hierarchy(tmp_path / "h.csv")


def test_what_differs_in_further_rows_of_a_code_is_told(tmp_path: Path) -> None:
    rows = "code,name,dose\nA,Gut,\nA1,Acid,20\nA1,Acid,40\nA12,Salt,\nB,Blood,\nB1,Iron,\n"
    (tmp_path / "h.csv").write_text(rows)
    told = audit.load_hierarchy(tmp_path / "h.csv").readings
    assert [one.evidence for one in told if "further rows" in one.decision] == [
        "they say another 'dose' of it"
    ]
