"""The public releases read without the product, for numbers that are counted again.

Nothing here or in `finding_recount` imports ``audit``.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

Labels = dict[str, list[str]]
"""Labels by record, in the order of the file; a repeated row is there as often."""


@dataclass(frozen=True)
class Release:
    """A release: labels and answers by record, and the hierarchy.

    Args:
        name: What it is called.
        labels: Labels by record.
        titles: Titles by node; a node may have none.
        parents: Parents by node, of those that have any.
        answers: A model's answers by record; empty without a model.
        tables: The table of each label as read (``diagnoses``), where there are several.
        groups: Group of each record; empty where records stand by themselves.
    """

    name: str
    labels: Labels
    titles: Mapping[str, str]
    parents: Mapping[str, set[str]]
    answers: Labels = field(default_factory=dict)
    tables: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def nodes(self) -> list[str]:
        """All nodes of the hierarchy, in order."""
        parents = {parent for above in self.parents.values() for parent in above}
        used = {label for labels in self.labels.values() for label in labels}
        return sorted({*self.parents, *parents, *self.titles, *used})

    @cached_property
    def above(self) -> dict[str, set[str]]:
        """Each node with all nodes above it."""
        done: dict[str, set[str]] = {}

        def walk(node: str) -> set[str]:
            if node not in done:
                done[node] = {node}.union(*map(walk, self.parents.get(node, ())))
            return done[node]

        for node in self.nodes:
            walk(node)
        return done

    def describe(self, node: str) -> str:
        """The title, and the id after it; the id alone if there is no other title."""
        title = self.titles.get(node, "")
        return f"{title} ({node})" if title not in ("", node) else node


def read(name: str, folder: Path) -> Release:
    """A release from the files in a folder.

    Args:
        name: One of `RELEASES`.
        folder: Where the public data lie.

    Raises:
        KeyError: If there is no such release.
    """
    return RELEASES[name](folder)


def mimic_labels(folder: Path) -> tuple[Labels, dict[str, str]]:
    """Codes by stay, dots inserted, and the table of each code."""
    labels: Labels = {}
    tables: dict[str, str] = {}
    for table, dot in (("DIAGNOSES_ICD", 3), ("PROCEDURES_ICD", 2)):
        for row in _rows(folder / f"{table}.csv"):
            code = _spelled(row["ICD9_CODE"], dot)
            labels.setdefault(row["HADM_ID"], []).append(code)
            tables[code] = table.partition("_")[0].lower()
    return labels, tables


def clips(path: Path) -> Labels:
    """Labels by clip."""
    lines = map(json.loads, path.read_text("utf-8").splitlines())
    return {str(clip["clip"]): list(clip["labels"]) for clip in lines}


def genes(path: Path) -> Labels:
    """Terms by gene."""
    lines = (line.split("\t") for line in path.read_text("utf-8").splitlines())
    return {name: [node for node in nodes.split(";") if node] for name, nodes in lines}


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [
            {name.upper(): value.strip() for name, value in row.items()}
            for row in csv.DictReader(file)
        ]


def _spelled(code: str, dot: int) -> str:
    place = dot + code.startswith("E")
    return f"{code[:place]}.{code[place:]}" if len(code) > place else code


def _mimic(folder: Path) -> Release:
    labels, tables = mimic_labels(folder / "mimic-iii-demo")
    titles, edges = _icd9_headings(folder / "icd9cm" / "ICD9_descriptions"), _icd9_edges(tables)
    for table, dot in (("D_ICD_DIAGNOSES", 3), ("D_ICD_PROCEDURES", 2)):
        for row in _rows(folder / "mimic-iii-demo" / f"{table}.csv"):
            titles[_spelled(row["ICD9_CODE"], dot)] = row["LONG_TITLE"]
    return Release("MIMIC-III demo", labels, titles, edges, tables=tables)


def _icd9_headings(path: Path) -> dict[str, str]:
    lines = (line.split("\t", 1) for line in path.read_text("utf-8").splitlines())
    return {code: title for code, title in lines if code != "@"}


def _icd9_edges(codes: Iterable[str]) -> dict[str, set[str]]:
    """Each code below the code with a digit less, down to the category."""
    parents: dict[str, set[str]] = {}
    for written in codes:
        code = written
        while "." in code:
            parents[code] = {code[:-1].removesuffix(".")}
            code = code[:-1].removesuffix(".")
    return parents


def _audioset(folder: Path) -> Release:
    nodes = json.loads((folder / "audioset" / "ontology.json").read_text("utf-8"))
    parents: dict[str, set[str]] = {}
    for node in nodes:
        for child in node["child_ids"]:
            parents.setdefault(child, set()).add(node["id"])
    return Release(
        "AudioSet",
        clips(folder / "audioset" / "labels.jsonl"),
        {node["id"]: node["name"] for node in nodes},
        parents,
        clips(folder / "audioset" / "predictions.jsonl"),
    )


def _go(folder: Path) -> Release:
    titles: dict[str, str] = {}
    parents: dict[str, set[str]] = {}
    text = (folder / "go-slim" / "goslim_generic.obo").read_text("utf-8")
    for stanza in text.partition("[Typedef]")[0].split("[Term]")[1:]:
        lines = [line.partition(": ") for line in stanza.splitlines()]
        node = next(value for tag, _, value in lines if tag == "id")
        titles[node] = next(value for tag, _, value in lines if tag == "name")
        above = {value.split(" ! ")[0].strip() for tag, _, value in lines if tag == "is_a"}
        if above:
            parents[node] = above
    return Release("GO slim", genes(folder / "go-slim" / "slim_association"), titles, parents)


def _softmax(folder: Path, name: str, stem: str) -> Release:
    folder = folder / "softmax"
    classes = (folder / f"{stem}_classes.txt").read_text("utf-8").split()
    given = np.load(folder / f"{stem}_test_labels.npy")
    best = np.load(folder / f"{stem}_test_probabilities.npy").argmax(axis=1)
    labels = {str(row): [classes[k]] for row, k in enumerate(given.tolist())}
    answers = {str(row): [classes[k]] for row, k in enumerate(best.tolist())}
    return Release(name, labels, {}, {}, answers)


def _cifar(folder: Path) -> Release:
    parents: dict[str, set[str]] = {}
    for row in _rows(folder / "softmax" / "cifar10_edges.csv"):
        parents.setdefault(row["CHILD"], set()).add(row["PARENT"])
    return replace(_softmax(folder, "CIFAR-10", "cifar10"), parents=parents)


def _news(folder: Path) -> Release:
    """Groups below the dotted names that they begin with."""
    release = _softmax(folder, "20 Newsgroups", "20news")
    parents: dict[str, set[str]] = {}
    for node in release.nodes:
        own = node
        while "." in own:
            above = own.rpartition(".")[0]
            parents[own] = {above}
            own = above
    titles = {node: node.rpartition(".")[2] for node in (*release.nodes, *parents)}
    return replace(release, titles=titles, parents=parents)


RELEASES: dict[str, Callable[[Path], Release]] = {
    "MIMIC-III demo": _mimic,
    "GO slim": _go,
    "AudioSet": _audioset,
    "CIFAR-10": _cifar,
    "20 Newsgroups": _news,
}
"""Readers by name."""


_OF_ANY = ["disorder", "disease", "condition", "other", "unspecified", "elsewhere", "classified"]


def of_one_kind(title: str, other: str) -> bool:
    """Whether two titles share a word of five letters that names something, in any number."""
    words = (
        {word.removesuffix("s") for word in re.findall(r"[a-z]{5,}", one.lower())}
        for one in (title, other)
    )
    return bool(set.intersection(*words) - set(_OF_ANY))
