"""Whether attribution methods choose the same tokens, and whether people choose them too.

*Dynamic Top-k Estimation Consolidates Disagreement between Feature Attribution Methods* (Kamp,
Beinborn, Fokkens).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from audit.base.errors import InputError
from audit.base.limits import METHODS
from audit.explanations.agreement.agreement_tables import (
    GAIN_KS,
    MethodSet,
    by_length,
    by_model,
    chosen_tokens,
    difference,
    gains,
    summary,
)
from audit.explanations.agreement.agreement_values import HUMAN, Values, agreement_values
from audit.explanations.agreement.top_tokens import Compat
from audit.explanations.agreement.units import Units, units_of
from audit.explanations.attributions import Attributions

MAIN_K = 4
"""The fixed k of figure 3 of *Dynamic Top-k Estimation*."""
MOST = 10
"""The largest k of curves."""
ALL = "all methods"
"""Name of the set of all methods, the human left out."""


@dataclass(frozen=True, eq=False)
class Agreement:
    """Agreement of methods with each other and with people.

    Args:
        k: The main fixed k.
        methods: Methods, ascending.
        pairs: Agreement of pairs of methods, and of each method and the human, by model, for peaks
            and for each k (the curves); columns as in `agreement_tables.summary`.
        together: The same for sets of more than two methods, named in ``together``.
        lengths: The same for these sets (pairs, if there are no sets) by length of text, with
            ``tokens_from`` and ``tokens_to``.
        differences: Pair by pair, peaks beside the main k; columns as in
            `agreement_tables.difference`.
        gains: Dynamic minus fixed agreement, summed over a method's pairs; columns as in
            `agreement_tables.gains`.
        chosen: How many tokens each method chooses; columns as in
            `agreement_tables.chosen_tokens`.
        units: Names of the units; columns as in `Units.frame`.
        ledger: How many rows and units there are, and how many rows were left out, by reason.
    """

    k: int
    methods: tuple[str, ...]
    pairs: pl.DataFrame
    together: pl.DataFrame
    lengths: pl.DataFrame
    differences: pl.DataFrame
    gains: pl.DataFrame
    chosen: pl.DataFrame
    units: pl.DataFrame
    ledger: Mapping[str, int]
    _sets: tuple[MethodSet, ...]
    _values: Values

    def of_units(self) -> Iterator[pl.DataFrame]:
        """Values of every unit, a table for each pair or set.

        Yields:
            ``unit, first, second, together``; ``dynamic`` and ``fixed`` (agreement of the peaks and
            at the main k, null where undefined); ``chance_sizes, chance_permuted`` (the nulls of
            the peaks) and ``chance_fixed``.
        """
        columns = {
            "dynamic": self._values.dynamic,
            "fixed": self._values.fixed(self.k),
            "chance_sizes": self._values.chance_of_sizes,
            "chance_permuted": self._values.permuted,
            "chance_fixed": self._values.chance_of_fixed(self.k),
        }
        for place, one in enumerate(self._sets):
            names = {name: getattr(one, name) for name in ("first", "second", "together")}
            yield self.units.select(
                "unit",
                *(pl.lit(name, dtype=pl.String).alias(key) for key, name in names.items()),
                *(pl.Series(key, of[:, place]).fill_nan(None) for key, of in columns.items()),
            )


def measure_agreement(
    attributions: Attributions,
    *,
    k: int = MAIN_K,
    most: int = MOST,
    sets: Mapping[str, Sequence[str]] | None = None,
    permutations: int | None = None,
    seed: int = 0,
    compat: Compat = None,
) -> Agreement:
    """Measure agreement@k of all pairs of methods, of methods and people, and of sets of methods.

    Args:
        attributions: Scores of at least one method.
        k: The fixed k that peaks are compared with.
        most: The largest k of curves; at least `k` and 5 are computed.
        sets: Further sets of methods by name; "human" is the people's marks. The set of all methods
            is always there, if there are more than two.
        permutations: Permutations of every list of scores; None: as many as about 150 million
            tokens allow, from 10 to 200.
        seed: Seed of ties and permutations; neither depends on the order of rows.
        compat: "kamp": peaks as in the released code.

    Raises:
        InputError: A set names no method of these, k is below 1, or a method is named as people.
    """
    units = units_of(attributions)
    if k < 1:
        raise InputError("k must be at least 1", found=str(k))
    if HUMAN in units.methods:
        raise InputError(f"no method may be named {HUMAN!r}", hint="rename the method")
    METHODS.refuse_beyond(len(units.methods), "attributions")
    named = _sets(units, sets or {})
    values = agreement_values(
        attributions,
        units,
        [one.members for one in named],
        k=k,
        most=max(most, k, *GAIN_KS),
        permutations=permutations,
        seed=seed,
        compat=compat,
    )
    larger = [place for place, one in enumerate(named) if one.together is not None]
    models, all_sets = by_model(units), np.arange(len(named))
    every = summary(values, models, named, all_sets)
    return Agreement(
        k=k,
        methods=units.methods,
        pairs=every.filter(pl.col("together").is_null()).drop("together"),
        together=every.filter(pl.col("together").is_not_null()).drop("first", "second"),
        lengths=summary(values, by_length(units), named, np.array(larger or all_sets, np.int64)),
        differences=difference(values, models, named, k),
        gains=gains(values, models, named),
        chosen=chosen_tokens(values, models, units.methods, k),
        units=units.frame,
        ledger=units.ledger,
        _sets=tuple(named),
        _values=values,
    )


def _sets(units: Units, further: Mapping[str, Sequence[str]]) -> list[MethodSet]:
    """All pairs of methods, each method with the human, all methods, and the further sets."""
    people = bool(units.frame["item"].is_not_null().any())
    names = [*units.methods, HUMAN] if people else [*units.methods]
    sets = [
        MethodSet((a, b), names[a], names[b], None) for a, b in combinations(range(len(names)), 2)
    ]
    larger = {ALL: units.methods} if len(units.methods) > 2 else {}
    for name, members in {**larger, **further}.items():
        missing = [member for member in members if member not in names]
        if missing or not members:
            raise InputError(
                f"every member of the set {name!r} must be a method of the attributions",
                found=", ".join(missing) or "no member",
                hint=f"the methods are {', '.join(names)}",
            )
        sets.append(MethodSet(tuple(names.index(one) for one in members), None, None, name))
    return sets
