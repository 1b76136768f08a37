"""Time audits of explanations, whole and by part, beside a loop over rows, in one run.

``python benchmarks/explanations.py [--rounds N] [--sentences N...]``. The data are sentences of 25
tokens on average with one of thirty labels each, scores of six methods, and marks of three
annotators. Every round runs in processes of its own: one is ``audit explanations FILE.parquet
--no-pdf``, the whole command; the other measures importance alignment (10 draws and permutations),
agreement (peaks, k = 1 to 10, both nulls) and plausibility, one after the other.

The peer goes through some of the sentences one after the other, and calls scipy and scikit-learn
(without it, plain loops) for one row at a time: the peaks and the k highest tokens of every method,
agreement of all pairs, precision, areas, Kendall's tau and F1. It computes no permutations, no
expectations and no intervals; its time is scaled to all sentences, and said so.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from itertools import combinations, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
from measure import Taken, keep, run, stay_on_cores, summary, surroundings
from numpy.typing import NDArray
from scipy.signal import find_peaks
from scipy.stats import kendalltau

from audit.explanations.agreement.agreement import HUMAN, Agreement, measure_agreement
from audit.explanations.agreement.plausibility import Plausibility, measure_plausibility
from audit.explanations.attributions import ITEMS, ROWS, Attributions, Evidence
from audit.explanations.importance.importance import importance_alignment
from audit.explanations.lists import Lists
from audit.explanations.reading.texts import marked_words
from audit.explanations.reading.writing import write_attributions

METHODS = ("gradient", "gradient_x_input", "ig", "ig_plain", "lime", "shap")
TOKENS = 25
"""Mean number of tokens of a sentence."""
SHAPE = 9.0
"""Shape of the gamma distribution of lengths: a third of the mean is their deviation."""
MOST_TOKENS = 113
ANNOTATORS = 3
KS = range(1, 11)
MAIN_K = 4
PEER_SENTENCES = 200
SIZES = (25_000, 50_000, 100_000)
WALL_LIMIT, PEAK_LIMIT_MB = 30.0, 2_000.0
"""Goals of the whole command at the largest of the sizes above."""
WORDS = 2_000
LABELS = 30
COMMAND = "from audit.cli.app import app; app()"

Array = NDArray[np.float64]


def main() -> None:
    """Run all sizes in turns, print and keep the numbers."""
    parser = argparse.ArgumentParser(description="Time measures of explanations.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sentences", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--once", type=int, help="measure so many sentences, print JSON")
    parser.add_argument("--write", nargs=2, help="write so many sentences to a Parquet file")
    options = parser.parse_args()
    if options.once:
        print(json.dumps(_measured(options.once)))
        return
    if options.write:
        write_attributions(made(int(options.write[0])), options.write[1])
        return
    cores = stay_on_cores()
    sizes: dict[int, dict[str, Any]] = {}
    with TemporaryDirectory() as folder:
        for n in options.sentences:
            path = Path(folder) / f"{n}.parquet"
            run([sys.executable, __file__, "--write", str(n), str(path)])
            parts = [
                run([sys.executable, __file__, "--once", str(n)]) for _ in range(options.rounds)
            ]
            whole = [_whole(path) for _ in range(options.rounds)]
            path.unlink()
            sizes[n] = _summary(parts) | {"whole": summary(whole)}
            _show(n, sizes[n])
    exponents = _growth(sizes)
    for name, exponent in exponents.items():
        print(f"seconds of the whole grow with sentences to the power {exponent:.2f}, {name}")
    result = {"surroundings": surroundings(cores), "sizes": sizes, "growth": exponents}
    print(keep("explanations", result))


def _whole(path: Path) -> Taken:
    out = ["--no-pdf", "--overwrite", "--out", str(path.with_suffix(".run"))]
    return run([sys.executable, "-c", COMMAND, "explanations", str(path), *out])


def made(n: int, seed: int = 0) -> Attributions:
    """Attributions of n sentences that agree a little with each other and with people."""
    draw = np.random.default_rng(seed)
    lengths = np.clip(draw.gamma(SHAPE, TOKENS / SHAPE, n), 5, MOST_TOKENS).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    signal = draw.normal(size=starts[-1])
    noisy = [signal + draw.normal(size=len(signal)) for _ in range(ANNOTATORS)]
    marks = sum((one > 1.4).astype(np.float64) for one in noisy) / ANNOTATORS
    scores = [signal + (1 + m) * draw.normal(size=len(signal)) for m in range(len(METHODS))]
    targets = pl.Series([f"t{label:02}" for label in draw.integers(0, LABELS, n)])
    places = np.tile(np.arange(n), len(METHODS))
    rows = pl.DataFrame({"id": places}).with_columns(
        pl.col("id").cast(pl.String),
        target=targets.gather(places),
        method=pl.Series(np.repeat(METHODS, n)),
        model=pl.lit("m"),
        seed=pl.lit(0, pl.Int64),
        gold=pl.lit(True),
        predicted=pl.lit(True),
        group=pl.lit(None, pl.String),
        borrowed=pl.lit(False),
        text=pl.Series(places),
        item=pl.Series(places),
    )
    items = pl.DataFrame({"text": np.arange(n)}).with_columns(
        target=targets, annotators=pl.lit(ANNOTATORS, pl.Int64)
    )
    words = Lists(draw.integers(0, WORDS, starts[-1]), starts)
    vocabulary = pl.Series("word", [f"w{word:04}" for word in range(WORDS)])
    all_starts = np.concatenate([[0], np.cumsum(np.tile(lengths, len(METHODS)))])
    return Attributions(
        rows=rows.select(*ROWS),
        scores=Lists(np.concatenate(scores), all_starts),
        words=words,
        tokens=vocabulary.gather(words.values).alias("token"),
        vocabulary=vocabulary,
        evidence=Evidence(
            "marks",
            items.select(*ITEMS),
            Lists(marks, starts),
            marked_words(marks > 0, words),
        ),
    )


def _measured(n: int) -> dict[str, Any]:
    """Seconds of each part in one round, and those of the peer on some sentences."""
    attributions = made(n)
    begun = time.perf_counter()
    importance_alignment(attributions)
    started = time.perf_counter()
    agreement = measure_agreement(attributions)
    between = time.perf_counter()
    plausibility = measure_plausibility(attributions)
    ended = time.perf_counter()
    return {
        "importance": started - begun,
        "agreement": between - started,
        "plausibility": ended - between,
        "tokens": len(attributions.scores.values),
        "peer": _peer(attributions, agreement, plausibility, min(PEER_SENTENCES, n)),
    }


def _peer(
    attributions: Attributions, agreement: Agreement, plausibility: Plausibility, some: int
) -> float:
    """Seconds that the loop takes for some sentences; ends where it finds other numbers."""
    assert attributions.evidence is not None
    n = len(attributions.words)
    seconds, found = 0.0, []
    _of_sentence([np.arange(3.0)] * len(METHODS), np.array([0.0, 1.0, 0.0]))  # loads libraries
    for sentence in range(some):
        rows = [attributions.scores[m * n + sentence] for m in range(len(METHODS))]
        started = time.perf_counter()
        found.append(_of_sentence(rows, attributions.evidence.marks[sentence]))
        seconds += time.perf_counter() - started
    values = {(t["first"][0], t["second"][0]): t for t in agreement.of_units()}
    unit = {text: place for place, text in enumerate(agreement.units["text"].to_list())}
    first = plausibility.rows["average_precision"]
    for sentence, one in enumerate(found):
        for pair, value in one["dynamic"].items():
            _refuse_other(value, values[pair]["dynamic"][unit[sentence]])
        _refuse_other(one["average_precision"][0], first[sentence])
    return seconds


def _refuse_other(theirs: float, ours: float | None) -> None:
    if ours is not None and abs(theirs - ours) > 1e-9:
        sys.exit(f"the loop finds {theirs}, the product {ours}")


def _of_sentence(rows: list[Array], marks: Array) -> dict[str, Any]:
    """What a script computes of one sentence."""
    named = dict(zip((*METHODS, HUMAN), (*rows, marks), strict=True))
    peaks = {name: _peaks(row) for name, row in named.items()}
    peaks[HUMAN] = {token for token in peaks[HUMAN] if marks[token] > 0}
    orders = {name: np.argsort(-row, kind="stable") for name, row in named.items()}
    pairs = list(combinations(named, 2))
    evidence = marks >= 0.5
    own: dict[str, Any] = {
        "dynamic": {pair: _agreement(peaks[pair[0]], peaks[pair[1]]) for pair in pairs},
        "fixed": {
            (pair, k): _agreement(set(orders[pair[0]][:k]), set(orders[pair[1]][:k]))
            for pair in pairs
            for k in KS
        },
        "average_precision": [],
    }
    gold = set(np.flatnonzero(evidence))
    for name, row in zip(METHODS, rows, strict=True):
        own["average_precision"].append(_areas(row, evidence)[0])
        own[f"kendall {name}"] = kendalltau(row, marks).statistic
        own[f"mass {name}"] = np.abs(row[evidence]).sum() / np.abs(row).sum()
        for chosen in (peaks[name], set(orders[name][:MAIN_K]), set(orders[name][: len(gold)])):
            own[f"f1 {name}"] = 2 * len(chosen & gold) / max(len(chosen) + len(gold), 1)
    return own


def _peaks(row: Array) -> set[int]:
    places = find_peaks(np.concatenate([[-np.inf], row, [-np.inf]]))[0] - 1
    return {int(place) for place in places if row[place] >= row.mean()}


def _agreement(one: set[int], other: set[int]) -> float:
    union = len(one | other)
    return (len(one) + len(other)) / 2 / union if union else math.nan


def _areas(row: Array, evidence: NDArray[np.bool_]) -> tuple[float, float]:
    """Average precision and the area under its curve, by scikit-learn where it is there."""
    if not evidence.any():
        return math.nan, math.nan
    try:
        from sklearn.metrics import auc, average_precision_score, precision_recall_curve
    except ImportError:
        hits = evidence[np.argsort(-row, kind="stable")]
        precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
        return float(precision[hits].mean()), math.nan
    precision, recall, _ = precision_recall_curve(evidence, row)
    return float(average_precision_score(evidence, row)), float(auc(recall, precision))


def _summary(rounds: list[Taken]) -> dict[str, Any]:
    outputs = [json.loads(taken.output) for taken in rounds]
    parts = ("importance", "agreement", "plausibility")
    return {
        **{part: statistics.median(o[part] for o in outputs) for part in parts},
        "tokens": outputs[0]["tokens"],
        "peak_mb": max(taken.peak for taken in rounds) / 1e6,
        "peer_sample_seconds": statistics.median(o["peer"] for o in outputs),
    }


def _show(n: int, row: dict[str, Any]) -> None:
    scaled = row["peer_sample_seconds"] * n / min(PEER_SENTENCES, n)
    looped = row["agreement"] + row["plausibility"]
    whole = row["whole"]
    print(
        f"{n:,} sentences, {row['tokens']:,} scores: the whole command {whole['wall_median']:.1f} "
        f"s, processors {whole['cpu_median']:.1f} s, peak {whole['peak_mb']:,.0f} MB; alone, "
        f"importance {row['importance']:.1f} s, agreement {row['agreement']:.1f} s, plausibility "
        f"{row['plausibility']:.1f} s; for the last two a loop over rows takes {scaled:,.0f} s "
        f"(scaled from {min(PEER_SENTENCES, n)} sentences), {scaled / looped:.0f} times as long"
    )
    if n == max(SIZES):
        met = whole["wall_median"] <= WALL_LIMIT and whole["peak_mb"] <= PEAK_LIMIT_MB
        print(
            f"goal of {WALL_LIMIT:.0f} s and {PEAK_LIMIT_MB:,.0f} MB: {'met' if met else 'missed'}"
        )


def _growth(measured: dict[int, dict[str, Any]]) -> dict[str, float]:
    """Exponent of the whole command's time from each size to the next."""
    seconds = {n: row["whole"]["wall_median"] for n, row in sorted(measured.items())}
    return {
        f"{a:,} to {b:,}": math.log(seconds[b] / seconds[a]) / math.log(b / a)
        for a, b in pairwise(seconds)
    }


if __name__ == "__main__":
    main()
