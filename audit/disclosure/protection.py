"""Complementary suppression: withhold further counts so that together they disclose no small cell.

Linear programs give the least and greatest value of a small cell under everything published. While
that range is narrower than 1 to ``min_cell - 1``, counts with a non-zero dual variable are
withheld, the smallest first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import isnan
from typing import Any, TypeAlias

from audit.disclosure.cells import Cell, Release
from audit.disclosure.decisions import digest_of
from audit.disclosure.digits import Range
from audit.disclosure.forms import Forms
from audit.disclosure.inference import SLACK, TOGETHER, Inference, Left, Part, parts_of, reached
from audit.disclosure.known import Known, chains_within, without_shares
from audit.disclosure.label_sums import LabelSums, of_few_labels
from audit.disclosure.quantity import is_small, possible, shown_count, shown_in_steps, shown_parts
from audit.disclosure.sums import Ranges, fewest
from audit.disclosure.told import Chain, Form, Sets, Told, seen_whole
from audit.disclosure.whole import WholeInference

Step: TypeAlias = tuple[bool, bool, int, Cell, str]
"""A count and how it is withheld, after what is lost: of a node, a bound before, how many."""
AT_ONCE = 16
"""Number of programs that are tried as one."""


def protected(
    counts: Mapping[Cell, int],
    release: Release,
    min_cell: int,
    known: Known | None = None,
    **given: Any,
) -> dict[Cell, int | str]:
    """Counts as `protect` shows them."""
    return protect(counts, release, min_cell, known, **given).told(counts)


def protect(
    counts: Mapping[Cell, int],
    release: Release,
    min_cell: int,
    known: Known | None = None,
    *,
    shares: Collection[tuple[Cell, Cell]] = (),
    beside: Iterable[tuple[Cell, Iterable[int]]] = (),
    in_steps: Collection[Cell] = (),
    before: Mapping[str, Any] | None = None,
) -> Protection:
    """Suppress published counts so that all of them together disclose no small cell.

    Protected are small counts, small remainders (of the labelled instances, of the sides of a pair,
    of a node above, of the instances with a label below), small counts of instances with neither
    side of a pair, and small counts of unpublished children if there are at most `FEW`. If the
    programs include every label, small counts of every node, and of what it has beyond each child,
    are protected too.

    Args:
        counts: Each count that is to be published.
        release: What readers know beside the counts.
        min_cell: Smallest count that may be shown, above 1.
        known: What the same readers know already. Counts of other views of this release are as if
            published here, but cannot be withheld. A count or remainder that differs from one of an
            earlier release by a small cell is shown as a bound; if this release can contain earlier
            ones, sums over the instances of each, and over those added since, are protected like
            those over all, by programs over all that can contain each other.
        shares: Pairs of counts that are published only as a share, which discloses both or is
            withheld.
        beside: Totals that are printed beside a count that is part of them.
        in_steps: Counts that are told in steps of ``min_cell`` at most (`shown_in_steps`), and
            withheld before others.
        before: What was `decided` earlier, taken over where all that decides it is the same.

    Returns:
        What shows each count itself; ``<m`` if it is small; ``>n-m`` if all but few of a total n
        are in it (the labelled instances, or a published count that it is part of); ``>m-1`` if it
        would disclose a small cell otherwise, and ``>0`` if that bound would disclose too much. For
        instances with labels below each of two overlapping nodes, only ``>0`` is shown.

    Ranges that remain narrower follow from the release's totals, from pairs that never occur
    together, and from which nodes are in use, alone.
    """
    same = {release.same(cell): count for cell, count in counts.items()}
    totals: dict[Cell, set[int]] = {}
    for cell, written in beside:
        totals.setdefault(release.same(cell), set()).update(written)
    cells, known = dict(sorted(same.items())), (known or Known()).renamed(release)
    exact = {release.same(cell) for cell in counts if cell not in in_steps}
    coarse = frozenset(map(release.same, in_steps)) - exact
    found = Protection(release, min_cell, cells, tuple(shares), totals, known, coarse)
    if before is not None and before["of"] == found.decided_by:
        found.shown = dict(zip(cells, before["shown"], strict=True))
    else:
        found._protect()
    return found


@dataclass(eq=False)
class Protection:
    """Counts of a release, and how they are shown together."""

    release: Release
    min_cell: int
    counts: dict[Cell, int]
    shares: tuple[tuple[Cell, Cell], ...]
    beside: Mapping[Cell, Collection[int]]
    known: Known
    in_steps: frozenset[Cell]
    shown: dict[Cell, int | str] = field(default_factory=dict)

    @cached_property
    def decided_by(self) -> str:
        """Digest of all that decides what is shown."""
        beside = sorted((cell, sorted(totals)) for cell, totals in self.beside.items())
        asked = self.min_cell, self.counts, self.shares, beside, self.known, sorted(self.in_steps)
        return digest_of(self.release, *asked)

    def decided(self) -> dict[str, Any]:
        """How each count is shown, in order, ``of`` what decides it; plain data."""
        return {"of": self.decided_by, "shown": list(self.shown.values())}

    def told(self, asked: Iterable[Cell], withheld: Collection[Cell] = ()) -> dict[Cell, int | str]:
        """Counts as they are shown, where some are withheld further."""
        shown = self.shown | dict.fromkeys(withheld, ">0")
        return {cell: shown[self.release.same(cell)] for cell in asked}

    def left(self, withheld: Collection[Cell] = ()) -> dict[Cell, Range]:
        """The least and the most that is left to each count, where some are withheld further."""
        shown = self.shown | dict.fromkeys(withheld, ">0")
        left = self._left_by(without_shares(shown, self.shares))
        return {cell: left(cell) for cell in self._published}

    def sum_of(self, form: Form, then: Known | None = None) -> int | None:
        """What a form is, now or in an earlier release; None where that is not known of it."""
        each = [(sign, (then or self).counted(cell)) for sign, cell in form]
        return None if None in (n for _, n in each) else sum(sign * (n or 0) for sign, n in each)

    def _protect(self) -> None:
        self.shown = {cell: self._alone(cell) for cell in self.counts}
        for chain in ((), *self._chains):
            self._protect_beside(chain)
        self._tell_depths()
        for earlier in self.known.earlier or (Known(),):
            self._free_sums(earlier)
        for chain in ((), *self._chains):
            self._protect_whole(chain)
        for cell in self.counts:
            self._raise_sides(cell)

    def _alone(self, cell: Cell) -> int | str:
        """A count as it may be shown without the others."""
        count = self.counts[cell]
        if cell.differing and count:
            return ">0"
        if cell in self.in_steps:
            whole = self.release.labelled
            steps = shown_in_steps(count, whole, self.min_cell) or ">0"
            return count if count == whole else str(steps)
        shown = shown_count(count, self._totals_of(cell), self.min_cell)
        changed = count and isinstance(shown, int) and self._changed_little(cell)
        return f">{self.min_cell - 1}" if changed else shown

    def _changed_little(self, cell: Cell) -> bool:
        """Whether a count, or what is left of the total, differs by a small cell from before."""
        for earlier in self.known.earlier:
            if (then := earlier.exact(cell)) is not None:
                came = self.counts[cell] - then
                others = self.release.total(cell) - earlier.total(cell) - came
                if any(is_small(abs(n), self.min_cell) for n in (came, others)):
                    return True
        return False

    @cached_property
    def _now(self) -> Known:
        """The totals and counts of this release, as those of earlier ones are."""
        counts = {**self.release.carrying, **self._published}
        return Known(self.release.labelled, self.release.assertions, counts)

    @cached_property
    def _chains(self) -> list[Chain]:
        """Earlier releases that this one can contain, with those that each can contain in turn."""
        return chains_within(self._now, self.known.earlier)

    def _protect_beside(self, chain: Chain) -> None:
        """Protect what is small of each release of a chain, of this one, and of what came since.

        Where no releases that contain each other have all these counts, each is taken alone.
        """
        told, programs = Told(self.release, self._published, chain), dict[Sets, Inference]()
        alone = [Told(self.release, self._published, (one,)) for one in chain]
        for part in parts_of(chain):
            for form, inference in self._narrow(part, told, programs):
                if not self._free(inference, form, part) and len(chain) != 1:
                    for one in alone:
                        for own in parts_of(one.chain):
                            if is_small(self._value(form, own, one.chain), self.min_cell):
                                self._free(Inference.of(form, one), form, own)

    def _narrow(
        self, part: Part, told: Told, programs: dict[Sets, Inference]
    ) -> Iterator[tuple[Form, Inference]]:
        """Small forms that may not reach both ends: what is withheld later only widens others.

        Those of the same label sets share a program, and what was found to be possible in it.
        """
        small = self._small_forms(self.forms.protected, part, told.chain)
        for start in range(0, len(small), AT_ONCE):
            some = list[tuple[Form, Inference]]()
            for form in small[start : start + AT_ONCE]:
                sets = frozenset(one for _, cell in form if cell for one in cell.label_sets)
                if sets not in programs:
                    programs[sets] = Inference.of(form, told)
                some.append((form, programs[sets]))
            wide = set.intersection(*(reached(some, part, *end, self._left) for end in self._ends))
            yield from (one for place, one in enumerate(some) if place not in wide)
            for sets in [its for its, one in programs.items() if len(one.labelled) > TOGETHER]:
                del programs[sets]  # takes much memory

    def _protect_whole(self, chain: Chain) -> None:
        """Protect the same, and labels told apart from others, by one program over all labels."""
        whole = WholeInference.of_all(
            Told(self.release, self._published, chain), self.forms.protected
        )
        if whole is not None and whole.completed(self._left):
            for part in parts_of(chain):
                small = self._small_forms((*self.forms.protected, *whole.alone), part, chain)
                for form in small:
                    self._free(whole, form, part)

    def _totals_of(self, cell: Cell) -> tuple[int, ...]:
        """Counts that a cell is part of: published ones, and those that it is written with."""
        if cell.of_labels:
            return ()
        published = (self.counts[side] for side in cell.sides if side in self.counts)
        return self.release.labelled, *published, *self.beside.get(cell, ())

    def _raise_sides(self, cell: Cell) -> None:
        """Let the bound of a count say what a published part of it says already.

        A bound that would read as "all but few of those with labels" is left as it is.
        """
        shown = self.shown[cell]
        implied = shown - 1 if isinstance(shown, int) else int(shown[1:]) if shown[0] == ">" else 0
        if implied == self.release.labelled - self.min_cell:
            return
        for side in cell.sides:
            bound = self.shown.get(side)
            if isinstance(bound, str) and bound[0] == ">":
                self.shown[side] = f">{max(implied, int(bound[1:]))}"

    def _tell_depths(self) -> None:
        """Tell labels by depth as lines of their total; withheld ones as ``>0``."""
        cells = [cell for cell in self.counts if cell.of_labels]
        alone = shown_parts([self.counts[cell] for cell in cells], self.min_cell)
        few = of_few_labels(filter(self.counts.get, cells), self.release)
        for cell, line in zip(cells, alone, strict=True):
            bound = cell in few or str(self.shown[cell]).startswith(">")
            self.shown[cell] = ">0" if line is None or bound else line

    def _free_sums(self, earlier: Known) -> None:
        """Withhold what labels, labels by depth and all labels tell of each other.

        The labels at a depth go first, then counts of nodes; exact ones before bounds.
        """
        holds = earlier.lies_within(self._now)
        sums = LabelSums.of(self.release, self._published, earlier, contained=holds)
        steps = [step for cell in self.counts for step in self._less_precise(cell)]
        steps.sort()

        def left_after(some: Sequence[Step]) -> Ranges:
            loosened = self.shown | {cell: value for *_, cell, value in some}
            left = self._left_by(without_shares(loosened, self.shares))
            return sums.left({cell: left(cell) for cell in self._published})

        free = left_after(steps)
        for *_, cell, value in fewest(
            steps, lambda s: sums.narrow(left_after(s), free, self.min_cell)
        ):
            self.shown[cell] = value
        self.__dict__.pop("_left", None)

    def _less_precise(self, cell: Cell) -> Iterator[Step]:
        """How a count can be withheld, in the order of what is lost."""
        shown, floor = self.shown[cell], f">{self.min_cell - 1}"
        if not self.counts[cell] or not self._tells_more(cell):
            return
        by_node, bound, count = not cell.of_labels, isinstance(shown, str), self.counts[cell]
        if by_node and shown != floor and self._left_by(self.shown)(cell)[0] >= self.min_cell:
            yield by_node, bound, count, cell, floor
            bound = True
        yield by_node, bound, count, cell, ">0"

    def _small_forms(self, forms: Iterable[Form], part: Part, chain: Chain) -> list[Form]:
        """What must stay possible from 1 to ``min_cell - 1``, without what is so trivially."""
        return [form for form in forms if is_small(self._value(form, part, chain), self.min_cell)]

    @cached_property
    def _published(self) -> Mapping[Cell, int]:
        """Every count that is published here or in another view."""
        return {**self.known.published, **self.counts}

    @cached_property
    def forms(self) -> Forms:
        """What is protected."""
        return Forms(self.release, self._published, seen_whole(self.release))

    def _value(self, form: Form, part: Part, chain: Chain) -> int:
        """What a form is; 0 where it is not known of an earlier release."""
        value = part[-1] * (self.sum_of(form) or 0)
        for known, (own, later) in zip(chain, pairwise(part), strict=True):
            if own != later:
                count = self.sum_of(form, known)
                if count is None:
                    return 0
                value += (own - later) * count
        return value

    def counted(self, cell: Cell | None) -> int:
        """A count of this release; of all labelled instances without a cell."""
        if cell is None:
            return self.release.labelled
        if cell in self._published:
            return self._published[cell]
        ((scope, node),) = cell.meets
        return (self.release.direct if scope == "at" else self.release.supports).get(node, 0)

    def _free(self, inference: Inference, form: Form, part: Part) -> bool:
        """Withhold what narrows a form; False where no releases have all these counts."""
        found = 0.0
        for sign, wanted in self._ends:
            while not inference.reached(form, part, sign, wanted):
                found, binding = inference.least(form, part, sign, self._left, wanted=wanted)
                chosen = self._to_withhold(binding)
                if not sign * (found - wanted) > SLACK or not chosen:
                    break
                if inference.classes:
                    seen = [cell for cell in inference.cells if self.counts.get(cell)]
                    hidden = without_shares(self.shown | dict.fromkeys(seen, ">0"), self.shares)
                    free, _ = inference.least(form, part, sign, self._left_by(hidden), told=False)
                    if sign * (found - free) <= SLACK:  # totals alone are as narrow
                        break
                self.shown[chosen] = self._withheld(chosen)
                del self._left
        return not isnan(found)

    @property
    def _ends(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The least and the most that must stay possible, each with its sign in a program."""
        return (1, 1), (-1, self.min_cell - 1)

    @cached_property
    def _left(self) -> Left:
        """What is left to each count by what is shown."""
        return self._left_by(without_shares(self.shown, self.shares))

    def _left_by(self, shown: Mapping[Cell, int | str]) -> Left:
        """What published values leave to each count beside other views of the release."""

        def left(cell: Cell) -> Range:
            ends = possible(shown.get(cell), self.release.total(cell), self.min_cell)
            return self.known.within(cell, ends)

        return left

    def _to_withhold(self, binding: list[Cell]) -> Cell | None:
        """Steps first, exact counts before bounds, the smallest first; None if all is withheld."""
        floor = f">{self.min_cell - 1}"

        def order(cell: Cell) -> tuple[bool, bool, int, Cell]:
            steps = cell in self.in_steps and self.shown[cell] not in (floor, f"<{self.min_cell}")
            return not steps, isinstance(self.shown[cell], str), self.counts[cell], cell

        open_ = [c for c in binding if self.counts.get(c) and self._tells_more(c)]
        return min(open_, key=order, default=None)

    def _tells_more(self, cell: Cell) -> bool:
        """Whether a count tells more here than that it is not 0, and than other views tell."""
        low, high = possible(self.shown[cell], self.release.total(cell), self.min_cell)
        least, most = self.known.ranges.get(cell, (0, high))
        return self.shown[cell] != ">0" and (least < low or high < most)

    def _withheld(self, cell: Cell) -> str:
        floor = f">{self.min_cell - 1}"
        enough = self.counts[cell] >= self.min_cell and self.shown[cell] != floor
        return floor if enough else ">0"
