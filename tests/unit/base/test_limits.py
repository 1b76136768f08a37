"""Odd input is refused in a message before it takes all memory, and read where a variable says."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from audit.base import limits
from audit.base.dag import edge_matrix, shortest_cycle
from audit.base.errors import AuditError, HierarchyError, InputError
from audit.base.limits import Limit
from audit.data.dataset import load_labels
from audit.data.formats import read_labels, read_predictions
from audit.data.label_format import Columns
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.reading import load_hierarchy
from audit.policy.reading import load_policy


def chain(length: int) -> Hierarchy:
    nodes = [f"n{number}" for number in range(length)]
    return Hierarchy.build(pl.DataFrame({"child": nodes[1:], "parent": nodes[:-1]}), name="chain")


@pytest.mark.parametrize(("stated", "most"), [("", 5), ("7", 7), ("3", 3), ("x", 5)])
def test_a_variable_says_another_limit(
    monkeypatch: pytest.MonkeyPatch, stated: str, most: int
) -> None:
    monkeypatch.setenv("AUDIT_MOST", stated)
    limit = Limit("AUDIT_MOST", 5, "things")
    limit.refuse_beyond(most, "here")
    with pytest.raises(InputError, match=f"here: at most {most} things") as caught:
        limit.refuse_beyond(most + 1, "here")
    assert "AUDIT_MOST" in str(caught.value)


def test_a_chain_of_very_many_nodes() -> None:
    with pytest.raises(InputError, match="AUDIT_MOST_ANCESTORS"):
        _ = chain(100_000).closure


def test_a_hierarchy_as_deep_as_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.ANCESTORS.variable, "45")
    assert chain(10).closure.nnz == 55
    with pytest.raises(InputError):
        _ = chain(11).closure


def test_a_cycle_of_very_many_nodes() -> None:
    around = [f"n{number}" for number in range(20_000)]
    edges = pl.DataFrame({"child": around, "parent": [*around[1:], around[0]]})
    with pytest.raises(HierarchyError, match=r"\(20,000 nodes\)") as caught:
        Hierarchy.build(edges, name="ring")
    assert len(str(caught.value)) < 1000


def test_a_short_cycle_is_found_beside_a_long_one() -> None:
    around = np.arange(20_000)
    child, parent = np.append(around, 7), np.append((around + 1) % 20_000, 5)
    cycle = shortest_cycle(edge_matrix(child, parent, 20_000))

    assert sorted(cycle[:-1]) == [5, 6, 7]


def test_a_path_of_very_many_parts(tmp_path: Path) -> None:
    path = tmp_path / "paths.txt"
    path.write_text("a.b\n" + ".".join("p" * 50_000) + "\n")
    with pytest.raises(InputError, match=f"{path}:2: at most 1,000 parts"):
        load_hierarchy(path, format="dotted")


def test_an_instance_of_very_many_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.LABELS.variable, "3")
    path = tmp_path / "labels.csv"
    for most, refused in ((3, False), (4, True)):
        labels = [*range(most), 0, 0]
        path.write_text("instance,label\n" + "".join(f"x,n{n}\ny,n1\n" for n in labels))
        if refused:
            with pytest.raises(InputError, match="instance 'x'"):
                load_labels(path, chain(9))
        else:
            load_labels(path, chain(9))


def test_a_file_that_unpacks_to_very_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "labels.csv.gz"
    path.write_bytes(gzip.compress(b"instance,label\n" + b"a,b\n" * 1_000_000))
    read_labels(path, Columns())
    monkeypatch.setenv(limits.UNPACKED.variable, "1000000")
    with pytest.raises(InputError, match="AUDIT_MOST_UNPACKED"):
        read_labels(path, Columns())

    scores = tmp_path / "scores.npz"
    np.savez_compressed(scores, scores=np.zeros((1000, 1000)))
    with pytest.raises(InputError, match="AUDIT_MOST_UNPACKED"):
        read_predictions(scores)


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for read in (
        lambda: read_labels(pipe, Columns()),
        lambda: read_predictions(pipe),
        lambda: load_policy(pipe),
    ):
        with pytest.raises(AuditError, match="pipe or a device"):
            read()
