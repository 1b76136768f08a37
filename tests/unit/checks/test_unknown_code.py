"""unknown_code: refused labels, and kept ones that no complete list holds."""

from __future__ import annotations

from fixtures.checked import CHECK_OF
from fixtures.coded import measured

CHECK = CHECK_OF["unknown_code"]


def test_rows_of_a_classification_without_a_list_are_counted_beside() -> None:
    some = {"diagnoses": {"a": ["4019", "xyz"]}, "procedures-10": {"a": ["0SRB04Z"] * 3}}
    found = [check.run(measured(some)) for check in (CHECK, CHECK_OF["malformed_code"])]
    alone = measured({"procedures-10": {"a": ["0SRB04Z"] * 3}})
    none = [check.run(alone) for check in (CHECK, CHECK_OF["malformed_code"])]

    for result in found:
        assert result.denominator == 2
    assert [finding.evidence["of"] for finding in found[1].findings] == [2]
    for result in none:
        assert (result.status, result.denominator) == ("pass", 0)
