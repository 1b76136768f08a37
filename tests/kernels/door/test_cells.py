"""What a cell holds, and what is tried on cells: each form at its edges, which a run shows as sums.

A cell is told by its form alone, so that the forms are held against one another here.
"""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import audit
from audit.data.asking.repairs import best_way
from audit.data.columns import Columns
from audit.data.labels import Nodes, Share, labels_in

ICD10, ICD9 = (Nodes(audit.load_hierarchy(name)) for name in ("icd10cm", "icd9cm"))
TERMS = Nodes(audit.load_hierarchy({"GO:1": {"GO:2": {}, "GO:3": {}, "GO:44": {}}}))
PETS = Nodes(audit.load_hierarchy({"pet": {"cat": {}, "dog": {}, "grey cat": {}}}))


@pytest.mark.parametrize(
    ("cell", "how", "labels"),
    [
        (" 401.9 ", {}, ["401.9"]),
        ("  ", {}, []),
        (None, {}, []),
        ('["I10", null, "E11.9"]', {}, ["I10", "E11.9"]),
        ("['I10', 'it\\'s', None]", {}, ["I10", "it's"]),
        ('["caf\\u00e9, noir", " x "]', {}, ["caf\u00e9, noir", "x"]),
        ("[1, 2.0,]", {}, ["1", "2.0"]),
        ("[]", {}, []),
        ("[I10]", {}, ["[I10]"]),
        ("a;;b; c", {"sep": ";"}, ["a", "b", "c"]),
        ("a, b,c", {"sep": ", "}, ["a", "b", "c"]),
        ("a  b", {"sep": " "}, ["a", "b"]),
        ("E78,5, I50,9, I10", {"take": "icd10"}, ["E78.5", "I50.9", "I10"]),
        ("I10,E119", {"take": "icd10"}, ["I10", "E119"]),
        ("XE11.9 E11.9x1. (i10)", {"take": "icd10"}, ["E11.9x1", "i10"]),
        ("428.0; V5867|E885.9 36.05 428.012 42", {"take": "icd9"},
         ["428.0", "V5867", "E885.9", "36.05"]),
        ("n01 0.5 n02", {"take": "n[0-9]+"}, ["n01", "n02"]),
        ("x=ab y=cd", {"take": "=([a-z]+)"}, ["ab", "cd"]),
        ("nothing", {"take": "icd9"}, []),
    ],
)  # fmt: skip
def test_labels_of_a_cell(cell: str | None, how: dict[str, str], labels: list[str]) -> None:
    cells = pl.Series("cell", [cell, "401.9"], pl.String)

    assert labels_in(cells, Columns(**how))[0].to_list() == labels  # type: ignore[arg-type]


def test_a_column_of_lists_holds_what_is_in_them() -> None:
    cells = pl.Series("cell", [["a", " ", None], None, []], pl.List(pl.String))

    assert labels_in(cells, Columns(sep=";")).to_list() == [["a"], [], []]
    with pytest.raises(audit.AuditError, match="regular expression"):
        labels_in(pl.Series(["x"]), Columns(take="("))


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=4), max_size=4))
def test_a_list_of_python_or_json_is_its_items(items: list[str]) -> None:
    cells = pl.Series("cell", [str(items), json.dumps(items)], pl.String)

    expected = [one for item in items if (one := item.strip())]
    assert labels_in(cells, Columns()).to_list() == [expected, expected]


def test_a_share_is_of_complete_codes_and_of_nodes_elsewhere() -> None:
    values = {"401": 1, "401.9": 2, "4019": 3, "276.5": 4, "nonsense": 5}

    assert ICD9.share(values) == Share(n=15, nodes=10, complete=9), "276.5 was valid once"
    assert ICD9.share({"8856": 3, "V5867": 1}).complete == 3, "numbers are of one code set"
    assert ICD9.share({"88.56": 3, "V58.67": 1}).complete == 4
    assert PETS.share({"pet": 1, "cat": 2, "cow": 3}) == Share(n=6, nodes=3, complete=3)


@pytest.mark.parametrize(
    ("nodes", "cells", "options"),
    [
        (ICD10, ["I10", "E119"] * 9 + ["x", "y"], {}),
        (ICD10, ["I10;E119", "J449", "K219; D649"], {"sep": ";"}),
        (ICD10, ["I10 / E119", "J449 / K219"], {"sep": "/"}),
        (ICD10, ["ABK:I10~ABF:E119~ABF:J449", "ABK:K219~ABF:D649~ABF:E785"], {"take": "icd10"}),
        (ICD10, ["E11,9", "E78,5", "I10"], {"take": "icd10"}),
        (ICD10, ["I10X", "J449X", "E119X"], {"strip": ("X",)}),
        (ICD9, ["ICD9CM:401.9", "ICD9CM:428.0"], {"strip": ("ICD9CM:",)}),
        (ICD9, ["401.9", "none", "428.0", "n/a"], {"missing": ("none", "n/a")}),
        (TERMS, ["GO:2 (IEA)", "GO:3 (TAS), GO:44 (IEA)"], {"take": r"\bGO:[0-9]+\b"}),
        (PETS, ["cat, dog", "grey cat"], {"sep": ","}),
        (PETS, ["cow", "cat"], {}),
    ],
)
def test_the_way_of_most_complete_codes(
    nodes: Nodes, cells: list[str], options: dict[str, Any]
) -> None:
    counted = pl.DataFrame({"cell": cells}).group_by("cell", maintain_order=True).len("rows")

    assert best_way(counted, nodes).options == options


def test_a_way_adds_to_what_is_stated() -> None:
    counted = pl.DataFrame({"cell": ["(I10)", "?", "(E119)", "-"], "rows": [9, 1, 9, 3]})

    found = best_way(counted, ICD10, Columns(missing=("?",), strip=("(",)))
    assert found.options == {"strip": ("(", ")"), "missing": ("?", "-")}
    assert found.share == Share(n=18, nodes=18, complete=18)
