"""Class lists: any names, in any usual form, by their numbers; what is none is refused or asked."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import audit
from audit.base.readings import AskedError
from audit.data.class_lists import class_names, columns_named, named_numbers
from fixtures.examples import examples

NAME = st.text("abcdeü.-(", min_size=1, max_size=6).map(lambda one: f"n{one}")
NAMES = st.lists(NAME, min_size=1, max_size=6, unique=True)


def as_csv(rows: list[list[str]], sep: str = ",") -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=sep, lineterminator="\n").writerows(rows)
    return text.getvalue()


def quoted(names: list[str]) -> list[str]:
    return [json.dumps(name, ensure_ascii=False) for name in names]


FORMS = {
    "lines.txt": lambda names: "\n".join(names),
    "numbered.txt": lambda names: "\n".join(f"{n} {name}" for n, name in enumerate(names)),
    "list.json": lambda names: json.dumps(names, indent=1),
    "id2label.json": lambda names: json.dumps(dict(enumerate(names))),
    "label2id.json": lambda names: json.dumps({name: n for n, name in enumerate(names)}),
    "index.json": lambda names: json.dumps({n: [f"x{n}", name] for n, name in enumerate(names)}),
    "data.yaml": lambda names: f"nc: {len(names)}\nnames: [{', '.join(quoted(names))}]\n",
    "block.yaml": lambda names: "names:\n" + "".join(f"  - {one}\n" for one in quoted(names)),
    "yolo.yaml": lambda names: (
        "names:\n" + "".join(f"  {n}: {one}\n" for n, one in enumerate(quoted(names))) + "path: x\n"
    ),
    "index.csv": lambda names: as_csv(
        [["index", "mid", "title"], *([str(n), one, f"T {n}"] for n, one in enumerate(names))]
    ),
    "bare.tsv": lambda names: as_csv([[str(n), one] for n, one in enumerate(names)], "\t"),
    "one.csv": lambda names: as_csv([[one] for one in names]),
}
FROM_ONE = {
    "lines.txt": lambda names: "\n".join(f"{n} {name}" for n, name in enumerate(names, 1)),
    "yolo.yml": lambda names: (
        "names:\n" + "".join(f"  {n}: {one}\n" for n, one in enumerate(quoted(names), 1))
    ),
    "bare.csv": lambda names: as_csv([[str(n), one] for n, one in enumerate(names, 1)]),
    "id.json": lambda names: json.dumps({name: n for n, name in enumerate(names, 1)}),
}


@pytest.mark.parametrize(("form", "first"), [*((f, 0) for f in FORMS), *((f, 1) for f in FROM_ONE)])
@given(names=NAMES)
@examples(20)
def test_names_are_read_as_they_were_written(
    form: str, first: int, names: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("classes") / form
    path.write_text((FROM_ONE if first else FORMS)[form](names), "utf-8")
    found = class_names(path, names.__contains__)
    assert found == ("",) * first + tuple(names)
    assert columns_named(found, len(names), "here") == tuple(names)
    assert named_numbers([str(first), f"LABEL_{first}"], found, "here")[str(first)] == names[0]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("classes.txt", "class\ncat\ndog\n"),
        ("classes.csv", "name\ncat\ndog\n"),
        ("pretty.txt", '[\n  "cat",\n  "dog"'),
        ("levels.json", '{"level_1": ["cat"], "level_2": ["dog"]}'),
        ("other.txt", "n01440764 tench\nn01443537 goldfish\ncat\n"),
        ("gap.txt", "cat\n\ndog\n"),
        ("twice.txt", "cat\ndog\ncat\n"),
        ("far.json", '{"cat": 0, "dog": 1000000000}'),
        ("below.json", '{"cat": -1, "dog": 0}'),
        ("none.yaml", "nc: 2\n"),
        ("empty.json", "{}"),
    ],
)
def test_what_is_no_list_of_nodes_is_refused(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(audit.AuditError) as caught:
        class_names(tmp_path / name, {"cat", "dog"}.__contains__)
    assert isinstance(caught.value, AskedError) == name.startswith("classes")


def test_columns_and_numbers_beyond_the_names_are_refused() -> None:
    names = class_names(["cat", "dog"])
    for columns in (1, 3):
        with pytest.raises(audit.AuditError):
            columns_named(names, columns, "here")
    for number in ("2", "-1", "cat"):
        with pytest.raises(audit.AuditError):
            named_numbers([number], names, "here")
    assert named_numbers(["1.0", "LABEL_0"], names, "here") == {"1.0": "dog", "LABEL_0": "cat"}
