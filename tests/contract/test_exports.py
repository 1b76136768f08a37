"""Whatever leaves a run tells the numbers of its ``result.json``, in words and as lengths."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pypdfium2
import pytest

import reports
from fixtures.doors import command
from fixtures.leaving import (
    exported_tables,
    imprint_of_run,
    junit_of,
    name_of_run,
    write_croissant,
    write_csv_folder,
    write_xlsx,
)
from fixtures.sample_runs import DATED, RELEASE_2, SAMPLE_DATA

pytestmark = pytest.mark.slow

MIN_CELL = 101
"""So high that counts that are not told are unlike codes and lengths of lists."""
EXEMPT: Mapping[str, str] = {
    r"\d+ January 2026|2026-01-01T\S+": "the day of the run",
    r"hierarchy-audit \S+": "the version of the program",
    r"(?:and|has) [\d,]+ (?:lines? )?(?:more|others)": "how long the rest of a list is",
    r"[\d,]+ (?:of [\d,]+ )?findings?": "how many findings there are",
    r"\d+ (?:most used nodes|nodes with the most)": "how many lines a list or picture has",
    r"[Pp]age \d+|\d+ of \d+ pages": "numbers of pages",
    r"[×x][\d.]+": "the key of a map, the same for all data",
    r"ISO [\d-]+": "the standards of the PDF",
    r"below 0\.0001": "the least p-value that is written out",
    r"[\d.]+ points (?:better|worse|below|above)": "a difference of two metrics beside it",
    r"(?<![\d.,])(?:[2468]0|100|[05]|[125]0|25|75)(?:\.00)?%": "ticks of axes, keys of colours",
    r"\b0\s+[\d,]+\s+[125][0,]*0\b": "ticks of an axis of counts",
}
"""Numbers that are of no data, or of two that stand beside them, and what they are."""
NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)")


class Told:
    """All numbers of a ``result.json``, as they may be written."""

    def __init__(self, shared: Mapping[str, Any]) -> None:
        leaves = [*_leaves(shared)]
        numbers = [one for one in leaves if not isinstance(one, str)]
        every = [len(check["findings"]) + check["not_shown"] for check in shared["checks"]]
        states = Counter(one["status"] for one in shared["checks"])
        applied = states.total() - states["not_applicable"]
        numbers += [*every, sum(every), applied, *states.values(), states.total()]
        texts = " ".join(one for one in leaves if isinstance(one, str))
        self.texts = {one.replace(",", "") for one in NUMBER.findall(texts)}
        self.values = np.unique(np.abs(np.array(numbers, float)))
        beside = [shares for record in _records(shared) for shares in _quotients(record)]
        whole = self.values[self.values <= shared["ledger"]["instances"]]
        beside += [*(whole / shared["ledger"]["instances"])]
        shares = self.values[self.values <= 1]
        self.percents = np.unique(100 * np.array([*shares, *beside]))
        self.rounded = np.unique([*self.values, *100 * shares, *self.values / 1e6])

    def finds(self, written: str, sign: str) -> bool:
        """Whether a number, as it is written, is one of them; a whole one that itself."""
        plain = written.replace(",", "")
        if plain in self.texts:
            return True
        digits, _, power = plain.partition("e")
        places = len(digits.partition(".")[2])
        most = 0.500001 * 10.0 ** (int(power or 0) - places)
        if sign == "%":
            return near(self.percents, float(plain), most)
        if places or power:
            return near(self.rounded, float(plain), most)
        return near(self.values, float(plain), 1e-9)

    def unfound(self, text: str) -> list[str]:
        """The numbers of a text that are not among them, each with what is around it."""
        text = re.sub("|".join(EXEMPT), " ", text)
        return [
            " ".join(text[max(0, one.start() - 50) : one.end() + 30].split())
            for one in NUMBER.finditer(text)
            if not self.finds(one[0], text[one.end() : one.end() + 1])
        ]


def near(values: Any, value: float, most: float) -> bool:
    """Whether one of some ascending numbers is this one, but for ``most``."""
    at = np.searchsorted(values, value - most)
    return bool(at < len(values) and values[at] <= value + most)


def _leaves(value: Any) -> Iterator[Any]:
    """Keys and values of a record, and the lengths of its lists."""
    if isinstance(value, dict):
        value = [*value, *value.values()]
    elif isinstance(value, list):
        yield len(value)
    if isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    elif value is not None and not isinstance(value, bool):
        yield value


def _records(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, dict | list):
            yield from _records(inner)


def _quotients(record: Mapping[str, Any]) -> Iterator[float]:
    """The shares that two counts of a record are: a page may print them."""
    counts = [one for one in record.values() if isinstance(one, int) and one > 0]
    return (a / b for a in counts for b in counts if a < b)


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All that leaves a run of the sample with its model."""
    out = tmp_path_factory.mktemp("left")
    github = {"GITHUB_ACTIONS": "1"}
    model = ("--predictions", SAMPLE_DATA / "predictions.psv", "--min-cell", MIN_CELL)
    run, commands = out / "run", dict[str, tuple[object, ...]]()
    commands["run"] = ("run", RELEASE_2, "--hierarchy", "icd9cm", *model, "--out", run)
    commands["run"] += ("--junit", out / "junit.xml")
    commands["export"] = ("export", run, "--csv", out / "csv", "--xlsx", out / "tables.xlsx")
    commands["export"] += ("--croissant", out / "croissant.json")
    for name, words in commands.items():
        environment = DATED | (github if name == "run" else {})
        done = command(*words, **environment)
        assert done.exit_code == 0, done.output
        (out / f"{name}.txt").write_text(done.output)
    return out


@pytest.fixture(scope="module")
def shared(left: Path) -> dict[str, Any]:
    """What whoever is given ``result.json`` has."""
    read: dict[str, Any] = json.loads((left / "run" / "result.json").read_text("utf-8"))
    return read


@pytest.fixture(scope="module")
def told(shared: dict[str, Any]) -> Told:
    return Told(shared)


def _words(path: Path) -> str:
    """The words of a page or picture."""
    page = re.sub(r"<(script|style)\b.*?</\1>|\?[^\"]*\"", "", path.read_text("utf-8"), flags=re.S)
    return unescape(re.sub(r"<[^>]*>", " ", page))


def _every(left: Path, pattern: str, read: Callable[[Path], str]) -> str:
    return "\n".join(map(read, sorted(left.glob(pattern))))


def _cells(path: Path) -> str:
    return "\n".join(" ; ".join(row) for row in csv.reader(io.StringIO(path.read_text("utf-8"))))


def _workbook(left: Path) -> str:
    """The texts and numbers of its cells."""
    with zipfile.ZipFile(left / "tables.xlsx") as book:
        sheets = [one for one in book.namelist() if re.search(r"sheets/|sharedStrings", one)]
        parts = [book.read(one).decode() for one in sheets]
    cells = [re.findall(r"<t[ >][^<]*|<c r=\"\w+\"><v>[^<]*", part) for part in parts]
    return unescape("\n".join(re.sub(".*>", "", cell) for part in cells for cell in part))


def _metadata(left: Path) -> str:
    """The texts and numbers of the file for catalogues, without addresses and digests."""
    text = (left / "croissant.json").read_text("utf-8")
    return re.sub(r'"(https?|sha256):[^"]*"', " ", text).replace('\\"', '"')


def _paper(left: Path) -> str:
    with pypdfium2.PdfDocument(left / "run" / "report.pdf") as document:
        pages = [page.get_textpage().get_text_bounded() for page in document]
    return " ".join(" ".join(pages).replace("\ufffe", "-").split())


TEXTS: Mapping[str, Callable[[Path], str]] = {
    "JUnit": lambda left: (left / "junit.xml").read_text("utf-8"),
    "terminal": lambda left: (
        (left / "run.txt").read_text("utf-8").replace("%25", "%").replace(str(left), "")
    ),
    "CSV": lambda left: _every(left, "csv/*.csv", _cells),
    "XLSX": _workbook,
    "metadata": _metadata,
    "HTML": lambda left: _words(left / "run" / "report.html"),
    "PDF": _paper,
}


@pytest.mark.parametrize("export", TEXTS)
def test_every_number_is_one_of_the_result(left: Path, told: Told, export: str) -> None:
    text = re.sub(r"[\d,]+ more in audit explore", "", TEXTS[export](left))  # rows less those shown
    assert len(NUMBER.findall(text)) > 50
    assert told.unfound(text) == []


def test_most_exact_numbers_would_be_missed(left: Path, told: Told) -> None:
    nodes = pl.read_parquet(left / "run" / "restricted" / "nodes.parquet")
    exact = [n for n in nodes["support"].unique().sort() if n >= 300]
    missed = [n for n in exact if told.unfound(f"{n:,} instances")]
    assert len(exact) > 80
    assert len(missed) > 0.7 * len(exact)


def _made_alone(left: Path, shared: Mapping[str, Any], out: Path) -> None:
    """Make what leaves of ``result.json``, and nothing else of the run."""
    imprint, name = imprint_of_run(left / "run"), name_of_run(left / "run")
    (out / "junit.xml").write_bytes(junit_of(shared))
    (out / "run").mkdir()
    reports.write_html(shared, out / "run" / "report.html", imprint)
    reports.write_pdf(shared, out / "run" / "report.pdf", imprint)
    write_csv_folder(exported_tables(shared), out / "csv", overwrite=False)
    write_xlsx(exported_tables(shared), out / "tables.xlsx", overwrite=False)
    write_croissant(shared, name, out / "croissant.json")


def test_what_leaves_is_made_of_the_result_alone(
    left: Path, shared: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in DATED.items():
        monkeypatch.setenv(name, value)
    _made_alone(left, shared, tmp_path)
    made = {path.relative_to(tmp_path): path for path in tmp_path.rglob("*") if path.is_file()}
    other = [
        place for place, path in made.items() if (left / place).read_bytes() != path.read_bytes()
    ]
    assert len(made) > 20
    assert other == []
