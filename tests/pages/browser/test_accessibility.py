"""axe-core, on every document: in light, in dark, and as wide as a phone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.pages.browser.looks import MANNERS, NO_CONTRAST, assert_accessible, unfold

if TYPE_CHECKING:
    from tests.pages.browser.pages import Visit

pytestmark = pytest.mark.slow


NARROW = {**MANNERS, "phone": ({"width": 390}, NO_CONTRAST)}


@pytest.mark.parametrize("manner", NARROW)
@pytest.mark.parametrize(
    "document", ["sample", "comparison", "rich", "hostile", "empty"], indirect=True
)
def test_no_violation_of_wcag_2_2_aa(document: Path, visit: Visit, manner: str) -> None:
    opened, rules = NARROW[manner]
    page = visit(document, **opened)
    unfold(page)
    assert_accessible(page, rules)
