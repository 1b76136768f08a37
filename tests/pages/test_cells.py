"""What a cell says of counts beside their whole."""

from __future__ import annotations

from fixtures.registered import kinds
from reports.cells import cell

COLUMNS = kinds.Columns(kinds.count("k", "k", among="n"), kinds.count("n"))
BINS = {"bin": 10, "totals": {"instances": 200}}


def test_a_count_told_in_the_bin_of_its_whole_is_not_said_to_be_all_of_it() -> None:
    for k, n, rounding, said in [
        (75, 75, BINS, "most of 75"),
        (65, 75, BINS, "65 of 75"),
        (75, 75, None, "75 of 75"),
        (5, 5, BINS, "<11 of <11"),
        (65, None, BINS, "65"),
        (65, 195, BINS, "65 of 200"),
    ]:
        assert cell(COLUMNS["k"], {"k": k, "n": n}, COLUMNS, rounding).text == said


def test_a_metric_has_a_sign_where_it_is_a_difference() -> None:
    for unit, name, said in [
        ("", "f1", "12.5%"), ("points", "f1", "+12.5"), ("points", "brier", "+0.125"),
    ]:  # fmt: skip
        of = kinds.Columns(kinds.metric("value", by="name", n="n", unit=unit))
        assert cell(of["value"], {"name": name, "value": 0.125}, of, None).text == said
