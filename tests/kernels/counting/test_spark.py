"""Counts of pairs on two real worker processes of Spark equal those of one machine."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import audit.counting.spark
from audit import Hierarchy, LabelDataset
from audit.base.progress import silent
from audit.base.table import table_of
from audit.counting.counts import PairCount
from audit.data.columns import Columns
from audit.data.spark import SparkRows
from audit.engine.pairs.entailed import count_entailed, in_line, joint_entailed
from audit.engine.pairs.pair_counts import count_pairs, support
from audit.engine.pairs.propagation import aggregate

pyspark = pytest.importorskip("pyspark", reason="needs the extra spark")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None, reason="needs Java 17"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

Session = Any
LABELS = ("dog", " cow ", "bird", "tool", "pet", "unicorn", None)


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    from pyspark.sql import SparkSession

    root = Path(__file__).parents[3]
    given = {
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(root),
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in given.items():
            patch.setenv(name, value)
        building = SparkSession.builder.master("local-cluster[2,1,1024]")
        settings = {
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "4",
            "spark.sql.adaptive.enabled": "false",
            "spark.driver.host": "127.0.0.1",
        }
        for name, value in settings.items():
            building = building.config(name, value)
        on_interrupt = signal.getsignal(signal.SIGINT)  # Spark puts its own in place
        running = building.getOrCreate()
        running.sparkContext.setLogLevel("OFF")
        yield running
        running.stop()
        signal.signal(signal.SIGINT, on_interrupt)


def rows(instances: int = 300) -> pl.DataFrame:
    rng = np.random.default_rng(7)
    instance = rng.integers(instances, size=4 * instances)
    label = [LABELS[i] for i in rng.integers(len(LABELS), size=4 * instances)]
    names = [None if i == 0 else f"i{i}" for i in instance.tolist()]
    schema = {"instance": pl.String, "label": pl.String}
    return pl.DataFrame({"instance": names, "label": label}, schema=schema)


def spread(session: Session, frame: pl.DataFrame) -> SparkRows:
    spread = session.createDataFrame(frame.to_arrow()).repartition(6)
    return SparkRows(spread, Columns(id=("instance",), label=("label",)), table_of(frame, "rows"))


def assert_equal_to_one_machine(found: PairCount, frame: pl.DataFrame, given: Hierarchy) -> None:
    homed = frame.drop_nulls("instance")
    dataset = LabelDataset.from_rows(homed, given)
    aggregated = aggregate(dataset.direct, dataset.hierarchy.closure)
    expected = count_pairs(aggregated)
    closure = dataset.hierarchy.closure
    entailed, keys = count_entailed(dataset.direct, closure), expected.keys(closure.shape[0])
    alone = joint_entailed(keys, expected.joint, entailed, in_line(closure))

    for name in ("a", "b", "joint"):
        np.testing.assert_array_equal(found.pairs[name], getattr(expected, name))
    sums = found.pairs["confusion"] * len(dataset)
    np.testing.assert_allclose(sums, expected.confusion_sum, rtol=1e-12)
    table = found.pairs_of(found.pair_records(), silent).counted.collect()
    np.testing.assert_array_equal(table["joint_entailed"], alone)
    np.testing.assert_array_equal(found.support, support(aggregated))
    np.testing.assert_array_equal(found.direct_support, support(dataset.direct))
    assert found.ledger.instances == len(dataset)
    assert found.ledger.rows_read == len(frame)
    assert found.ledger.refused["bad_row"] == frame["instance"].null_count()


def test_rows_in_any_order(session: Session, toy_hierarchy: Hierarchy) -> None:
    frame = rows()

    found = audit.counting.spark.count_pairs(spread(session, frame), toy_hierarchy)

    assert_equal_to_one_machine(found, frame, toy_hierarchy)


def test_an_executor_killed_in_the_middle_changes_nothing(
    session: Session, toy_hierarchy: Hierarchy, tmp_path: Path
) -> None:
    frame, met, killed = rows(), tmp_path / "met", []

    def wait_once(parts: Iterator[Any]) -> Iterator[Any]:
        import os
        import time

        for part in parts:
            try:
                with open(met, "x") as stream:  # noqa: PTH123
                    stream.write(f"{os.getpid()}\n")
            except FileExistsError:
                yield part
            else:
                time.sleep(300)

    def kill_its_executor() -> None:
        while not (met.exists() and met.read_text().endswith("\n")):
            time.sleep(0.05)
        executor = executor_of(int(met.read_text()))
        os.kill(executor, signal.SIGKILL)
        killed.append(executor)

    killing = threading.Thread(target=kill_its_executor, daemon=True)
    killing.start()
    read = spread(session, frame)
    slow = read.rows.mapInArrow(wait_once, "instance string, label string")
    found = audit.counting.spark.count_pairs(replace(read, rows=slow), toy_hierarchy)

    assert killed
    assert_equal_to_one_machine(found, frame, toy_hierarchy)


def executor_of(worker: int) -> int:
    """The process that runs Spark's tasks, above the Python process of one of them."""
    process = worker
    while b"CoarseGrainedExecutorBackend" not in Path(f"/proc/{process}/cmdline").read_bytes():
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        assert process > 1
    return process
