"""How fast the pages of ``audit explore`` answer, with ranges of the pair table and without.

``python benchmarks/explore.py [--nodes N] [--pairs N] [--requests N] [--scans N]``. A small release
on a drawn hierarchy is audited; its nodes and pairs are then replaced by drawn ones of the size
wanted, and the run is sealed again. The real server answers eight clients at once.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np
import polars as pl
import pyarrow.parquet as pq
from measure import keep, run, stay_on_cores, surroundings

from audit.base.files import read_json
from audit.runs.manifest import MANIFEST, write_manifest, write_restricted_manifest
from audit.runs.pair_layout import ROWS_OF_GROUP, ends_of, twin_of, write_pair_layout

AUDIT = [str(Path(sys.executable).with_name("audit"))]
BY_RANGES = [*AUDIT, "explore"]
BY_SCAN = [sys.executable, str(Path(__file__).with_name("explore_by_scan.py"))]
INSTANCES, RECORDS, LABELS = 1_000_000, 4_000, 6
CLIENTS, SEED, BRANCHING = 8, 2026, 9
RELATIONS = ("ancestor", "sibling", "overlap", "same_branch", "cross_branch")
KINDS = ("node", "pair", "finding", "hierarchy", "search")


def main() -> None:
    """Build the run, ask the server with ranges and without, print and keep the numbers."""
    options = _options()
    cores = stay_on_cores()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        built = _build(folder, options.nodes, options.pairs)
        print("built:", built, flush=True)
        addresses = list(_addresses(folder / "run", options.requests))
        measured = {"ranges": _served(BY_RANGES, folder / "run", addresses)}
        print("ranges:", measured["ranges"], flush=True)
        measured["scan"] = _served(BY_SCAN, folder / "run", addresses[: options.scans])
        print("scan:", measured["scan"], flush=True)
    result = {"surroundings": surroundings(cores), "built": built, "measured": measured}
    print(keep(f"explore_{options.pairs}", result))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time the pages of `audit explore`.")
    parser.add_argument("--nodes", type=int, default=5_852)
    parser.add_argument("--pairs", type=int, default=5_500_000)
    parser.add_argument("--requests", type=int, default=1_000)
    parser.add_argument("--scans", type=int, default=1_000)
    parser.add_argument("--folder", type=Path, default=None)
    return parser.parse_args()


def _build(folder: Path, nodes: int, pairs: int) -> dict[str, Any]:
    """A sealed run of drawn pairs below ``folder``; seconds and bytes of its parts."""
    _audit_a_few(folder, nodes)
    restricted = folder / "run" / "restricted"
    support = _draw_supports(restricted)
    started = time.perf_counter()
    table = restricted / "pairs.parquet"
    rows = _draw_pairs(table, pl.read_parquet(restricted / "nodes.parquet")["node"], support, pairs)
    drawn, laid = time.perf_counter(), time.process_time()
    write_pair_layout(table, pl.read_parquet(restricted / "nodes.parquet")["node"])
    finished = time.perf_counter(), time.process_time()
    _seal(folder / "run")
    return {
        "nodes": nodes,
        "pairs": rows,
        "pair_table_bytes": table.stat().st_size,
        "pair_table_seconds": round(drawn - started, 1),
        "layout_bytes": twin_of(table).stat().st_size + ends_of(table).stat().st_size,
        "layout_seconds": round(finished[0] - drawn, 1),
        "layout_processor_seconds": round(finished[1] - laid, 1),
    }


def _audit_a_few(folder: Path, nodes: int) -> None:
    """Audit few records with labels from all leaves of a tree of nine children a node.

    Twenty pairs of labels are planted, so that there are findings.
    """
    names = [f"n{number:06}" for number in range(nodes)]
    above = [names[(number - 1) // BRANCHING] for number in range(1, nodes)]
    pl.DataFrame({"child": names[1:], "parent": above}).write_csv(folder / "edges.csv")
    chosen = np.random.default_rng(SEED).zipf(1.3, RECORDS * LABELS) % (nodes * 8 // 9)
    chosen = chosen.reshape(RECORDS, LABELS)
    for planted in range(20):
        chosen[planted * 40 : planted * 40 + 40, :2] = 3_000 + 7 * planted, 1_500 + 11 * planted
    used = [names[-1 - label] for label in chosen.ravel()]
    labels = {"id": np.repeat(np.arange(RECORDS), LABELS), "label": used}
    pl.DataFrame(labels).unique(maintain_order=True).write_csv(folder / "labels.csv")
    command = ["run", str(folder / "labels.csv"), "--hierarchy", str(folder / "edges.csv")]
    run([*AUDIT, *command, "--out", str(folder / "run"), "--no-pdf"])


def _draw_supports(restricted: Path) -> np.ndarray:
    """Replace the counts of nodes by drawn ones, each at least that of its children."""
    nodes = pl.read_parquet(restricted / "nodes.parquet")
    edges = pl.read_parquet(restricted / "edges.parquet")
    leaf = ~nodes["node"].is_in(edges["parent"].implode())
    rank = np.random.default_rng(SEED).permutation(len(nodes)) + 1
    direct = np.where(leaf, (INSTANCES / 4 / rank).astype(np.int64) + 1, 0)
    number = dict(zip(nodes["node"], range(len(nodes)), strict=True))
    parent = {
        number[child]: number[above] for child, above in edges.select("child", "parent").rows()
    }
    support = direct.copy()
    for node in sorted(range(len(nodes)), key=lambda n: -nodes["depth"][n]):
        if node in parent:
            support[parent[node]] += support[node]
    support = np.minimum(support, INSTANCES)
    counts = {"direct": direct, "support": support}
    replaced = (pl.Series(name, values, dtype=pl.Int64) for name, values in counts.items())
    nodes.with_columns(*replaced).write_parquet(restricted / "nodes.parquet")
    return support


def _draw_pairs(path: Path, nodes: pl.Series, support: np.ndarray, pairs: int) -> int:
    """Write a pair table of about so many rows, nodes as likely as they are frequent."""
    generator = np.random.default_rng(SEED)
    share = np.sqrt(support) + np.sqrt(support).mean()
    after = np.concatenate([np.cumsum(share[::-1])[::-1][1:], [0.0]])
    wanted = share * after
    most = np.arange(len(nodes))[::-1]
    wanted = np.minimum(most, (wanted * pairs / wanted.sum()).astype(np.int64) + 1)
    likely = np.cumsum(share)
    bounds = np.searchsorted(np.cumsum(wanted), np.arange(0, wanted.sum() + 2_000_000, 2_000_000))
    writer, rows = None, 0
    for start, stop in itertools.pairwise(bounds):
        block = range(int(start), int(stop) if stop < len(nodes) - 1 else len(nodes))
        a = np.repeat(np.arange(block.start, block.stop), wanted[block.start : block.stop])
        b = np.searchsorted(likely, likely[a] + generator.random(len(a)) * (likely[-1] - likely[a]))
        key = np.unique(a * len(nodes) + np.minimum(b, len(nodes) - 1))
        a, b = key // len(nodes), key % len(nodes)
        lines = _lines(nodes, support, a[a < b], b[a < b], generator).to_arrow()
        writer = writer or pq.ParquetWriter(path, lines.schema, compression="zstd")
        writer.write_table(lines, row_group_size=ROWS_OF_GROUP)
        rows += len(lines)
    assert writer is not None
    writer.close()
    return rows


def _lines(
    nodes: pl.Series, support: np.ndarray, a: np.ndarray, b: np.ndarray, generator: Any
) -> pl.DataFrame:
    """Rows of the pair table; two in five are judged, one in a thousand of these is surprising."""
    expected = support[a] * support[b] / INSTANCES
    together = expected * generator.lognormal(0, 1, len(a))
    joint = np.clip(together.astype(np.int64), 1, np.minimum(support[a], support[b]))
    length, judged = expected * generator.lognormal(0, 0.3, len(a)), generator.random(len(a))
    seen, odd = judged < 0.4, judged < 0.0004
    ratio = joint / length
    floats = {
        "rate": joint / INSTANCES,
        "confusion": joint / INSTANCES,
        "expected": expected,
        "lift": joint / expected,
        "expected_length": np.where(seen, length, np.nan),
        "ratio": np.where(seen, ratio, np.nan),
        **{name: np.where(seen, judged, np.nan) for name in ("p_value", "q_value")},
        **dict.fromkeys(("explained", "shrunk_ratio"), np.where(odd, ratio, np.nan)),
        **dict.fromkeys(("ratio_low", "ratio_high"), np.where(odd, ratio, np.nan)),
    }
    counts = {"support_a": support[a], "support_b": support[b], "joint": joint}
    return pl.DataFrame({**counts, "joint_entailed": np.zeros(len(a), np.int64)}).select(
        nodes.gather(a).alias("a"),
        nodes.gather(b).alias("b"),
        pl.all().cast(pl.Int64),
        *(pl.Series(name, values).fill_nan(None) for name, values in floats.items()),
        pl.lit(None, pl.Int64).alias("found_rank"),
        pl.Series("relation", np.array(RELATIONS)[(a % 7 > 0) * 3 + 1]),
        nodes.gather(np.zeros(len(a), np.int64)).alias("lca"),
    )


def _seal(folder: Path) -> None:
    listed = read_json(folder / "restricted" / MANIFEST)
    write_restricted_manifest(folder, listed["inputs"], listed["data_sha256"])
    write_manifest(folder, read_json(folder / MANIFEST))


def _addresses(folder: Path, requests: int) -> Iterator[str]:
    """Addresses of pages in turns of their kinds; nodes as likely as the square root of counts."""
    draw = random.Random(SEED)
    nodes = pl.read_parquet(folder / "restricted" / "nodes.parquet").filter(pl.col("support") > 0)
    ids, weights = nodes["node"].to_list(), nodes["support"].sqrt().to_list()
    found = read_json(folder / "result.json")["checks"]
    findings = [one["id"] for check in found for one in check["findings"]]
    for turn in range(requests):
        a, b = draw.choices(ids, weights, k=2)
        kind = KINDS[turn % len(KINDS)]
        yield {
            "node": f"/node?id={quote(a)}&order={draw.choice(['together', 'ratio', 'lift'])}",
            "pair": f"/pair?a={quote(a)}&b={quote(b)}" if a != b else "/",
            "finding": f"/finding?id={quote(draw.choice(findings))}" if findings else "/findings",
            "hierarchy": f"/hierarchy?id={quote(a)}",
            "search": f"/search?q={quote(a[: draw.randrange(2, len(a))])}",
        }[kind]


def _served(command: Sequence[str], folder: Path, addresses: Sequence[str]) -> dict[str, Any]:
    """What a server needs for the first page, and for others that clients ask for at once."""
    started = time.perf_counter()
    server = subprocess.Popen([*command, str(folder)], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        ready = time.perf_counter() - started
        place = urlsplit(line.split()[-1])
        first, cookie = _opened(place.netloc, f"{place.path}?{place.query}")
        began, before = time.perf_counter(), _processor_seconds(server.pid)
        taken = _asked_at_once(place.netloc, cookie, addresses)
        return {
            "start": round(ready, 2),
            "first_view": round(first, 3),
            "requests": len(addresses),
            "requests_a_second": round(len(addresses) / (time.perf_counter() - began), 1),
            "processor_ms_a_request": round(
                1e3 * (_processor_seconds(server.pid) - before) / max(len(addresses), 1), 1
            ),
            "peak_mb": _peak_mb(server.pid),
            "milliseconds": {kind: _quantiles(times) for kind, times in taken.items()},
        }
    finally:
        server.terminate()
        server.wait()


def _opened(host: str, entrance: str) -> tuple[float, str]:
    """Seconds until the first page is there, and the cookie of the session."""
    line = http.client.HTTPConnection(host)
    started = time.perf_counter()
    line.request("GET", entrance)
    answer = line.getresponse()
    answer.read()
    cookie = str(answer.getheader("set-cookie")).split(";")[0]
    _ask(line, "/", cookie)
    return time.perf_counter() - started, cookie


def _asked_at_once(host: str, cookie: str, addresses: Sequence[str]) -> dict[str, list[float]]:
    """Seconds of each request by the kind of page, of all too."""
    taken: dict[str, list[float]] = {"all": [], **{kind: [] for kind in KINDS}}
    failed: list[BaseException] = []

    def client(own: Sequence[str]) -> None:
        line = http.client.HTTPConnection(host)
        try:
            for address in own:
                seconds = _ask(line, address, cookie)
                taken["all"].append(seconds)
                taken.setdefault(address[1:].partition("?")[0] or "node", []).append(seconds)
        except BaseException as error:
            failed.append(error)

    clients = [
        threading.Thread(target=client, args=(addresses[at::CLIENTS],)) for at in range(CLIENTS)
    ]
    for one in clients:
        one.start()
    for one in clients:
        one.join()
    if failed:
        raise failed[0]
    return taken


def _ask(line: http.client.HTTPConnection, address: str, cookie: str) -> float:
    """Seconds until a page is there whole."""
    started = time.perf_counter()
    line.request("GET", address, headers={"cookie": cookie})
    answer = line.getresponse()
    answer.read()
    if answer.status not in (200, 303):
        sys.exit(f"{address} was answered with {answer.status}")
    return time.perf_counter() - started


def _quantiles(seconds: Sequence[float]) -> dict[str, float]:
    if not seconds:
        return {}
    at = max(int(len(seconds) * 0.95) - 1, 0)
    return {
        "median": round(statistics.median(seconds) * 1e3, 1),
        "p95": round(sorted(seconds)[at] * 1e3, 1),
    }


def _peak_mb(process: int) -> int:
    """Largest resident memory of a process so far, in megabytes."""
    lines = Path(f"/proc/{process}/status").read_text("utf-8").splitlines()
    peak = next(line for line in lines if line.startswith("VmHWM"))
    return int(peak.split()[1]) // 1000


def _processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


if __name__ == "__main__":
    main()
