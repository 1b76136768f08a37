"""Tables of categories of ICD as their publishers write them: CCS, CCSR, phecodes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.base.readings import Reading
from audit.hierarchies.coding import retired_ids
from audit.hierarchies.formats import mesh, names, tables
from audit.hierarchies.formats.format import (
    EdgeRow,
    HierarchyFormat,
    Shape,
    hierarchy_of,
)
from audit.hierarchies.hierarchy import Hierarchy

_CODES = ("icd9cmcode", "icd10cmcode", "icd10pcscode", "icd10pcs")
_LEVEL = re.compile(r"(multi)?ccslvl\d")
_CCSR = re.compile(r"(ccsrcategory\d|prccsr)")
_ICD = ("icd9", "icd9cm", "icd10", "icd10cm", "icd", "icdcode", "code")
_TITLED = ("str", "string", "description", "desc", "label", "title")
_SYSTEMS = {
    "BLD": "Blood and immune mechanism", "CIR": "Circulatory", "DEN": "Dental", "DIG": "Digestive",
    "EAR": "Ear and mastoid process", "END": "Endocrine, nutritional and metabolic",
    "EXT": "External causes", "EYE": "Eye and adnexa", "FAC": "Factors influencing health status",
    "GEN": "Genitourinary", "INF": "Infectious and parasitic", "INJ": "Injury and poisoning",
    "MAL": "Congenital malformations", "MBD": "Mental and behavioural", "MUS": "Musculoskeletal",
    "NEO": "Neoplasms", "NVS": "Nervous system", "PNL": "Perinatal period",
    "PRG": "Pregnancy and childbirth", "RSP": "Respiratory", "SKN": "Skin and subcutaneous tissue",
    "SYM": "Symptoms and signs",
}  # fmt: skip
"""Body systems that categories of CCSR begin with."""


class _Table:
    """A table by the plain names of its columns, whose cells are text without blanks around."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.columns = {names.plain(name): name for name in frame.columns}
        self._frame = frame

    def require(self, path: Path, *either: Iterable[str]) -> None:
        """Raise SchemaError where of some columns there is none."""
        if not all(self.columns.keys() & {*some} for some in either):
            raise SchemaError(
                "a column of codes of ICD and one of categories, as AHRQ calls them, are required",
                found=f"the columns {first_cases(self.columns.values())}",
                where=path,
            )

    def cells(self, plain: str) -> list[str]:
        """The cells of a column, none of one that is not there."""
        if plain not in self.columns:
            return [""] * len(self._frame)
        text = tables.text_of(self._frame, self.columns[plain]).fill_null("")
        return [tables.bare(cell) for cell in text]

    def named(self, of: str, ends: Iterable[str] = _TITLED) -> list[str]:
        """The cells of the column of titles of another one."""
        return self.cells(next((of + end for end in ends if of + end in self.columns), ""))


def _columns(path: Path, head: bytes) -> set[str]:
    return {*map(names.plain, tables.columns_of(path, head))}


def _is_ccs(path: Path, head: bytes) -> bool:
    found = _columns(path, head)
    levels = "ccscategory" in found or any(map(_LEVEL.fullmatch, found))
    return levels and not found.isdisjoint(_CODES)


def _is_ccsr(path: Path, head: bytes) -> bool:
    found = _columns(path, head)
    return any(map(_CCSR.fullmatch, found)) and not found.isdisjoint(_CODES)


def _is_phecode(path: Path, head: bytes) -> bool:
    found = _columns(path, head)
    return "phecode" in found and not found.isdisjoint({*_ICD, "phenotype", "phecodestring"})


def is_known(path: Path, head: bytes) -> bool:
    """Whether a table is one of these classifications, or MeSH."""
    return any(one(path, head) for one in (_is_ccs, _is_ccsr, _is_phecode, mesh.is_mesh))


def _built(
    path: Path,
    edges: Iterable[EdgeRow],
    titles: Iterable[tuple[str, str]],
    forms: Mapping[str, str],
    readings: Sequence[Reading] = (),
) -> Hierarchy:
    """The hierarchy of edges and titles; labels may have the dots of codes of ICD, or lack them."""
    own, said = [*dict.fromkeys(edges)], dict[str, str]()
    for node, title in titles:
        said[node] = said.get(node) or title
    every = dict.fromkeys([*(end for edge in own for end in edge if end), *said])
    forms = {form: code for form, code in forms.items() if form not in every}
    return hierarchy_of(
        path, [edge for edge in own if all(edge)],
        [(node, said.get(node) or None, None) for node in every],
        coding=retired_ids(every, (), (), forms), readings=readings,
    )  # fmt: skip


def _forms(codes: Sequence[str], column: str) -> dict[str, str]:
    """Each code of ICD by how it is written with its dot, or without: 250.00 of 25000.

    Of ICD-9-CM the codes of procedures have four digits at most, those of diagnoses five; where
    all have so few, they may be either. Its external causes have their dot behind E and three
    digits; a column that does not say its edition has them from E800 on. ICD-10-PCS has no dots.

    >>> [*_forms(["E119"], "icd10cmcode"), *_forms(["E8120"], "code")]
    ['E11.9', 'E812.0']
    """
    if column.startswith("icd10pcs"):
        return {}
    tenth, ninth = column.startswith("icd10"), column.startswith("icd9")
    external = re.compile(r"E\d{3,4}" if ninth else r"E[89]\d{2,3}")
    bare = [code for code in codes if code and "." not in code]
    few = all(code.isdecimal() and len(code) < 5 for code in bare)
    found = {code.replace(".", ""): code for code in codes if "." in code}
    for code in bare:
        cause = not tenth and external.fullmatch(code)
        for at in (2, 3) if few else [4] if cause else [3]:
            found |= {f"{code[:at]}.{code[at:]}": code} if len(code) > at else {}
    return found


def _read_ccs(path: Path, shape: Shape) -> Hierarchy:
    """Read codes below the lowest category of each; categories are ``CCS 1.2`` and ``CCS 49``."""
    table = _Table(tables.table_of(path, shape))
    levels = sorted(filter(_LEVEL.fullmatch, table.columns)) or ["ccscategory"]
    table.require(path, _CODES, levels)
    both = levels != ["ccscategory"] and "ccscategory" in table.columns
    code = next((one for one in _CODES if one in table.columns), "")
    codes = table.cells(code)
    places = [*zip(*map(table.cells, levels), strict=True)]
    said = [*zip(*map(table.named, levels), strict=True)]
    edges, titles = list[EdgeRow](), list[tuple[str, str]]()
    for own, title, place, called in zip(codes, table.named(code), places, said, strict=True):
        if not own:
            continue
        up = [(f"CCS {one}", text) for one, text in zip(place, called, strict=True) if one]
        titles += [*up, (own, title)]
        chain = [*(node for node, _ in up), own]
        edges += [(below, above) for above, below in pairwise(chain)] or [(own, "")]
    told = Reading(
        "categories of the multi-level CCS are above the codes, those of the single-level not",
        "a category may lie in several of them", len(codes),
        "--hierarchy-format levels --hierarchy-levels COL",
    )  # fmt: skip
    return _built(path, edges, titles, _forms(codes, code), [told] if both else [])


def _read_ccsr(path: Path, shape: Shape) -> Hierarchy:
    """Read codes below all categories of each, and these below body systems or domains."""
    table = _Table(tables.table_of(path, shape))
    table.require(path, _CODES, [*filter(_CCSR.fullmatch, table.columns)] or ["prccsr"])
    code = next((one for one in _CODES if one in table.columns), "")
    codes, domains = table.cells(code), table.cells("clinicaldomain")
    edges, titles = list[EdgeRow](), [*zip(codes, table.named(code), strict=True)]
    for column in filter(_CCSR.fullmatch, table.columns):
        rows = zip(codes, table.cells(column), table.named(column), domains, strict=True)
        for own, category, title, domain in rows:
            if own and category:
                edges += [(own, category), (category, above := domain or category[:3])]
                titles += [(category, title), (above, _SYSTEMS.get(above, ""))]
    titles = [one for one in titles if one[0]]
    return _built(path, edges, titles, _forms(codes, code))


def _read_phecode(path: Path, shape: Shape) -> Hierarchy:
    """Read phecodes below those without their last digit, and codes of ICD below their phecodes.

    A phecode that does not roll up (``rollup`` 0) is below its category alone.
    """
    table = _Table(tables.table_of(path, shape))
    icd = next((one for one in _ICD if one in table.columns), "")
    before = "phecode " if icd else ""
    called = ("phenotype", *(f"phecode{end}" for end in _TITLED))
    rows = zip(
        table.cells(icd), table.named(icd), table.cells("phecode"), table.named("", called),
        table.cells("rollup"), table.named("", ("category", "group", "phecodecategory")),
        strict=True,
    )  # fmt: skip
    edges, titles, codes = list[EdgeRow](), list[tuple[str, str]](), list[str]()
    for code, text, phecode, title, rollup, category in rows:
        if not phecode:
            continue
        steps = [before + one for one in _above(phecode)]
        last = [category] if category else []
        edges += pairwise([*steps, *last] if rollup != "0" else [steps[0], *last])
        titles += [(steps[0], title), *((one, "") for one in (*steps, *last))]
        if code:
            codes.append(code)
            edges.append((code, steps[0]))
            titles.append((code, text))
    if not titles:
        raise SchemaError("rows with a phecode are required", found="none")
    return _built(path, edges, titles, _forms(codes, icd))


def _above(phecode: str) -> list[str]:
    """A phecode and those above it, each without the last digit behind the dot.

    >>> _above("250.11"), _above("CV_401")
    (['250.11', '250.1', '250'], ['CV_401'])
    """
    whole, _, digits = phecode.partition(".")
    return [f"{whole}.{digits[:n]}" for n in range(len(digits), 0, -1)] + [whole]


FORMATS = (
    HierarchyFormat("ccs", "AHRQ's table of CCS, of one level or several", _is_ccs, _read_ccs),
    HierarchyFormat("ccsr", "AHRQ's table of CCSR", _is_ccsr, _read_ccsr),
    HierarchyFormat(
        "phecode", "phecodes, with or without codes of ICD", _is_phecode, _read_phecode
    ),
)  # fmt: skip
