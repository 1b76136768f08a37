import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.errors import AuditError, HierarchyError, SchemaError
from audit.base.files import first_bytes
from audit.hierarchies.coding import Placement
from audit.hierarchies.formats.format import Shape
from audit.hierarchies.formats.published import CAML
from audit.hierarchies.hierarchy import Hierarchy

REAL = os.environ.get("AUDIT_DATA")
needs_data = pytest.mark.skipif(not REAL, reason="AUDIT_DATA does not name the folder of real data")

SMALL = """@\tRoot
001-999.99\tDISEASES
240-279.99\tENDOCRINE
249-259.99\tOTHER GLANDS
250\tDiabetes mellitus
250.0\tWithout complication
250.01\tType I
00-99.99\tPROCEDURES
35-39.99\tCARDIOVASCULAR
36\tVessels of heart
36.01\tAngioplasty
V01-V86.99\tV CODES
V10\tHistory
"""


def read(tmp_path: Path, text: str) -> Hierarchy:
    path = tmp_path / "ICD9_descriptions"
    path.write_text(text, encoding="utf-8")
    return CAML.read(path, Shape())


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Hierarchy:
    return read(tmp_path_factory.mktemp("caml"), SMALL)


@pytest.mark.parametrize(
    ("node", "parent"),
    [
        ("250.01", "250.0"),
        ("250.0", "250"),
        ("250", "249-259.99"),
        ("249-259.99", "240-279.99"),
        ("240-279.99", "001-999.99"),
        ("001-999.99", "@"),
        ("36.01", "36"),
        ("36", "35-39.99"),
        ("V10", "V01-V86.99"),
    ],
)
def test_a_node_hangs_under_its_prefix_or_its_narrowest_range(
    small: Hierarchy, node: str, parent: str
) -> None:
    assert small.parents(node) == (parent,)


def test_of_equally_wide_ranges_the_first_of_the_file_holds_a_code(tmp_path: Path) -> None:
    ranges = ["240-249.99\tA", "245-254.99\tB"]
    for first, second in (ranges, ranges[::-1]):
        tied = read(tmp_path, f"@\tRoot\n{first}\n{second}\n247\tCode\n")
        assert tied.parents("247") == (first.split("\t")[0],)


def test_a_range_hangs_under_a_strictly_wider_one(tmp_path: Path) -> None:
    twins = read(tmp_path, "@\tRoot\n001-999\tAll\n100-199\tA\n100.00-199.00\tB\n150\tCode\n")
    assert twins.parents("100-199") == twins.parents("100.00-199.00") == ("001-999",)


def test_only_leaves_that_are_no_ranges_are_assignable(small: Hierarchy) -> None:
    assignable = {node for node, can in zip(small.nodes, small.assignable, strict=True) if can}
    assert assignable == {"250.01", "36.01", "V10"}
    assert small.labelled_ancestors == "fault"


@pytest.mark.parametrize(
    ("label", "table", "placement"),
    [
        ("25001", "diagnoses", Placement("250.01")),
        ("250.02", None, Placement("250.02", "250.0")),
        ("2513", "diagnoses", Placement("251.3", "249-259.99")),
        ("V29", "diagnoses", Placement("V29", "V01-V86.99")),
        ("3601", "procedures", Placement("36.01")),
        ("3701", "procedures", Placement("37.01", "35-39.99")),
        ("240-279.99", None, Placement("240-279.99")),
        ("V90", "diagnoses", Placement(reason="no_place")),
        ("E8120", "diagnoses", Placement(reason="no_place")),
        ("000", "diagnoses", Placement(reason="no_place")),
        ("asthma", None, Placement(reason="malformed_code")),
    ],
)
def test_a_label_has_a_place_or_a_reason(
    small: Hierarchy, label: str, table: str | None, placement: Placement
) -> None:
    assert small.coding is not None
    assert small.coding.place(label, table, small) == placement


@given(
    st.text() | st.text("0123456789.VE-@", max_size=8),
    st.sampled_from(["diagnoses", "procedures", None]),
)
def test_placing_is_total(small: Hierarchy, label: str, table: str | None) -> None:
    assert small.coding is not None
    found = small.coding.place(label, table, small)
    assert (found.node is None) == (found.reason is not None)
    assert found.parent is None or found.parent in small


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("@\tRoot\n001-999.99\tAll\nV10\tHistory\n", HierarchyError, r":3: .*\n.*'V10'"),
        ("@\tRoot\n001-999.99\tAll\n12A\tNo code\n", HierarchyError, r":3: .*\n.*'12A'"),
        ("@\tRoot\n999-001\tBackwards\n", HierarchyError, r":2: .*\n.*'999-001'"),
        ("@\tRoot\n001-V10\tTwo letters\n", HierarchyError, r":2: .*\n.*'001-V10'"),
        ("001-999.99\tAll\n250\tDiabetes\n", HierarchyError, "-> @"),
        (
            "@\tRoot\n001-999.99 All\n",
            SchemaError,
            r":2: each line must be a code",
        ),
        ("@\tRoot\n001-9\tA\n@\tAgain\n", SchemaError, r":3: each line must be a code of its own"),
        ("", AuditError, "content is required"),
    ],
)
def test_a_broken_file_is_refused_with_its_line(
    tmp_path: Path, text: str, error: type[AuditError], message: str
) -> None:
    with pytest.raises(error, match=message):
        read(tmp_path, text)


def test_the_format_is_told_by_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "codes.tsv"
    path.write_text(SMALL, encoding="utf-8")
    assert CAML.matches(path, first_bytes(path))
    for other in ("child,parent\na,b\n", "rec.sport.hockey\n", "GO:1\tGO:2;GO:3\n", "\n"):
        path.write_text(other, encoding="utf-8")
        assert not CAML.matches(path, first_bytes(path))


@needs_data
def test_the_published_file_has_21164_nodes() -> None:
    hierarchy = CAML.read(Path(REAL or "") / "icd9cm" / "ICD9_descriptions", Shape())
    assert len(hierarchy) == 21_164
    assert int(hierarchy.depth.max()) == 7
    assert int(hierarchy.leaf.sum()) == 17_445
    assert hierarchy.parents("250.01") == ("250.0",)
