"""Choose the reading of a damaged label that fits the other codes of its records."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import FloatArray, IntArray, Sparse
from audit.engine.statistics.association import log_lift
from audit.measure.measure import Measurements

CLEARLY = math.log(2)
"""Least difference of log evidence between the best reading and any other in a record."""

_FITTING = {"line": pl.UInt32, "fits_best": pl.String, "fitting": pl.Int64}


def fits_best(measured: Measurements, labels: pl.DataFrame, asked: pl.DataFrame) -> pl.DataFrame:
    """``line, fits_best, fitting`` of labels with one reading that fits better than all others.

    The evidence of a record for a reading is the sum, over its undamaged labels, of how much more
    often than by chance they occur beside that code in undamaged rows (`log_lift`). A record fits
    a reading if the evidence exceeds that of any other reading by `CLEARLY`. A reading is returned
    if more than half of the records with the label fit it; ``fitting`` is their number.

    Args:
        measured: The measurements.
        labels: All labels, as returned by `read_again`.
        asked: The labels in question; those with a single code ``with_zeros`` are skipped.
    """
    asked = asked.filter(pl.col("with_zeros").list.len() > 1)
    if asked.is_empty():
        return pl.DataFrame(schema=_FITTING)
    undamaged = labels.filter(pl.col("may_be_valid") & (pl.col("with_zeros").list.len() == 0))
    readings = asked["with_zeros"].explode().unique().sort().to_list()
    beside = _carried(measured, undamaged)
    spoken = csr_array(beside @ log_lift(beside, _unambiguous_codes(undamaged, readings)))
    instances = dict(_instances(measured, asked).group_by("line").agg("instance").iter_rows())
    place = {code: column for column, code in enumerate(readings)}
    found = []
    for line, codes in asked.select("line", "with_zeros").iter_rows():
        of_line = np.array(sorted(instances.get(line, [])), np.int64)
        fitting = _fitting(spoken[of_line][:, [place[code] for code in codes]].toarray())
        best = int(fitting.argmax())
        if 2 * fitting[best] > len(of_line):
            found.append((line, codes[best], int(fitting[best])))
    return pl.DataFrame(found, _FITTING, orient="row")


def _instances(measured: Measurements, labels: pl.DataFrame) -> pl.DataFrame:
    """``instance, line`` of labels, a row each time that an instance has one."""
    return measured.loaded.dataset.written.filter(pl.col("line").is_in(labels["line"].implode()))


def _carried(measured: Measurements, labels: pl.DataFrame) -> Sparse:
    """Labels of instances, 0 or 1, shape (n_instances, n_labels), canonical CSR."""
    places = labels.select("line").with_row_index("place")
    rows = _instances(measured, labels).join(places, on="line").sort("instance", "place")
    at = rows["instance"].to_numpy(), rows["place"].to_numpy()
    shape = (measured.n_instances, len(labels))
    return csr_array((np.ones(len(rows), np.int64), at), shape=shape)


def _unambiguous_codes(labels: pl.DataFrame, readings: list[str]) -> Sparse:
    """1 where a label can be one code alone as it stands, shape (n_labels, n_readings)."""
    codes = pl.DataFrame({"code": readings}, {"code": pl.String}).with_row_index("reading")
    alone = labels.with_row_index("place").filter(pl.col("codes").list.len() == 1)
    named = alone.select("place", code=pl.col("codes").list.first()).join(codes, on="code")
    at = named["place"].to_numpy(), named["reading"].to_numpy()
    return csr_array((np.ones(len(named), np.int64), at), shape=(len(labels), len(readings)))


def _fitting(spoken: FloatArray) -> IntArray:
    """How many records fit each reading, of what they speak for each, (n_records, n_readings)."""
    first_two = -np.sort(-spoken, axis=1)[:, :2]
    clear = first_two[:, 0] - first_two[:, 1] >= CLEARLY
    return np.bincount(spoken[clear].argmax(axis=1), minlength=spoken.shape[1]).astype(np.int64)
