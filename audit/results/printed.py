"""How told numbers are printed: small counts as "<11", shares in the digits that their n allows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeAlias

from audit.base.plurals import counted, percentage
from audit.sharing.bins import FEWEST_BINS
from audit.sharing.told import LEAST_RATIO, Rounding
from audit.sharing.words import ONE_DECIMAL, TWO_DECIMALS, share_said

Rounded: TypeAlias = Mapping[str, Any] | None
"""``rounding`` of a view; None where every number is exact."""


def cell(n: int | None, rounding: Rounded) -> str:
    """A count in a table; empty where it is not told.

    >>> cell(5, {"bin": 10}), cell(5, None), cell(1235, {"bin": 10}), cell(None, None)
    ('<11', '5', '1,235', '')
    """
    if n is None:
        return ""
    few = rounding is not None and n <= rounding["bin"]
    return f"<{rounding['bin'] + 1}" if rounding and few else f"{int(n):,}"


def decimals_of(n: int | None) -> int:
    """Decimals of the percentages of a told count."""
    return ((n or 0) >= ONE_DECIMAL) + ((n or 0) >= TWO_DECIMALS)


def said_at_head(rounding: Rounded) -> str:
    """The sentence at the head of a page on how counts are rounded; empty where they are not."""
    if rounding is None:
        return ""
    width = rounding["bin"]
    return f"Counts are rounded: they are middles of bins of {width}; <{width + 1} may be none."


NOT_TOLD = "Further findings, on very few, are in audit explore alone."
"""That a check has findings that are not told."""


class Count(int):
    """A told count, which formats itself: "<11" if it is of the first class.

    >>> f"{Count(5, {'bin': 10}):,} of {Count(1235, {'bin': 10}):,}"
    '<11 of 1,235'
    """

    rounding: Mapping[str, Any]

    def __new__(cls, n: int, rounding: Mapping[str, Any]) -> Self:
        """A count with how it is rounded."""
        made = super().__new__(cls, n)
        made.rounding = rounding
        return made

    @property
    def few(self) -> bool:
        """Whether it is of the first class, so that it may be none."""
        return self <= int(self.rounding["bin"])

    def __format__(self, form: str) -> str:
        return cell(self, self.rounding) if self.few else format(int(self), form)

    def __str__(self) -> str:
        return f"{self:d}"


class Share(float):
    """A number computed from told counts, of which percentages have the digits that n allows."""

    n: int | None

    def __new__(cls, value: float, n: int | None) -> Self:
        """A number with the told count that it is a share of."""
        made = super().__new__(cls, value)
        made.n = n
        return made


def percent_of(share: float) -> str:
    """A share as a percentage; of told counts in the digits that n allows.

    >>> [percent_of(Share(0.1234, n)) for n in (935, 1235, 12345)]
    ['12%', '12.3%', '12.34%']
    >>> percent_of(Share(0.004, 935)), percent_of(Share(0.999, None)), percent_of(0.1234)
    ('<1%', '>99%', '12.3%')
    """
    if isinstance(share, Share):
        return share_said(share, share.n, Rounding(1))
    return percentage(share)


def in_sentence(n: int | None) -> str:
    """A count in a sentence.

    >>> in_sentence(Count(5, {"bin": 10})), in_sentence(1235), in_sentence(None)
    ('fewer than 11', '1,235', 'some')
    """
    return "some" if n is None else f"{n:,}".replace("<", "fewer than ")


def mapped_of(ledger: Mapping[str, Any]) -> str:
    """How many of the rows read were mapped.

    >>> mapped_of({"rows_read": 1205, "rows_mapped": 1200})
    '1,200 of 1,205 rows'
    >>> mapped_of({"rows_read": 1205, "rows_mapped": Count(1200, {"bin": 10})})
    'all or all but fewer than 11 of 1,205 rows'
    """
    read, mapped = ledger["rows_read"], ledger["rows_mapped"]
    width = _width(mapped)
    near = width and mapped >= read - width
    said = f"all or all but fewer than {width + 1}" if near else in_sentence(mapped)
    return f"{said} of {counted(read, 'rows')}"


def none_refused(ledger: Mapping[str, Any]) -> str:
    """What is said of refused rows where no reason is listed: of told counts, that they are few.

    >>> none_refused({"rows_mapped": 1200}), none_refused({"rows_mapped": Count(5, {"bin": 10})})
    ('none', 'fewer than 11 for any reason')
    """
    mapped = ledger["rows_mapped"]
    if mapped is None:
        return "few for any reason"
    width = _width(mapped)
    return f"fewer than {width + 1} for any reason" if width else "none"


def _width(n: int | None) -> int:
    """Members of the bins that a count is told in; 0 of one that is exact or not told."""
    return int(n.rounding["bin"]) if isinstance(n, Count) else 0


def difference_of(now: float, before: float) -> float:
    """How much a share grew, with the digits that the shares have."""
    change = now - before
    return Share(change, now.n) if isinstance(now, Share) else change


def share_of(k: int | None, n: int | None) -> float | None:
    """A count as a share of another; None where told counts leave open whether it is none or all.

    >>> told = Count(15, {"bin": 10})
    >>> share_of(told, 60), share_of(told, 40), share_of(told, 20), share_of(1, 4)
    (0.25, None, None, 0.25)
    """
    if k is None or not n:
        return None
    if not isinstance(k, Count):
        return k / n
    width = int(k.rounding["bin"])
    return None if k.few or n < FEWEST_BINS * width or k >= n - width else Share(k / n, n)


def ratio_of(k: Any, expected: Any) -> float | None:
    """A count over what is expected; None where either is not told, or the count is small."""
    if not isinstance(k, int | float) or not isinstance(expected, int | float) or not expected:
        return None
    small = isinstance(k, Count) and k < LEAST_RATIO * int(k.rounding["bin"])
    return None if small else k / expected


def looked_at(check: Mapping[str, Any]) -> str:
    """What a check looked at, or why it did not; its unit alone where the number is not told."""
    if check["reason"]:
        return str(check["reason"])
    n, unit = check["denominator"], str(check["denominator_unit"])
    if n is None:
        return unit
    return f"{n / 1e6:,.1f} million {unit}" if n >= 1_000_000 else counted(n, unit)


_NAMES = """
instances of n rows_mapped rows instances_without_labels support_old support_new joint_old
joint_new count_old count_new of_old of_new n_old n_new common scores_differ answers_differ
expected instances_matched labels_without_predictions predictions_without_labels observed
exchanges falsely missed hits answers labelled joint co_predicted records clusters examples used
without_concept several_concepts sibling_instances taken_for_sibling sibling_taken_for_it won lost
tied left_out tuples valid invalid keys shared heads social_heads edges texts chains votes ratings
items raters labels groups concepts slices siblings classes generation both only_detection
only_generation not_valid identified faulty weak ties against self_edges valid_edges denied_edges
contradictory_edges components synonym_components texts_on_cycles chains_valid chains_denied
chains_open redundant_edges tops leaves closed broken open answered unparsable missing generated
blank vocabulary most_children
"""
_COUNTS = frozenset(_NAMES.split())
"""Names of counts in a shared view; findings have those that their check names."""
_OF_REASONS = ("refused", "left_out")
"""Names of counts by reason."""
_FACTS = """
rows_read voted relations splits annotators predictions generations questions
unscored chosen other_split unknown_id unknown
"""
_WHOLE = ("ledger", "since_reference")
"""What tells whole numbers of instances and groups."""
_BY_NAME = {
    **dict.fromkeys(_OF_REASONS),
    **dict.fromkeys(_WHOLE, _COUNTS - {"instances", "groups"}),
    "facts": _COUNTS | {*_FACTS.split()},
}
"""Names of the counts in what has a name of its own."""
_WHOLES = {"residual_share": "instances", "share": "answers"}
_EXACT = ("identity", "policy", "rounding", "parameters", "waivers")


_Names: TypeAlias = frozenset[str] | None
"""Names of the counts of a record; None where all of its numbers are counts."""
_Row: TypeAlias = dict[str, Any]


def rounding_of(view: Mapping[str, Any]) -> Rounded:
    """How counts of a run, of runs, or of both runs of a comparison are rounded."""
    found: Rounded = view.get("rounding")
    new: Rounded = found.get("new", found) if found else None
    return new


def marked(view: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same view, its told numbers as `Count` and `Share`; an exact view as it is.

    A comparison is of two runs that are rounded alike.

    >>> made = marked({"rounding": {"bin": 10, "totals": {}}, "ledger": {"rows_mapped": 5}})
    >>> f"{made['ledger']['rows_mapped']:,}"
    '<11'
    """
    rounding = rounding_of(view)
    if rounding is None:
        return view
    n = rounding["totals"].get("instances")
    return _Marking(rounding).row(view, n)


class _Marking:
    """Marks the numbers of a view; ``n`` is what shares are of where nothing nearer says it."""

    def __init__(self, rounding: Mapping[str, Any]) -> None:
        self.rounding = rounding

    def row(self, row: Mapping[str, Any], n: int | None, counts: _Names = _COUNTS) -> _Row:
        counts = frozenset(row["counts"]) if "counts" in row else counts
        if counts is not None:
            counts -= {"n"} if isinstance(row.get("models"), int) else set()
        own = next((row[name] for name in ("of", "n") if isinstance(row.get(name), int)), None)
        within = row.get("instances", n) if own is None else own
        return {
            name: value
            if name in _EXACT or name.endswith("limit")
            else self.value(
                value,
                _whole_of(name, row, n if own is None else own),
                within if isinstance(value, list | Mapping) else n,
                _BY_NAME.get(name, counts),
                counted=counts is None or name in counts,
            )
            for name, value in row.items()
        }

    def value(
        self, value: Any, own: int | None, n: int | None, counts: _Names, *, counted: bool
    ) -> Any:
        match value:
            case bool():
                return value
            case int():
                return Count(value, self.rounding) if counted and value >= 0 else value
            case float():
                return Share(value, own)
            case list():
                return [self.value(one, own, n, counts, counted=counted) for one in value]
            case Mapping():
                return self.row(value, n, counts)
        return value


def _whole_of(name: str, row: Mapping[str, Any], own: int | None) -> int | None:
    """What a share is of."""
    of = _WHOLES.get(name, f"of_{name.removesuffix('_share')}")
    whole: int | None = row.get(of, own)
    return whole
