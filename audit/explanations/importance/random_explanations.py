"""Correlations of attributions with the explanations of other examples (equation 6), drawn so that
no example keeps its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from audit.base.dag import BoolArray, FloatArray, IntArray, UIntArray
from audit.explanations.attributions import Attributions
from audit.explanations.importance.oracles import HumanOracle, codes
from audit.explanations.lists import Lists, batches, fisher, standardised


@dataclass(frozen=True, eq=False)
class WordSets:
    """The words that each item of evidence holds, made to be asked for many tokens at once.

    Args:
        keys: ``item * n_words + word`` of all that is held, ascending, and a last larger one.
        signature: Per item one bit for each remainder of a word at 64.
        code: Per place in the vocabulary its number among the words of evidence, -1 if it is in
            none.
        n_words: Number of words of evidence.
    """

    keys: IntArray
    signature: UIntArray
    code: IntArray
    n_words: int

    @classmethod
    def of(cls, words: Lists[np.int64], vocabulary: int) -> WordSets:
        """From the words of each item, ascending, and the size of the vocabulary."""
        used, number = np.unique(words.values, return_inverse=True)
        code = np.full(vocabulary, -1)
        code[used] = np.arange(len(used))
        signature = np.zeros(len(words), np.uint64)
        np.bitwise_or.at(signature, words.owner, bits(number))
        keys = np.append(words.owner * len(used) + number, np.iinfo(np.int64).max)
        return cls(keys, signature, code, len(used))

    def held(self, item: IntArray, task: IntArray, word: IntArray, bit: UIntArray) -> IntArray:
        """Places of words that are in the item of their task."""
        signature = np.zeros(len(item), np.uint64)
        signature[item >= 0] = self.signature[item[item >= 0]]
        place = np.flatnonzero(signature[task] & bit)
        wanted = item[task[place]] * self.n_words + word[place]
        nearest = np.searchsorted(self.keys, wanted)
        return np.asarray(place[self.keys[nearest] == wanted])


def bits(word: IntArray) -> UIntArray:
    """The bit of each word in the signature of an item that holds it."""
    return np.uint64(1) << (word % 64).astype(np.uint64)


@dataclass(frozen=True, eq=False)
class ItemsOfExamples:
    """The evidence of each example as the tokens of each method and model have it.

    Models split a text into other tokens, and evidence goes by tokens, so that an example may have
    several items. Methods and models with the same items share one tokenisation.

    Args:
        item: -1 where an example has none, shape (n_tokenisations, n_examples).
        tokenisation: Per row of the attributions.
    """

    item: IntArray
    tokenisation: IntArray

    @classmethod
    def of(
        cls, attributions: Attributions, oracle: HumanOracle, row: IntArray, example: IntArray
    ) -> ItemsOfExamples:
        """From the rows that are judged, and the example of each row of the attributions."""
        reader = codes(attributions.rows[row], ("method", "model"))
        table = np.full((int(reader.max(initial=-1)) + 1, int(example.max(initial=-1)) + 1), -1)
        table[reader, example[row]] = oracle.item[row]
        known: dict[bytes, int] = {}
        number = np.array([known.setdefault(line.tobytes(), len(known)) for line in table], int)
        _, first = np.unique(number, return_index=True)
        tokenisation = np.full(len(example), -1)
        tokenisation[row] = number[reader]
        return cls(table[first], tokenisation)

    @cached_property
    def any_item(self) -> IntArray:
        """An item of each example, -1 if it has none, shape (n_examples,)."""
        return np.asarray(self.item.max(axis=0, initial=-1))

    def of_donors(self, tokenisation: IntArray, donor: IntArray) -> IntArray:
        """The item of each donor in a tokenisation, any other if it has none in it."""
        own = self.item[tokenisation, donor]
        return np.where(donor < 0, -1, np.where(own < 0, self.any_item[donor], own))


@dataclass(frozen=True, eq=False)
class RowBatch:
    """Rows of some examples, made to be correlated with one reassigned explanation after another.

    Rows of one text, example and tokenisation meet the same explanations; they are one task.

    Args:
        first: Per task where its rows start, and where the last end, shape (n_tasks + 1,).
        word: Words of the texts that are in some evidence, text after text.
        bit: Their bits in signatures.
        step: The place of each such word in its text.
        importance: Absolute scores per row, less their mean, over their Euclidean length.
    """

    row: IntArray
    first: IntArray
    example: IntArray
    tokenisation: IntArray
    length: IntArray
    word: IntArray
    bit: UIntArray
    task: IntArray
    step: IntArray
    importance: Lists[np.float64]

    def correlate(self, sets: WordSets, items: ItemsOfExamples, donor: IntArray) -> FloatArray:
        """Fisher's transform of the correlation of each row with another example's explanation.

        Args:
            donor: Per example the one whose explanation it gets, -1 for none.

        Returns:
            Shape (n_rows,); NaN where no token or every token is in the explanation, or the
            correlation is 1 or -1.
        """
        item = items.of_donors(self.tokenisation, donor[self.example])
        hit = sets.held(item, self.task, self.word, self.bit)
        task, step = self.task[hit], self.step[hit]
        marked = np.bincount(task, minlength=len(self.example))
        count = np.diff(self.first)
        n = count[task]
        row = np.repeat(self.first[task] - np.cumsum(n) + n, n) + np.arange(int(n.sum()))
        place = self.importance.starts[row] + np.repeat(step, n)
        covered = np.bincount(row, self.importance.values[place], minlength=len(self.row))
        spread = marked * (1 - marked / self.length)
        scale = np.divide(1, np.sqrt(spread), out=np.full(len(spread), np.nan), where=spread > 0)
        return fisher(covered * np.repeat(scale, count))


def rows_in_batches(
    attributions: Attributions, items: ItemsOfExamples, row: IntArray, example: IntArray
) -> list[IntArray]:
    """Rows in batches, all rows of an example in one; examples in order."""
    text = attributions.rows["text"].to_numpy()
    order = np.lexsort((text[row], items.tokenisation[row], example[row]))
    row = row[order]
    starts = np.flatnonzero(np.diff(example[row], prepend=-1))
    lengths = np.add.reduceat(attributions.scores.lengths[row], starts) if len(row) else starts
    ends = np.append(starts[1:], len(row))
    return [row[starts[part][0] : ends[part][-1]] for part in batches(lengths)]


def row_batch(
    attributions: Attributions,
    sets: WordSets,
    items: ItemsOfExamples,
    row: IntArray,
    example: IntArray,
) -> RowBatch:
    """One batch of `rows_in_batches`, made to be correlated."""
    text = attributions.rows["text"].to_numpy()
    keys = np.stack([example[row], items.tokenisation[row], text[row]])
    first = np.flatnonzero(np.any(np.diff(keys, axis=1, prepend=-2) != 0, axis=0))
    leader = row[first]
    words = attributions.words.take(text[leader])
    word, task = sets.code[words.values], words.owner
    known = word >= 0
    scores = attributions.scores.take(row)
    return RowBatch(
        row=row,
        first=np.append(first, len(row)),
        example=example[leader],
        tokenisation=items.tokenisation[leader],
        length=words.lengths,
        word=word[known],
        bit=bits(word[known]),
        task=task[known],
        step=(np.arange(len(word)) - words.starts[task])[known],
        importance=standardised(Lists(np.abs(scores.values), scores.starts)),
    )


def random_donors(member: IntArray, cluster: IntArray, draws: int, seed: int) -> NDArray[np.int32]:
    """Per draw and example the example whose explanation it gets, -1 for none.

    Nobody gets their own, or one of their cluster. More draws begin with the same ones.

    Returns:
        Shape (n_draws, n_examples).
    """
    _, group = np.unique(cluster[member], return_inverse=True)
    donors = np.full((draws, len(cluster)), -1, np.int32)
    for place in range(draws):
        other = random_derangement(group, np.random.default_rng([seed % 2**64, 0, place]))
        donors[place, member] = np.where(other < 0, -1, member[other])
    return donors


_ROUNDS = 60


def random_derangement(group: IntArray, rng: np.random.Generator) -> IntArray:
    """A random permutation that gives each member the place of a member of another group.

    A random permutation whose misplaced members change places with others, drawn at random, until
    none is misplaced.

    Args:
        group: The group of each member, numbered from 0, shape (n,); all different if members are
            alone.
        rng: Where randomness comes from.

    Returns:
        The place of another member for each, shape (n,), none twice. Of a group of more than half,
        as many members as the others cannot serve are drawn at random and have -1.
    """
    sizes = np.bincount(group, minlength=1)
    unserved = max(2 * int(sizes.max()) - len(group), 0)
    left_out = rng.choice(np.flatnonzero(group == sizes.argmax()), unserved, replace=False)
    served = np.delete(np.arange(len(group)), left_out)
    other = np.full(len(group), -1)
    other[served] = served[_derangement(group[served], rng)]
    return other


def _derangement(group: IntArray, rng: np.random.Generator) -> IntArray:
    """A random permutation that serves everybody, which no group of more than half prevents."""
    n = len(group)
    other = rng.permutation(n)
    for number in range(_ROUNDS):
        wrong = np.flatnonzero(group[other] == group)
        if len(wrong) == 0:
            break
        _exchange(other, wrong, np.arange(n) if number % 2 == 0 else wrong, group, rng)
    for member in np.flatnonzero(group[other] == group).tolist():
        if group[other[member]] == group[member]:
            may = _may_exchange(other, np.int64(member), np.arange(n), group)
            partner = int(rng.choice(np.flatnonzero(may)))
            other[[member, partner]] = other[[partner, member]]
    return other


def _exchange(
    other: IntArray, wrong: IntArray, partners: IntArray, group: IntArray, rng: np.random.Generator
) -> None:
    """Let half of the misplaced change places, in place, with random partners where both may."""
    half = wrong[rng.random(len(wrong)) < 0.5]
    partner, first = np.unique(rng.choice(partners, len(half)), return_index=True)
    member = half[first]
    may = _may_exchange(other, member, partner, group) & ~np.isin(partner, member)
    member, partner = member[may], partner[may]
    other[member], other[partner] = other[partner], other[member]


def _may_exchange(
    other: IntArray, member: IntArray | np.int64, partner: IntArray, group: IntArray
) -> BoolArray:
    """Whether neither of two members is misplaced once they have changed places."""
    return np.asarray(
        (group[other[partner]] != group[member]) & (group[other[member]] != group[partner])
    )
