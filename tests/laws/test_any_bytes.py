"""Any bytes are loaded, or refused with one message: never another error, no file left behind."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import audit
from fixtures import (
    attribution_files,
    broken,
    hierarchy_files,
    label_files,
    prediction_files,
    representation_files,
)
from fixtures.damaged import damaged
from fixtures.doors import command
from fixtures.held import held
from fixtures.label_files import Record
from fixtures.prediction_files import Scored
from fixtures.small_release import POLICY
from fixtures.toy import EDGES
from fixtures.tuple_files import write_seeds as tuple_seeds

TREE = audit.load_hierarchy(
    {child: [up for one, up in EDGES if one == child] for child, _ in EDGES}, format="parents"
)
RECORDS = (
    Record("1", ("dog", "cow"), "p"),
    Record("2", ("tool",), "p"),
    Record("3", ("bird", "dog"), "q"),
)
LABELS = audit.load_labels(
    {"instance": ["1", "1", "2", "3"], "label": ["dog", "cow", "tool", "bird"]}, TREE
)
SCORED = Scored(("1", "2", "3"), ("dog", "cow"), np.array([[0.25, 0.75], [0.5, 0.5], [0, 0.5]]))
QUESTIONS = (
    {"sub_uri": "Q1", "sub_label": "x", "obj_label": "dog", "obj2_label": "pet"},
    {"sub_uri": "Q2", "sub_label": "y", "obj_label": "cow", "obj2_label": "animal"},
)
Read = Callable[[Path], object]


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    Args:
        name: What it is called.
        seeds: Writes whole files of each of its formats into a folder.
        read: Reads one, in a folder that nothing else is in; raises AuditError where it is refused.
        quick: How many damaged copies are tried each time; 0: it is read by a whole audit.
    """

    name: str
    seeds: Callable[[Path], None]
    read: Read
    quick: int = 30


def by_command(*words: object) -> Read:
    """Reads a file, or a folder, by a command, which names it ``FILE``, and its run ``OUT``."""

    def read(path: Path) -> None:
        out = path.parent / "out"
        told = command(*(
            str(word).replace("FILE", str(path)).replace("OUT", str(out)) for word in words
        ))  # fmt: skip
        if told.exception is not None and not isinstance(told.exception, SystemExit):
            raise told.exception
        if told.exit_code == 2:
            assert told.stdout == ""
            assert told.stderr.count("Error: ") == 1 or "Usage" in told.stderr
            assert not out.exists()
            raise audit.AuditError(told.stderr)
        assert told.exit_code in (0, 1, 3)
        shutil.rmtree(out, ignore_errors=True)
        out.unlink(missing_ok=True)

    return read


def label_seeds(folder: Path) -> None:
    for number, writer in enumerate(label_files.WRITERS):
        writer.write(RECORDS, folder / f"{number}-{writer.file}")


def read_labels(path: Path) -> None:
    """Read labels with what their writer states."""
    writer = label_files.WRITERS[int(path.name.partition("-")[0])]
    audit.load_labels(path, TREE, **writer.options)


def prediction_seeds(folder: Path) -> None:
    for number, writer in enumerate(prediction_files.WRITERS):
        writer.write(SCORED, folder / f"{number}-{writer.file}")


def hierarchy_seeds(folder: Path) -> None:
    hierarchy_files.write_edges_csv(TREE, folder / "edges.csv")
    hierarchy_files.write_edges_parquet(TREE, folder / "edges.parquet")
    hierarchy_files.write_obo(TREE, folder / "toy.obo")
    hierarchy_files.write_obographs(TREE, folder / "graphs.json")
    hierarchy_files.write_skos(TREE, folder / "toy.ttl")
    hierarchy_files.write_audioset(TREE, folder / "ontology.json")
    hierarchy_files.write_tree(TREE, folder / "tree.json")
    (folder / "paths.txt").write_text("a > b > c\na > b > d\na > e\n")


def texts(**files: str) -> Callable[[Path], None]:
    """Writes a text, named with a dot for two underlines; several into a folder of their own."""

    def write(folder: Path) -> None:
        place = folder / "all" if len(files) > 1 else folder
        place.mkdir(exist_ok=True)
        for name, content in files.items():
            (place / name.replace("__", ".")).write_text(content, "utf-8")

    return write


def read_scores(path: Path) -> None:
    """Read predictions as they are; a matrix with the names of its columns."""
    bare = path.suffix == ".npy" or path.name.endswith("lone.npz")
    by_order = bare or path.name.endswith("plain.jsonl")
    audit.load_predictions(
        path, LABELS, classes=SCORED.classes if bare else None, by_order=by_order
    )


def read_classes(path: Path) -> None:
    """Read the names of the columns of a matrix."""
    audit.load_predictions(SCORED.scores, LABELS, classes=path, by_order=True)


def read_titles(path: Path) -> None:
    """Read titles of built-in codes."""
    audit.load_labels([["4019"]], "icd9cm", codes="diagnoses", titles=[path])


SETTINGS = """label = ["label"]
id = "instance"
seed = 3
strata = ["site"]
fail_on = "error"
missing = ["none"]
pdf = false
"""
DATA = "instance,label,site\n1,dog,a\n2,cow,a\n3,tool,b\n"
WORDS = "child,parent,title\n" + "".join(f"{a},{b},{a}\n" for a, b in EDGES)


def lines(*rows: object) -> str:
    """JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


CODES = "icd_code,icd_version,long_title\n0010,9,Cholera due to vibrio cholerae\n4019,9,x\n"
ASKED = lines(*(one | {"predicate_id": "P1"} for one in QUESTIONS))
ANSWERED = lines(
    {"question": 0, "scores": {"dog": 0.5, "pet": 0.25}},
    {"question": "Q2", "scores": {"cow": 1e-3, "animal": 0.0}},
)
MADE = ("--no-pdf", "--out", "OUT", "--quiet")
KINDS = (
    Kind("labels", label_seeds, read_labels),
    Kind("predictions", prediction_seeds, read_scores),
    Kind("hierarchies", hierarchy_seeds, audit.load_hierarchy),
    Kind("policies", texts(policy__toml=POLICY), audit.load_policy),
    Kind("titles", texts(d_icd_diagnoses__csv=CODES), read_titles, quick=8),
    Kind("classes", texts(classes__txt="dog\ncow\n"), read_classes),
    Kind(
        "questions",
        texts(questions__jsonl=ASKED, scores__jsonl=ANSWERED, words__csv=WORDS),
        by_command(*("preference", "FILE/scores.jsonl", "--questions", "FILE/questions.jsonl"),
                   *("--hierarchy", "FILE/words.csv", *MADE)),
    ),
    Kind(
        "settings",
        texts(audit__toml=SETTINGS, labels__csv=DATA, tree__csv=WORDS),
        by_command(*("run", "FILE/labels.csv", "--config", "FILE/audit.toml"),
                   *("--hierarchy", "FILE/tree.csv", *MADE)),
        quick=0,
    ),
    Kind("tuples", tuple_seeds, by_command("entailment", "FILE", *MADE), quick=0),
    Kind(
        "attributions",
        attribution_files.write_seeds,
        by_command("explanations", "FILE", *MADE),
        quick=0,
    ),
    Kind(
        "representations",
        representation_files.write_seeds,
        by_command("concepts", "FILE", "--depth", "1", *MADE),
        quick=0,
    ),
)  # fmt: skip
"""Every kind of file that is read, by public doors."""
QUICK = [kind for kind in KINDS if kind.quick]


def stumbles(kind: Kind, number: int, folder: Path) -> list[str]:
    """What is raised but AuditError, and what is left behind, by damaged copies of a kind."""
    seeds, wrong = folder / "seeds", list[str]()
    seeds.mkdir()
    kind.seeds(seeds)
    contents = {path: path.read_bytes() for path in sorted(seeds.rglob("*")) if path.is_file()}
    for at in range(number):
        draw = random.Random(f"{kind.name} {at}")
        path = draw.choice([*contents])
        noise = draw.randbytes(draw.choice((0, 1, 9, 400)))
        whole = damaged(contents[path], [*contents.values()], draw)
        top = path.relative_to(seeds).parts[0]
        place = folder / f"{at}"
        place.mkdir()
        if (seeds / top).is_dir():
            shutil.copytree(seeds / top, place / top)
        (place / path.relative_to(seeds)).write_bytes(noise if at % 5 == 0 else whole)
        before = held(place)
        try:
            kind.read(place / top)
        except audit.AuditError:
            pass
        except Exception as error:
            wrong.append(f"{at} {path.name}: {type(error).__name__}: {error}")
        if held(place) != before:
            wrong.append(f"{at} {path.name} leaves {held(place).keys() - before.keys()}")
    return wrong


@pytest.mark.parametrize("kind", QUICK, ids=lambda kind: kind.name)
def test_nothing_stumbles_over_damaged_files(kind: Kind, tmp_path: Path) -> None:
    assert stumbles(kind, kind.quick, tmp_path) == []


@pytest.mark.parametrize("kind", QUICK, ids=lambda kind: kind.name)
def test_whole_files_are_read(kind: Kind, tmp_path: Path) -> None:
    kind.seeds(tmp_path)
    for path in sorted(tmp_path.iterdir()):
        kind.read(path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_nothing_stumbles_over_many_damaged_files(kind: Kind, tmp_path: Path) -> None:
    assert stumbles(kind, 300 if kind.quick else 40, tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", [one for one in KINDS if not one.quick], ids=lambda one: one.name)
def test_whole_files_of_audits_are_read(kind: Kind, tmp_path: Path) -> None:
    kind.seeds(tmp_path)
    kind.read(min(tmp_path.iterdir()))


@pytest.mark.parametrize("file", broken.BROKEN, ids=lambda file: file.name)
def test_a_broken_file_of_labels_is_refused(file: broken.BrokenFile, tmp_path: Path) -> None:
    path = file.write(tmp_path)
    with pytest.raises(audit.AuditError) as caught:
        audit.load_labels(path, TREE)

    assert file.name in str(caught.value)
    assert held(tmp_path) == {file.name: file.content}


def test_no_pickle_is_loaded(tmp_path: Path) -> None:
    import pickle

    trap = pickle.dumps(broken.Trap(tmp_path / "sprung"))
    for name in ("labels.csv", "labels.pkl", "scores.npy", "scores.pt", "x.parquet"):
        (tmp_path / name).write_bytes(trap)
        with pytest.raises(audit.AuditError):
            audit.load_labels(tmp_path / name, TREE)
        with pytest.raises(audit.AuditError):
            audit.load_predictions(tmp_path / name, LABELS, classes=["dog"])
    assert not (tmp_path / "sprung").exists()


def test_a_damaged_sheet_of_decisions_is_refused(small: Path, tmp_path: Path) -> None:
    command("fixes", small / "first", "--csv", tmp_path / "sheet.csv")
    whole = (tmp_path / "sheet.csv").read_bytes()
    for number in range(6):
        content = damaged(whole, [whole], random.Random(number))
        (tmp_path / "sheet.csv").write_bytes(content)
        told = command("apply", small / "first", "--decisions", tmp_path / "sheet.csv", "--out",
                       tmp_path / "copy.csv")  # fmt: skip
        assert told.exit_code == 2
        assert isinstance(told.exception, SystemExit)
        assert told.stderr.count("Error: ") == 1
        assert {path.name for path in tmp_path.iterdir()} == {"sheet.csv"}
