"""What a file does not say of a hierarchy is asked, the first option right; WordNet's files."""

from __future__ import annotations

import json
import shlex
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from audit import AuditError, Hierarchy, load_hierarchy
from audit.base.dag import SYNTHETIC_ROOT
from audit.base.errors import HierarchyError, InputError, SchemaError
from audit.base.readings import AskedError
from audit.hierarchies.formats import wordnet
from fixtures.wordnet_files import Synset, write_wordnet

DOGS = {("cat", "animal"), ("dog", "animal"), ("poodle", "dog")}
NUMBERS = {("2", "1"), ("3", "1"), ("4", "2")}
MEMBERS = {("anger", "mood"), ("joy", "mood"), ("love", "joy")}
ASKED = {
    "down.txt": ("animal dog\nanimal cat\ndog poodle\n", DOGS),
    "down.tsv": ("animal\tdog\nanimal\tcat\ndog\tpoodle\n", DOGS),
    "down.csv": ("animal,dog\nanimal,cat\ndog,poodle\n", DOGS),
    "chain.csv": ("a,b\nb,c\n", {("a", "b"), ("b", "c")}),
    "lists.json": ('{"mood": ["anger", "joy"], "joy": ["love"]}', MEMBERS),
    "column.csv": ("id,path\n1,a\n2,a > b\n3,a > c\n4,a > b > d\n", NUMBERS),
    "others.csv": ("kode,oben\n1,\n2,1\n3,1\n4,2\n", NUMBERS),
    "own.csv": ("tax,parent_tax\n1,1\n2,1\n3,1\n4,2\n", NUMBERS),
    "two.csv": ("place,finding\nanimal,cat\nanimal,dog\ndog,poodle\n", DOGS),
    "joined.csv": ("id,parents\na,\nb,\nc,a;b\n", {("c", "a"), ("c", "b")}),
    "relations.csv": (
        "child,parent,relation\ncat,animal,is_a\ndog,animal,is_a\npoodle,dog,is_a\ntail,dog,part\n",
        DOGS,
    ),
    "keys.csv": ("x,y,parent\na,b,top\nc,d,other\n", {("a", "top"), ("c", "other")}),
}  # fmt: skip
"""Text of a file, and the edges by the first option."""


def edges(hierarchy: Hierarchy) -> set[tuple[str, str]]:
    rows = hierarchy.edge_frame().iter_rows()
    return {(child, parent) for child, parent in rows if parent != SYNTHETIC_ROOT}


def first_option(error: AskedError) -> dict[str, Any]:
    """The arguments that the first option is."""
    words = shlex.split(error.ways[0].option)
    stated = dict[str, Any]()
    for flag, value in zip(words[::2], words[1::2], strict=True):
        name = flag.removeprefix("--").removeprefix("hierarchy-")
        several = name in ("levels", "relations")
        stated[name] = tuple(value.split(",")) if several else value
    return stated


def test_the_first_option_reads_right(tmp_path: Path) -> None:
    for name in ASKED:
        text, expected = ASKED[name]
        path = tmp_path / name
        path.write_text(text)
        with pytest.raises(AskedError) as caught:
            load_hierarchy(path)

        assert edges(load_hierarchy(path, **first_option(caught.value))) == expected


def test_an_object_means_what_its_file_means() -> None:
    for name in [name for name in ASKED if name.endswith(".json")]:
        text, expected = ASKED[name]
        with pytest.raises(AskedError) as caught:
            load_hierarchy(json.loads(text))

        assert edges(load_hierarchy(json.loads(text), **first_option(caught.value))) == expected


@pytest.mark.parametrize("form", ["csv", "json", "jsonl"])
def test_the_one_parent_that_is_nobodys_id_is_the_top(form: str, tmp_path: Path) -> None:
    for top in ["", "0", "-1", "root", "TOP", None]:
        rows = [("1", "A", top), ("2", "B", "1"), ("3", "C", "1"), ("4", "D", "2"), ("5", "E", top)]
        path = tmp_path / f"h.{form}"
        records = [dict(zip(("id", "name", "parent_id"), row, strict=True)) for row in rows]
        if form == "csv":
            path.write_text(
                "id,name,parent_id\n" + "".join(f"{i},{n},{p or ''}\n" for i, n, p in rows)
            )
        elif form == "json":
            path.write_text(json.dumps(records))
        else:
            path.write_text("\n".join(map(json.dumps, records)))
        read = load_hierarchy(path)

        assert len(read) == 6
        assert read.depth.max() == 3
        assert read.branches.tolist() == [read.index("1"), read.index("5")]
        assert read.titles[read.index("4")] == "D"


@pytest.mark.parametrize("form", ["csv", "json"])
def test_nodes_go_by_what_the_parents_are_and_the_share_is_told(form: str, tmp_path: Path) -> None:
    columns = ("id", "slug", "name", "copy", "parent")
    rows = [("1", "top", "A", "", ""), ("2", "b", "B", "top", "top"), ("3", "c", "C", "b", "b"),
            ("4", "d", "D", "lost", "lost")]  # fmt: skip
    path = tmp_path / f"h.{form}"
    if form == "csv":
        path.write_text("\n".join(map(",".join, (columns, *rows))))
    else:
        path.write_text(json.dumps([dict(zip(columns, row, strict=True)) for row in rows]))
    read = load_hierarchy(path)
    by_number = load_hierarchy(path, child="id") if form == "csv" else None

    assert edges(read) == {("b", "top"), ("c", "b"), ("d", "lost")}
    assert read.titles[read.index("b")] == "B"
    assert "2 of 3 parents are values of 'slug'" in str(read.readings[0])
    assert by_number is None or "1" in by_number.nodes


SYNSETS = {
    "entity": Synset(["entity"]),
    "animal": Synset(["animal", "beast"], [("@", "entity")]),
    "dog": Synset(["dog", "domestic_dog"], [("@", "animal"), ("#m", "pack")]),
    "pack": Synset(["pack"], [("@", "entity")]),
    "fink": Synset(["dog"], [("@", "entity")]),
    "rex": Synset(["Rex"], [("@i", "dog")]),
    "paris": Synset(["Paris"], [("@i", "entity"), ("#p", "france")]),
    "france": Synset(["France"], [("@i", "entity")]),
    "glass": Synset(["glass"], [("@", "entity")]),
    "pane": Synset(["pane"], [("@", "entity"), ("#s", "glass")]),
}
REAL = Path("/usr/share/wordnet")
real = pytest.mark.skipif(
    not wordnet.matches(REAL), reason="no WordNet 3.0: install Debian's package wordnet-base"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_wordnet(tmp_path / "dict", SYNSETS)


@cache
def real_nouns() -> wordnet.WordNet:
    return wordnet.read_wordnet(REAL)


def test_every_noun_is_a_node_in_both_relations(folder: Path) -> None:
    for relation in wordnet.RELATIONS:
        hierarchy = load_hierarchy(folder, relations=(relation,))
        assert set(hierarchy.nodes) - {"(root)"} == set(wordnet.read_wordnet(folder).lemmas)


def test_titles_are_words_with_blanks(folder: Path) -> None:
    hierarchy = load_hierarchy(folder)

    assert hierarchy.titles[hierarchy.index("dog.n.01")] == "dog, domestic dog"
    assert hierarchy.titles[hierarchy.index("rex.n.01")] == "Rex"


def test_homonyms_are_nodes_apart_and_senses_keep_their_order(folder: Path) -> None:
    nouns = wordnet.read_wordnet(folder)

    assert nouns.senses["dog"] == ("dog.n.01", "dog.n.02")
    assert nouns.senses["domestic dog"] == ("dog.n.01",)
    assert nouns.lemmas["dog.n.02"] == ("dog",)


def test_a_lexnames_file_makes_no_difference(folder: Path) -> None:
    before = load_hierarchy(folder).sha256
    (folder / "lexnames").write_text("00 adj.all 3\n")

    assert load_hierarchy(folder).sha256 == before


@pytest.mark.parametrize("symbol", ["@", "#p"])
def test_a_cycle_is_refused_and_shown(symbol: str, tmp_path: Path) -> None:
    synsets = {"a": Synset(["a"], [(symbol, "b")]), "b": Synset(["b"], [(symbol, "a")])}
    folder = write_wordnet(tmp_path, synsets)
    relation = {"@": "hypernym", "#p": "holonym"}[symbol]

    with pytest.raises(HierarchyError, match=r"a\.n\.01"):
        load_hierarchy(folder, relations=(relation,))


def refused(folder: Path) -> AuditError:
    with pytest.raises(AuditError) as caught:
        wordnet.read_wordnet(folder)
    assert caught.value.exit_status == 2
    assert str(folder) in str(caught.value)
    return caught.value


def test_a_folder_without_noun_files_is_refused(tmp_path: Path) -> None:
    assert "data.noun" in str(refused(tmp_path))
    assert "no folder" in str(refused(tmp_path / "nowhere"))
    with pytest.raises(InputError):
        load_hierarchy(tmp_path)


def test_an_empty_file_is_refused(folder: Path) -> None:
    (folder / "data.noun").write_text("")

    with pytest.raises(InputError, match="empty"):
        wordnet.read_wordnet(folder)


BREAKAGES = {
    "cut data": ("data.noun", lambda text: text[:-40]),
    "cut index": ("index.noun", lambda text: text[:-12]),
    "shifted offsets": ("data.noun", lambda text: text[7:]),
    "no gloss": ("data.noun", lambda text: text.replace("|", " ")),
    "words": ("index.noun", lambda text: "just words\n"),
    "a dangling pointer": ("data.noun", lambda text: text.replace("@ 0", "@ 9")),
    "no index of a word": ("index.noun", lambda text: text.replace("pack n", "park n")),
}


@pytest.mark.parametrize("name", BREAKAGES)
def test_a_broken_file_is_told_in_one_message(name: str, folder: Path) -> None:
    file, broken = BREAKAGES[name]
    path = folder / file
    path.write_text(broken(path.read_text()))

    assert isinstance(refused(folder), SchemaError)


@pytest.fixture
def without_nltk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nltk", None)


@pytest.mark.usefixtures("without_nltk")
def test_without_nltk_the_install_line_is_told(folder: Path) -> None:
    with pytest.raises(InputError, match=r"pip install 'hierarchy-audit\[formats\]'"):
        load_hierarchy(folder)


@pytest.mark.slow
@real
def test_wordnet_3_0_is_read_as_it_lies() -> None:
    notions = real_nouns().hierarchy("hypernym")

    assert len(notions) == 82_115
    assert notions.nodes[notions.root] == "entity.n.01"
    assert "canine.n.02" in notions.parents("dog.n.01")
    assert notions.titles[notions.index("dog.n.01")] == "dog, domestic dog, Canis familiaris"
    assert "person.n.01" in notions.ancestors("painter.n.01")
    assert notions.edges.nnz == 84_427


@pytest.mark.slow
@real
def test_the_holonyms_of_wordnet_3_0_have_no_cycle() -> None:
    wholes = real_nouns().hierarchy("holonym")

    assert "france.n.01" in wholes.parents("paris.n.01")
    assert "europe.n.01" in wholes.ancestors("paris.n.01")
    assert len(wholes) == 82_115 + 1
    tops = len(wholes.branches)
    assert wholes.edges.nnz - tops == 22_187


@pytest.mark.slow
@real
def test_senses_come_by_frequency() -> None:
    senses = real_nouns().senses

    assert senses["dog"][:2] == ("dog.n.01", "frump.n.01")
    assert "new_york.n.01" in senses["new york"]
    assert len(senses) == 117_798
