"""Sizes as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.errors import InputError
from audit.base.limits import size_of


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
