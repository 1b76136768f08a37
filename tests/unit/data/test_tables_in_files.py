"""The same labels, in each form in which files hold them, are the same instances and labels."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import audit
from audit.base.errors import InputError

TREE = {"dog": "pet", "cat": "pet", "gold fish": "pet", "owl": "bird"}
OF = {"a1": ["dog", "gold fish"], "a2": ["cat"], "a3": ["owl", "dog"], "a4": ["cat", "owl"]}
PAIRS = [(one, label) for one, labels in OF.items() for label in labels]


def flags(yes: object, no: object) -> dict[str, dict[str, object]]:
    return {one: {node: yes if node in own else no for node in TREE} for one, own in OF.items()}


def of_json(content: object, indent: int | None = None) -> Callable[[Path], None]:
    return lambda path: path.write_text(json.dumps(content, indent=indent))  # type: ignore[return-value]


def of_text(text: str, encoding: str = "utf-8") -> Callable[[Path], None]:
    return lambda path: path.write_bytes(text.encode(encoding))  # type: ignore[return-value]


def of_database(path: Path) -> None:
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE tag (visit_id TEXT, word TEXT)")
        base.executemany("INSERT INTO tag VALUES (?, ?)", PAIRS)
        base.execute("CREATE TABLE person (name TEXT, town TEXT)")
        base.execute("INSERT INTO person VALUES ('Ann', 'Bonn')")


def of_workbook(path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(path) as book:
        book.add_worksheet("README").write_column(0, 0, ("What", "tags of visits"))
        sheet = book.add_worksheet("Data")
        for row, cells in enumerate([("visit_id", "word"), *PAIRS]):
            sheet.write_row(row, 0, cells)


CSV = "visit_id,word,n\n" + "".join(f"{one},{label},{n}\n" for n, (one, label) in enumerate(PAIRS))
COCO = {
    "images": [{"id": one} for one in OF],
    "annotations": [{"image_id": one, "category_id": [*TREE].index(own)} for one, own in PAIRS * 2],
    "categories": [{"id": n, "name": node} for n, node in enumerate(TREE)],
}
DATUMARO = {
    "infos": {}, "categories": {"label": {"labels": [{"name": one, "parent": ""} for one in TREE]}},
    "items": [{"id": one, "annotations": [{"type": "caption", "caption": "x"}, *(
        {"type": "bbox", "label_id": [*TREE].index(label)} for label in own * 2)]}
        for one, own in OF.items()],
}  # fmt: skip
DUMP = "-- dump\nCREATE TABLE `tag` (\n `visit_id` text,\n `word` text,\n KEY (`n`)\n);\n"
COLUMNS = {"visit_id": [one for one, _ in PAIRS], "word": [label for _, label in PAIRS]}
ARFF = "@relation r\n@attribute visit_id string\n"
ARFF += "".join(f"@attribute '{name}' {{0,1}}\n" for name in TREE)
CELLS = {
    "tags": lambda own: "".join(f"<{one}>" for one in own),
    "a list": str,
    "boxes": lambda own: " ".join(f"{one} 1 2 30 40" for one in own) + " ",
    "titles": lambda own: "; ".join(f"the {one}, or so [{one}]" for one in own),
}
WIDE = ("visit_id   word", "".join(f"{one:11}{label}\n" for one, label in PAIRS))


def rows_of(shape: str) -> str:
    return "".join(shape.format(*pair, n=n) for n, pair in enumerate(PAIRS, 1))


FORMS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "lists by id": ("a.json", of_json(OF)),
    "flags by id": ("a.json", of_json(flags(1, 0))),
    "true and false by id": ("a.json", of_json(flags(True, False), 1)),
    "records by id": ("a.json", of_json({one: {"word": own, "x": 2} for one, own in OF.items()})),
    "ids by label": (
        "a.json",
        of_json({node: [one for one, label in PAIRS if label == node] for node in TREE}),
    ),
    "lists by column": ("a.json", of_json(COLUMNS)),
    "numbers of rows by column": (
        "a.json",
        of_json({name: dict(zip("0123456", own, strict=True)) for name, own in COLUMNS.items()}),
    ),
    "columns and rows": (
        "a.json", of_json({"columns": [*COLUMNS], "index": [*range(7)], "data": PAIRS}),
    ),
    "an array of records": (
        "a.json", of_json([{"visit_id": a, "age": 3, "at": b, "word": c} for a, b, c in
                           [(one, "x", own) for one, own in OF.items()]], 1),
    ),
    "a label a line": (
        "a.jsonl",
        of_text("".join(json.dumps({"visit_id": a, "word": b}) + "\n" for a, b in PAIRS)),
    ),
    "boxes of pictures": ("a.json", of_json(COCO)),
    "inserted rows": (
        "a.sql", of_text(DUMP + "INSERT INTO `tag` VALUES " + ",".join(map(str, PAIRS)) + ";\n"),
    ),
    "copied rows": (
        "a.sql",
        of_text("--\nCOPY public.tag (visit_id, word) FROM stdin;\n"
                + "".join(f"{a}\t{b}\n" for a, b in PAIRS) + "\\.\n"),
    ),
    "a database": ("a.db", of_database),
    "the second sheet": ("a.xlsx", of_workbook),
    "lines of qrels": (
        "a.qrels", of_text("".join(f"{b} {a} 1\n" for a, b in PAIRS if " " not in b)),
    ),
    "judged lines of qrels": (
        "a.qrels", of_text("dog 0 a2 0\nowl 0 a1 -1\n" + "".join(
            f"{b} 0 {a} {len(b)}\n" for a, b in PAIRS if " " not in b)),
    ),
    "items of Datumaro": ("a.json", of_json(DATUMARO)),
    "categories of spaCy": (
        "a.jsonl",
        of_text("".join(json.dumps({"visit_id": one, "text": "A cat.", "cats": own}) + "\n"
                        for one, own in flags(1.0, 0.0).items())),
    ),
    "rows of Weka": (
        "a.arff",
        of_text(ARFF + "@data\n" + "".join(
            ",".join([one, *("01"[n in own] for n in TREE)]) + "\n" for one, own in OF.items())),
    ),
    "sparse rows of Weka": (
        "a.arff",
        of_text(ARFF + "@data\n" + "".join(
            "{0 " + one + "".join(f",{n} 1" for n, t in enumerate(TREE, 1) if t in own) + "}\n"
            for one, own in OF.items())),
    ),
    "UTF-16": ("a.txt", of_text(CSV.replace(",", "\t"), "utf-16")),
    "below dashes": ("a.rpt", of_text(f"{WIDE[0]}\n---------- ----------\n{WIDE[1]}\n(6 rows)\n")),
    "below names": ("a.prn", of_text(f"{WIDE[0]}\n{WIDE[1]}")),
    "tildes": ("a.txt", of_text(CSV.replace(",", "~|~").replace("word", "'word'"))),
    "single quotes": ("a.csv", of_text("'visit_id','word'\n" + rows_of("'{}','{}'\n"))),
    "names of rows": ("a.tsv", of_text("visit_id\tword\n" + rows_of("{n}\t{0}\t{1}\n"))),
    "a table of R": ("a.txt", of_text('"visit_id" "word"\n' + rows_of('"{n}" "{0}" "{1}"\n'))),
    "Windows-1252": ("a.csv", of_text(CSV.replace("n\n", "nähe\n", 1), "cp1252")),
    "lines below": ("a.csv", of_text(CSV + "\nTotal: 7\nEnd of report\n")),
    **{
        f"cells: {name}": (
            "a.tsv",
            of_text("visit_id\tword\n" + "".join(f"{a}\t{cell(b)}\n" for a, b in OF.items())),
        )
        for name, cell in CELLS.items()
    },
    "flags beside others": (
        "a.csv",
        of_text("visit_id,born," + ",".join(TREE) + "\n" + "".join(
            ",".join([one, "1980", *map(str, own.values())]) + "\n"
            for one, own in flags(True, False).items())),
    ),
}  # fmt: skip


def carried(dataset: audit.LabelDataset) -> dict[str, list[str]]:
    nodes, held = dataset.hierarchy.nodes, dataset.direct.toarray() > 0
    every = zip(dataset.instances["instance"], held, strict=True)
    return {one: sorted(n for n, has in zip(nodes, own, strict=True) if has) for one, own in every}


@pytest.mark.parametrize("form", FORMS)
def test_a_form_gives_the_same_labels(form: str, tmp_path: Path) -> None:
    name, write = FORMS[form]
    write(tmp_path / name)
    dataset = audit.load_labels(tmp_path / name, TREE)
    rows = PAIRS if "qrels" not in form else [pair for pair in PAIRS if " " not in pair[1]]
    wanted = {one: sorted(label for own, label in rows if own == one) for one, _ in rows}
    assert carried(dataset) == wanted
    assert len(dataset) == len(wanted)


def test_lines_of_fasttext_and_their_probabilities_go_together(tmp_path: Path) -> None:
    lines = [[f"__label__{one.replace(' ', '_')}" for one in own] for own in OF.values()]
    (tmp_path / "a.txt").write_text("".join(" ".join(own) + " some words\n" for own in lines))
    (tmp_path / "b.txt").write_text("".join(" 0.9 ".join([*own, ""]) + "\n" for own in lines))
    tree = {name.replace(" ", "_"): above for name, above in TREE.items()}
    dataset = audit.load_labels(tmp_path / "a.txt", tree)
    predictions = audit.load_predictions(tmp_path / "b.txt", dataset)
    assert (predictions.scores > 0.5).sum() == len(PAIRS) == dataset.direct.sum()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", json.dumps({one: dict.fromkeys(own, 0.75) for one, own in OF.items()})),
        ("a.csv", ",said\n" + "".join(f"{one},The {own[0]}\n" for one, own in OF.items())),
    ],
)
def test_predictions_by_id_and_by_title_are_read(name: str, text: str, tmp_path: Path) -> None:
    tree = pl.DataFrame({"child": [*TREE], "parent": [*TREE.values()],
                         "title": [f"The {one}" for one in TREE]})  # fmt: skip
    dataset = audit.load_labels({"id": [*OF], "labels": [*OF.values()]}, audit.load_hierarchy(tree))
    (tmp_path / name).write_text(text.replace("said", "predicted_labels"))
    predictions = audit.load_predictions(tmp_path / name, dataset)
    assert predictions.ledger.classes_mapped == predictions.ledger.classes_read > 0
    assert [one.unit for one in predictions.readings if "title" in one.decision] == (
        ["classes"] * name.endswith("csv")
    )


def test_two_tables_of_labels_are_refused(tmp_path: Path) -> None:
    rows = "".join(f"INSERT INTO {t} (id, word) VALUES (1, 'dog');\n" for t in ("one", "two"))
    (tmp_path / "a.sql").write_text(f"-- dump\n{rows}")
    with pytest.raises(InputError, match="2 tables: 'one', 'two'; 2 hold nodes"):
        audit.load_labels(tmp_path / "a.sql", TREE)


def test_bytes_of_two_encodings_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(CSV.encode() + "a1,né,1\n".encode() + b"a2,n\xe9,1\n")
    with pytest.raises(InputError, match="UTF-8"):
        audit.load_labels(tmp_path / "a.csv", TREE)


@pytest.mark.parametrize("first", [0, 1])
def test_numbers_before_the_names_of_classes_are_theirs(first: int, tmp_path: Path) -> None:
    numbers = {node: n for n, node in enumerate(TREE, first)}
    (tmp_path / "classes.txt").write_text("".join(f"{n} {node}\n" for node, n in numbers.items()))
    (tmp_path / "a.txt").write_text("".join(f"{one} {numbers[b]}\n" for one, b in PAIRS))
    dataset = audit.load_labels(tmp_path / "a.txt", TREE, classes=tmp_path / "classes.txt")
    assert carried(dataset) == {one: sorted(own) for one, own in OF.items()}
    answers = {"id": [*OF], "prediction": [numbers[own[0]] for own in OF.values()]}
    model = audit.load_predictions(answers, dataset, classes=tmp_path / "classes.txt")
    assert {*model.hierarchy.nodes} >= {own[0] for own in OF.values()}
    assert (model.scores.toarray() * dataset.direct.toarray()).sum() == len(OF)


def test_texts_that_are_labelled_are_no_ids(tmp_path: Path) -> None:
    texts = [f"A text, or {n}" for n, _ in enumerate(PAIRS)]
    rows = {"text": texts, "label": [label for _, label in PAIRS]}
    lines = "".join(f"{json.dumps(dict(zip(rows, row, strict=True)))}\n"
                    for row in zip(*rows.values(), strict=True))  # fmt: skip
    (tmp_path / "a.jsonl").write_text(lines)
    for data in (rows, tmp_path / "a.jsonl"):
        dataset = audit.load_labels(data, TREE)
        assert dataset.instances["instance"].to_list() == [str(n) for n, _ in enumerate(PAIRS)]
        assert [one.option for one in dataset.readings if "numbered" in one.decision]


def of_label_me(one: str, own: list[str]) -> str:
    return json.dumps({"shapes": [{"label": label, "points": []} for label in own * 2],
                       "flags": {"x": False}, "imagePath": f"{one}.png"})  # fmt: skip


def of_voc(one: str, own: list[str]) -> str:
    objects = "".join(f"<object><name>{label}</name><part><name>x</name></part></object>"
                      for label in own * 2)  # fmt: skip
    return f"<annotation><filename>p.jpg</filename>{objects}</annotation>"


@pytest.mark.parametrize(("ending", "write"), [("json", of_label_me), ("xml", of_voc)])
def test_a_file_for_each_picture_is_an_instance(
    ending: str, write: Callable[[str, list[str]], str], tmp_path: Path
) -> None:
    for one, own in OF.items():
        (tmp_path / f"{one}.{ending}").write_text(write(one, own))
    assert carried(audit.load_labels(tmp_path, TREE)) == {a: sorted(own) for a, own in OF.items()}


CVAT = '<?xml version="1.0"?>\n<annotations><!-- x --><meta><label><name>dog</name></label></meta>'


def test_pictures_of_cvat_are_instances_and_what_defines_entities_is_refused(
    tmp_path: Path,
) -> None:
    shapes = {one: "".join(f'<box label="{label}" xtl="1"><attribute name="a">x</attribute></box>'
                           for label in own) for one, own in OF.items()}  # fmt: skip
    images = "".join(f'<image id="{n}" name="{one}">{own}<tag label="{OF[one][0]}"/></image>'
                     for n, (one, own) in enumerate(shapes.items()))  # fmt: skip
    path = tmp_path / "a.xml"
    path.write_text(f"{CVAT}{images}</annotations>")
    assert carried(audit.load_labels(path, TREE)) == {one: sorted(own) for one, own in OF.items()}
    path.write_text(CVAT.replace("<annotations>", '<!DOCTYPE a [<!ENTITY b "c">]><annotations>')
                    + f"{images}</annotations>")  # fmt: skip
    with pytest.raises(InputError, match="Found: XML"):
        audit.load_labels(path, TREE)
