"""Hierarchies whose tables name no parents: outlines, codes that begin with others, by values."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import audit
from audit.base.errors import FormatError
from audit.hierarchies.formats.implied import above_by_level

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
    "parents of no usual name": (
        "Kode;Oberkode;Text\nII;;Neoplasms\nC50-C50;II;Breast\nC50;C50-C50;Breast\nC50.4;C50;Upper\n"
        "C50.8;C50;Else\n", {"C50-C50": "II", "C50": "C50-C50", "C50.4": "C50", "C50.8": "C50"}),
    "one column filled in each row": (
        "Major,Minor,Broad,Title\n15-0000,,,A\n,15-1200,,B\n,,15-1250,C\n,15-1300,,D\n",
        {"15-1200": "15-0000", "15-1250": "15-1200", "15-1300": "15-0000"}),
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
               or "synonyms" in one.decision for one in found.readings)  # fmt: skip


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
    with pytest.raises(FormatError):
        audit.load_hierarchy(tmp_path / "h.csv")


def test_levels_that_skip_are_below_the_last_lower_one() -> None:
    assert above_by_level([*"abcd"], ["0", "2", "4", "2"]) == ["", "a", "b", "a"]


def test_a_record_around_a_list_of_nodes_with_parents_is_none_of_them(tmp_path: Path) -> None:
    nodes = '[{"id": "84", "parent": "#"}, {"id": "8471", "parent": "84"}]'
    (tmp_path / "h.json").write_text(f'{{"classCode": "H6", "results": {nodes}}}')
    assert audit.load_hierarchy(tmp_path / "h.json").edge_frame().rows() == [("8471", "84")]


def test_the_levels_that_are_proposed_are_read(tmp_path: Path) -> None:
    (path := tmp_path / "h.csv").write_text(
        "group_name,archive_id,archive_name,category_id,category_name\n"
        "CS,cs,CS,cs.LG,Machine Learning\nCS,cs,CS,cs.CL,Language\nMath,math,Math,math.CO,Sums\n"
        "Physics,hep-ph,HEP,hep-ph,HEP\nPhysics,astro-ph,Stars,astro-ph.GA,Galaxies\n"
        "Statistics,stat,Statistics,stat.ML,Machine Learning\n"
    )
    with pytest.raises(FormatError) as caught:
        audit.load_hierarchy(path)
    levels = re.findall(r"--hierarchy-levels (\w+)", caught.value.hint)
    assert levels == ["group_name", "archive_id", "category_id"]
    assert audit.load_hierarchy(path, levels=tuple(levels)).parents("cs.LG") == ("cs",)
