"""What the numbers of findings are, where several checks have the same."""

from __future__ import annotations

from audit.base.declared import NONE, Columns, Mark, count, difference, exact, share, text

_SHARE = share("share", "Share", of="instances of", mark=Mark())
ALL = exact("of", reason="all instances audited")
OF_ALL = (*_SHARE, *count("instances", "Instances", among="of"), *ALL)
"""`share_evidence` of all instances audited."""
OF_SOME = (*_SHARE, *count("instances", "Instances", among="of"), *count("of"))
"""`share_evidence` of some of them, such as those with labels."""
BESIDE_ELSEWHERE = (
    *share(
        "elsewhere_share",
        "Elsewhere",
        of="elsewhere of_elsewhere",
        effective="effective_elsewhere",
    ),
    *difference(
        "difference",
        "Difference",
        of="share elsewhere_share",
        ends="difference_low difference_high",
    ),
)
"""The share elsewhere, by effective numbers, and the difference of a finding's share from it."""
PARTS = Columns(count("instances"))
"""Parts made by `label_part`."""

_LABELS = (*share("share", of="rows of"), *count("labels", of=NONE))
OF_ROWS_READ = (
    *count("rows", of="rows"),
    *exact("of", of="rows", reason="all rows read"),
    *_LABELS,
)
"""Findings of `finding_of_labels` on all rows read."""
OF_SOME_ROWS = (*count("rows of", of="rows"), *_LABELS)
"""Those on some of them."""
ON_DAY = (*count("not_dated", of="rows"), *text("column"))
"""What `finding_on_day` and `among_not_dated` add."""
LABEL_PARTS = Columns(
    count("instances"),
    text("may_stand_for valid"),
)
"""Parts made by `label_parts`."""
