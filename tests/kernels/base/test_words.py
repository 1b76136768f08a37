"""Sizes as people write them, nodes and options as sentences name them, and progress."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.errors import InputError
from audit.base.limits import size_of
from audit.base.plurals import title_and_code
from audit.base.progress import blocks
from audit.base.readings import as_typed
from reports.words import node


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("1024", 1024),
        ("7B", 7),
        ("500MB", 500_000_000),
        ("4GB", 4_000_000_000),
        ("4G", 4_000_000_000),
        ("2GiB", 2_147_483_648),
        ("2gib", 2_147_483_648),
        ("1.5gb", 1_500_000_000),
        (" 1.5 GB ", 1_500_000_000),
        ("1KiB", 1024),
        ("1k", 1000),
        ("3T", 3_000_000_000_000),
        ("1TiB", 2**40),
    ],
)
def test_a_size_is_read(text: str, size: int) -> None:
    assert size_of(text) == size


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "GB", "lots", "-1GB", "1,5GB", "1.GB", ".5GB", "4 G B", "4GB 4GB", "1GBs"),
        *("2iB", "1PB", "1e9", "nan", "inf", "0x10", "9" * 400 + "GB"),
    ],
)
def test_what_is_no_size_is_told(text: str) -> None:
    with pytest.raises(InputError, match="a size is required, such as 500MB"):
        size_of(text)


@given(st.integers(0, 10**9), st.sampled_from(["KB", "MB", "GB"]))
def test_a_unit_is_a_thousand_of_the_one_before(number: int, unit: str) -> None:
    smaller = {"KB": "", "MB": "KB", "GB": "MB"}[unit]

    assert size_of(f"{number}{unit}") == 1000 * size_of(f"{number}{smaller}")


def test_a_value_that_begins_as_an_option_is_typed_behind_an_equals_sign() -> None:
    typed = as_typed({"hierarchy_sep": "--", "skip_rows": 2, "sep": ","})

    assert typed == "--hierarchy-sep=-- --skip-rows 2 --sep ,"


codes = st.text("0123456789.VE", min_size=1, max_size=6)


titles = st.text(min_size=1, max_size=20)


@given(codes, titles)
def test_the_title_stands_first_and_the_code_after_it(code: str, title: str) -> None:
    said = title_and_code(code, title)

    assert said.count(code) >= 1
    assert said == code if title == code else said.startswith(title)
    assert said == code if title == code else said.removeprefix(title) == f" ({code})"


@given(codes, titles)
def test_reports_name_a_node_as_checks_do(code: str, title: str) -> None:
    assert node(code, title) == title_and_code(code, title)


class Heard(list[tuple[int, int | None]]):
    """Keeps what it is told, in order."""

    def __call__(self, step: str, done: int = 0, total: int | None = None, unit: str = "") -> None:
        self.append((done, total))


@given(total=st.integers(0, 200), size=st.integers(1, 50))
def test_blocks_are_those_of_the_range_and_all_is_told_at_the_end(total: int, size: int) -> None:
    heard = Heard()
    starts = range(0, total, size)

    assert list(blocks(heard, "counting", starts, "rows")) == list(starts)
    assert heard == [(done, total) for done in (*starts, total)]
