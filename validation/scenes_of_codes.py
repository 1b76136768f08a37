"""Scenes over ICD-9-CM: how codes are written, and what its guidelines and titles say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
from numpy.random import Generator

import audit
from audit import Hierarchy
from audit.base.settings import Unlisted
from validation.scene import Drawn, Fact, as_written, dataset, zipf

DIAGNOSES, PROCEDURES = "diagnoses", "procedures"
BOTH = (DIAGNOSES, PROCEDURES)


@cache
def _icd9cm() -> Hierarchy:
    return audit.load_hierarchy("icd9cm")


@cache
def _codes(table: str, assignable: bool = True) -> tuple[str, ...]:
    """Nodes of a code set that are labels, or headings, in node order; no ranges."""
    hierarchy = _icd9cm()
    return tuple(
        node
        for node, leaf in zip(hierarchy.nodes, hierarchy.assignable, strict=True)
        if bool(leaf) == assignable
        and "-" not in node
        and node[0] not in "(@"
        and (len(node.split(".")[0]) == 2) == (table == PROCEDURES)
    )


def plain(code: str) -> str:
    """As MIMIC writes it, without its dot."""
    return code.replace(".", "")


def number(code: str) -> str:
    """As a spreadsheet leaves it; codes with a letter stay."""
    return plain(code).lstrip("0") if code[0].isdigit() else plain(code)


def decimal(code: str) -> str:
    """As a column of numbers with decimals is written."""
    return f"{float(code):g}" if code[0].isdigit() else code


Spelling = Callable[[str], str]


TOLD = 3
"""Damaged labels, the most frequent ones, that a finding is to name where no table is known."""


def _code_set(written: str, tables: Sequence[str], damage: Spelling) -> str:
    """The code set of the codes that are written so if damaged; ``several``: they are of both."""
    sets = {table for table in tables if any(damage(code) == written for code in _codes(table))}
    return sets.pop() if len(sets) == 1 else "several"


def _of_no_table(lost: Counter[str], tables: Sequence[str], damage: Spelling) -> Iterator[Fact]:
    """What is to be told of damaged labels without a table, of each code set by itself."""
    sets = {label: _code_set(label, tables, damage) for label in lost}
    for code_set in sorted({*sets.values()}):
        own = sorted((one for one in lost if sets[one] == code_set), key=lambda o: (-lost[o], o))
        beside = frozenset({*own, code_set})
        yield from (Fact(frozenset({label}), beside=beside) for label in own[:TOLD])


def _is_no_code(written: str, tables: Iterable[str], dotted: bool) -> bool:
    """Whether a text is neither a code of these code sets nor a heading that may have been one."""

    def spell(code: str) -> str:
        return code if dotted else plain(code)

    return not any(
        written in {spell(code) for code in _codes(table, assignable)}
        and (assignable or table == DIAGNOSES or len(written) > 2)
        for table in tables
        for assignable in (True, False)
    )


def lost_zeros(
    rng: Generator, clean: Spelling, damage: Spelling, tables: Sequence[str], known: bool, n: int
) -> Drawn:
    """800 records of 6 codes, ``n`` rows of the last code set damaged."""
    dotted = "." in clean("001.0")
    records = {t: zipf(rng, rng.choice(_codes(t), 1_500, False).tolist(), 800, 6) for t in tables}
    rows = [
        (f"r{i:04}", table, code)
        for table, own in records.items()
        for i, record in enumerate(own)
        for code in record
    ]
    able = [
        i for i, (_, t, code) in enumerate(rows) if t == tables[-1] and damage(code) != clean(code)
    ]
    hit = set(rng.permutation(able)[:n].tolist())
    written = [damage(row[2]) if i in hit else clean(row[2]) for i, row in enumerate(rows)]
    seen_in = [tables[-1]] if known or dotted else BOTH
    lost = Counter(written[i] for i in hit if _is_no_code(written[i], seen_in, dotted))
    told = list(_of_no_table(lost, tables, damage))
    if known and lost:
        beside = frozenset({*lost, tables[-1], "several"})
        told = [Fact(frozenset({tables[-1]}), {"rows": lost.total(), "labels": len(lost)}, beside)]
    frame = pl.DataFrame(
        {
            "instance": [row[0] for row in rows],
            "label": written,
            "table": [row[1] if known else None for row in rows],
        },
        schema={"instance": pl.String, "label": pl.String, "table": pl.String},
    )
    return Drawn(as_written(frame, _icd9cm()), told)


def whole_numbers(rng: Generator) -> Drawn:
    """800 records of 6 procedures that were all read as numbers, in a column with empty cells."""
    codes = rng.choice(_codes(PROCEDURES), 1_500, False).tolist()
    records = zipf(rng, codes, 800, 6)
    rows = [
        (f"r{i:04}", f"{number(code)}.0") for i, record in enumerate(records) for code in record
    ]
    frame = pl.DataFrame(rows, schema=["instance", "label"], orient="row")
    told = Fact(frozenset({PROCEDURES, "all"}), {"of": len(rows)})
    return Drawn(as_written(frame.with_columns(table=pl.lit(PROCEDURES)), _icd9cm()), [told])


def lacked(rng: Generator, unlisted: Unlisted, absent: int) -> Drawn:
    """Records of codes of a file of which ``absent`` labels were taken out."""
    listed = [code for code in rng.choice(_codes(DIAGNOSES), 600, False).tolist() if code < "E"]
    gone = set(rng.choice(listed, absent, replace=False).tolist())
    nodes = {code[:n] for code in listed for n in (3, 5)} | set(listed)
    lines = [
        "@\tall",
        "001-999.99\tdiagnoses",
        *(f"{node}\t{node}" for node in sorted(nodes - gone)),
    ]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "ICD9_descriptions"
        path.write_text("\n".join(lines) + "\n", "utf-8")
        hierarchy = audit.load_hierarchy(path, unlisted=unlisted)
    records = zipf(rng, listed, 500, 6)
    rows = Counter(code for record in records for code in record if code in gone)
    key = "refused" if unlisted == "refuse" else "hung"
    fact = Fact(frozenset({key}), {"rows": rows.total(), "labels": len(rows)}, frozenset(rows))
    return Drawn(dataset(hierarchy, records), [fact] if rows else ())


NAMED = ("416.8 416.0", "600.01 600.00", "V46.2 V46.11", "411.89 411.1", "789.59 789.51")
"""Labels whose titles say other or unspecified of something else than themselves, and a sibling."""
FOURTH = ("403.91 403.11", "434.91 434.11", "493.90 493.00", "070.70 070.54", "428.0 428.21")
"""Labels that are catch-alls by a digit before the last or by an older title, and a sibling."""


def by_hand(rng: Generator, pairs: Sequence[str], residual: bool) -> Drawn:
    """Records below categories, 17 in 20 with the first label of a pair."""
    records = [[pair.split()[int(rng.random() < 0.15)]] for pair in pairs for _ in range(60)]
    told = [Fact(frozenset({pair[:3]})) for pair in pairs] if residual else []
    return Drawn(dataset(_icd9cm(), records), told)


_GUIDELINES = (
    ("785.52", ("995.92", "038.9"), ("995.91", "038.9")),
    ("V27.0", ("650",), ("644.03",)),
    ("403.91", ("585.6",), ("584.9",)),
    ("250.40", ("583.81",), ("362.01", "250.50")),
)
"""Nodes that ask by the guidelines, with what is right beside them and what is not enough."""


def guidelines(rng: Generator, violations: int) -> Drawn:
    """Records of respiratory and digestive diseases; guidelines kept, and broken so many times."""
    codes = [c for c in _codes(DIAGNOSES) if "460" <= c < "490" or "500" <= c < "580"]
    records = zipf(rng, codes, 1_200, 5)
    at, facts = iter(rng.permutation(len(records)).tolist()), []
    for asks, enough, not_enough in _GUIDELINES:
        for beside, n in ((enough, 25), (not_enough, violations)):
            for _ in range(n):
                records[next(at)][:0] = [*beside, asks]
        named = frozenset({asks, "missing"})
        facts.append(Fact(named, {"instances": violations, "of": 25 + violations}))
    return Drawn(dataset(_icd9cm(), records), facts if violations else ())


def beside_specific(rng: Generator, both: int) -> Drawn:
    """Records with an unspecified code; so many have a specific sibling too."""
    apart = (
        ["285.8", "285.1"],
        ["285.9", "284.09"],
        ["285.9", "486"],
        ["272.4"],
        ["428.0", "427.31"],
        ["599.0", "041.49"],
    )
    together = (["285.9", "285.1"], ["272.4", "272.0"], ["414.9", "414.01"])
    records = [list(apart[i % len(apart)]) for i in range(300)]
    records += [list(together[i % len(together)]) for i in range(both)]
    fact = Fact(
        frozenset({"285.9", "285.1", "272.4", "272.0", "414.9", "414.0"}),
        {"instances": both},
        frozenset({"labels"}),
    )
    return Drawn(dataset(_icd9cm(), records), [fact] if both else ())
