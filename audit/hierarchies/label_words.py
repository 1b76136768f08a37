"""Labels as people write them: words for no code, and what stands around a code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import combinations
from shlex import quote
from typing import TypeAlias

import polars as pl

from audit.base.errors import InputError, first_cases
from audit.base.readings import Reading

_NOTHING = re.compile(
    "n[ad]|n/a|#n/a|nan|none|null|nil|unk|unknown|undefined|missing|blank|empty|no(code|dx)|"
    r"nodiagnosis|not(available|applicable|recorded|known)|\\n"
)
r"""Words for no code in lower case, without blanks, dashes and underscores; ``\N`` of databases."""
_NO_CODE = re.compile(r"[\W_0]+|-\d+")
_PLAIN = re.compile(r"(?=.*[1-9])[A-Za-z]?[0-9][0-9A-Za-z]*(\.[0-9A-Za-z]+)?(?<![Xx])")
"""A code as it should be written, which is not looked into for another one."""
MARKS = "'\"`‘’“”()[]{}.,;:? "
"""Marks around labels that are no part of them; of codes no sign is a part, nor an X behind."""
_CERTAINTY = re.compile(r"\W*[A-Za-z]\W*")
"""A letter beside a code, which may say how sure it is, as A does of what was ruled out."""
_CUT = re.compile(r"[0-9]\0\.?[0-9]|(?:\.|(?<![A-Za-z])[A-Za-z])\0[0-9]")
"""Where a code would be cut out of another: between its digits, or behind its one letter."""
_NAME = re.compile("X[0-9]")
"""How a name begins that R made of one that begins with a digit."""
_MOST, _MOST_OF_NONE = 0.95, 0.8
"""Share of different labels in the same wrapping from which on it is the column's; where no label
is a node as it stands."""
_LOOKED_INTO, _LONGEST = 200, 80
"""Number of labels, and of characters of each, that are looked into for a node."""

_SPECIAL, _ESCAPED = re.compile(r"[.^$*+?{}\[\]|()\\]"), r"\\\g<0>"

IsNode: TypeAlias = Callable[[str, str | None], bool]
"""Whether a text, in a table, is a node that the hierarchy has."""


def is_plain(text: str) -> bool:
    """Whether a text is shaped as a code that nothing stands around."""
    return _PLAIN.fullmatch(text) is not None


@dataclass(frozen=True)
class Words:
    """How labels are written, as the user says; what is not said is found.

    Args:
        missing: All words that stand for no code, in any case; none: those that people use.
        strip: All that stands around codes: texts, or regular expressions between slashes.
        chosen: Patterns of the labels that count, such as ``ICD9CM/*``; none: all do.
        vocabulary: The vocabulary, or code system, of codes where the data have several.

    Raises:
        InputError: If a regular expression is none.
    """

    missing: tuple[str, ...] = ()
    strip: tuple[str, ...] = ()
    chosen: tuple[str, ...] = ()
    vocabulary: str | None = None

    def __post_init__(self) -> None:
        for one in self.strip:
            try:
                bare("", [one])
            except re.error as error:
                raise InputError(
                    "a regular expression is required between the slashes of --strip",
                    found=f"{one}: {error}",
                ) from None

    def before(self, label: str) -> str | None:
        """What stands before the star of the first pattern that a label fits; None: it fits none.

        >>> Words(chosen=("ICD9CM/*",)).before("ICD9CM/401.9"), Words(chosen=("A*",)).before("B")
        ('ICD9CM/', None)
        """
        fitting = (one for one in self.chosen or ("*",) if fnmatchcase(label, one))
        return next((one.partition("*")[0] for one in fitting), None)

    def mean_nothing(self, label: str) -> bool:
        """Whether a label that is no node stands for no code.

        >>> [Words().mean_nothing(text) for text in ("N/A", "No Dx", "00.00", "-", "NOS", "10")]
        [True, True, True, True, False, False]
        """
        if self.missing:
            return label.strip().casefold() in {word.strip().casefold() for word in self.missing}
        folded = re.sub(r"[\s_()<>-]", "", label.casefold())
        return bool(_NOTHING.fullmatch(folded)) or _NO_CODE.fullmatch(label) is not None


FOUND = Words()
"""Of which the user says nothing."""


def bare(label: str, patterns: Iterable[str]) -> str:
    """A label without what patterns take off, each of its beginning and its end or, as an
    expression between slashes, wherever it fits.

    >>> bare("ICD9CM:401.9 (V)", ["ICD9CM:", "(V)"]), bare("401.9 - High", ["/ - .*/"])
    ('401.9', '401.9')
    """
    for one in patterns:
        regular = len(one) > 2 and one[0] == one[-1] == "/"
        text = label.strip()
        label = re.sub(one[1:-1], "", text) if regular else text.removeprefix(one).removesuffix(one)
    return label.strip()


def read_words(
    labels: pl.DataFrame,
    words: Words,
    is_node: IsNode,
    coded: bool,
    is_spelt: Callable[[str], bool],
    others: Iterable[str] = (),
) -> tuple[list[str | None], tuple[Reading, ...]]:
    """What stands for each label, None where it stands for no code, and what must be told of it.

    ``labels`` are ``label, table, rows``, each once, ``coded`` if they are codes by their shape;
    ``is_spelt`` says whether a text is a node but for its spelling, as ``others`` are.
    """
    rows, told = labels.rows(), list[Reading]()
    texts: list[str | None] = [bare(label, words.strip) for label, _, _ in rows]
    odd = {
        i: text
        for i, text in enumerate(map(str, texts))
        if (words.missing or not (coded and is_plain(text))) and not is_node(text, rows[i][1])
    }

    def read(found: Mapping[int, str | None], decision: str, evidence: str, option: str) -> None:
        """Give labels their texts, and tell it."""
        if found and option:
            told.append(Reading(decision, evidence, sum(rows[i][2] for i in found), option))
        for i, text in found.items():
            texts[i] = text
            del odd[i]

    nothing = dict.fromkeys(i for i, text in odd.items() if words.mean_nothing(text))
    names = first_cases(sorted({odd[i] for i in nothing}))
    option = "" if words.missing else "--missing WORD"
    read(nothing, f"labels stand for no code: {names}", "no node has such a name", option)
    if words.strip:
        return texts, tuple(told)
    tables = [table for _, table, _ in rows]
    unmarked = {
        i: core for i, text in odd.items() if (core := _unmarked(text, tables[i], is_node, coded))
    }
    names = first_cases(sorted({odd[i] for i in unmarked}))
    read(unmarked, f"marks around labels are no part of them: {names}", _NODES, "--strip PATTERN")
    if not (coded or any(text[:1].isdigit() for text in map(str, texts))):
        ids = {i: text[1:] for i, text in odd.items() if _NAME.match(text)}
        ids = {i: text for i, text in ids.items() if is_node(text, tables[i])}
        says = "R writes so the names that begin with a digit, and no label does"
        read(ids, "'X' before digits is no part of labels", says, "--strip PATTERN")
        lettered = _letters_behind(odd, [*filter(None, texts), *others], is_spelt)
        told += _letters_told({odd.pop(i)[-1] for i in lettered}, sum(rows[i][2] for i in lettered))
    least = _MOST if len(odd) + len(nothing) < len(rows) else _MOST_OF_NONE
    for patterns, found in _wrappings(odd, tables, is_node, coded):
        around = " and ".join(map(repr, patterns))
        left = (odd[i].replace(str(text), "", 1) for i, text in found.items())
        says_it = coded and any(map(_CERTAINTY.fullmatch, left))
        if len(found) >= least * len(rows) and not says_it:
            read(found, f"{around} around labels is no part of them", _NODES, "--strip PATTERN")
            break
        option = " ".join(f"--strip {quote(one)}" for one in patterns)
        touched = sum(rows[i][2] for i in found)
        told.append(
            Reading(f"labels with {around} around them are refused", _NODES, touched, option)
        )
    return texts, tuple(told)


_NODES = "without it they are nodes"


def _letters_behind(
    odd: Mapping[int, str], every: Sequence[str], is_spelt: Callable[[str], bool]
) -> list[int]:
    """Labels that are nodes without a letter behind, as dagger and asterisk codes have, where no
    other label ends with it."""
    found = [i for i, text in odd.items() if _LETTERED.search(text) and is_spelt(text[:-1])]
    own = Counter(odd[i][-1] for i in found)
    ends = Counter(text[-1] for text in every if _LETTERED.search(text))
    return [i for i in found if own[odd[i][-1]] == ends[odd[i][-1]]]


def _letters_told(letters: Collection[str], rows: int) -> list[Reading]:
    option = f"--strip {quote('/(?<=[0-9])[' + ''.join(sorted(letters)) + ']$/')}"
    said = f"labels with a letter more, {first_cases(sorted(letters))}, are refused"
    return [Reading(said, _NODES, rows, option)] if letters else []


_LETTERED = re.compile("[0-9][A-Z]$")


def _unmarked(text: str, table: str | None, is_node: IsNode, coded: bool) -> str | None:
    """The node that marks stand around; None if there is none."""
    signs = re.sub(r"^[\W_]+|[\W_]+$", "", text)
    cores = [text.strip(MARKS), *([signs, signs.rstrip("Xx")] if coded else [])]
    return next((core for core in cores if core and is_node(core, table)), None)


def _wrappings(
    odd: Mapping[int, str], tables: Sequence[str | None], is_node: IsNode, coded: bool
) -> Iterator[tuple[tuple[str, ...], dict[int, str | None]]]:
    """What stands around nodes in several labels, the most frequent first, and what it leaves."""
    left = dict(odd)

    def leaves(patterns: tuple[str, ...]) -> dict[int, str | None]:
        return {
            i: core
            for i, text in left.items()
            if (core := bare(text, patterns)) != text
            and is_node(core, tables[i])
            and (coded or _inside(text[:_LONGEST], tables[i], is_node, coded) is not None)
        }

    while left:
        seen = Counter(
            patterns
            for i, text in list(left.items())[:_LOOKED_INTO]
            for patterns in _patterns(text[:_LONGEST], tables[i], is_node, coded)
        )
        leaving = {patterns: leaves(patterns) for patterns, _ in seen.most_common(6)}
        best = max(leaving, key=lambda one: (len(leaving[one]), -len(one)), default=())
        signs = [one for one in leaving if all(map(_SIGNS.fullmatch, (*one, *best)))]
        for one in signs:
            both = (*best, *one)
            if len(leaving.setdefault(both, leaves(both))) > len(leaving[best]):
                best = both
        if not best or len(leaving[best]) < min(2, len(tables)):
            return
        yield best, dict(leaving[best])
        left = {i: text for i, text in left.items() if i not in leaving[best]}


_SIGNS = re.compile(r"[\W_]+|/[\W_]+\.\*/")
"""Signs, and all behind some, which are taken off together."""


def _patterns(
    text: str, table: str | None, is_node: IsNode, coded: bool
) -> Iterator[tuple[str, ...]]:
    """What takes all off a label but the longest node in it: as it stands, then less precisely.

    A node without a digit is a word: what a sign of lists parts from it is another one of a list,
    unless it stands there again, and what a blank does may be any other word.
    """
    span = _inside(text, table, is_node, coded)
    if span is None:
        return
    before, behind = text[: span[0]], text[span[1] :]
    own = text[slice(*span)]
    code = any(map(str.isdigit, own))
    listed = re.search(rf"\w{_LISTING}$", before) or re.match(rf"{_LISTING}\w", behind)
    if listed and not code and own not in before + behind:
        return
    yield tuple(filter(None, [before, behind]))
    if (sign := re.match(r"[\W_]+", behind)) and (code or sign[0].strip()):
        for one in dict.fromkeys((sign[0], sign[0].strip()[:1] or sign[0])):
            yield tuple(filter(None, [before, f"/{_SPECIAL.sub(_ESCAPED, one)}.*/"]))
    if (sign := re.search(r"[\W_]+$", before)) and (code or sign[0].strip()):
        yield tuple(filter(None, [f"/^.*{_SPECIAL.sub(_ESCAPED, sign[0])}/", behind]))


_LISTING = r"\s*[,;|/&+]\s*"


def _inside(text: str, table: str | None, is_node: IsNode, coded: bool) -> tuple[int, int] | None:
    """Where the longest node in a label begins and ends; None if there is none, or, where nodes are
    no codes, another one beside it."""
    if coded:
        runs = [found.span() for found in re.finditer(r"[0-9A-Za-z.]*[0-9][0-9A-Za-z.]*", text)]
        spans = [(a, b) for i, j in runs for a in range(i, j) for b in range(a + 3, j + 1)]
        spans = [
            (a, b) for a, b in spans if not _CUT.search(f"{text[:a]}\0{text[a:b]}\0{text[b:]}")
        ]
    else:
        ends = [i for i in range(len(text) + 1) if not text[max(i - 1, 0) : i + 1].isalnum()]
        spans = list(combinations([0, *ends, len(text)], 2))
    spans.sort(key=lambda span: span[0] - span[1])
    found = next(((a, b) for a, b in spans if is_node(text[a:b], table)), None)
    if found is None or coded:
        return found
    own = text[slice(*found)]
    beside = (text[a:b] for a, b in spans if b <= found[0] or a >= found[1])
    return None if any(is_node(one, table) for one in beside if one != own) else found


def unwrapped(
    label: str, table: str | None, is_node: IsNode, coded: bool
) -> tuple[str, str] | None:
    """The node in a label that is none, and all else of the label if it is more than marks.

    None where nothing but a slip parts a label from a node: a code with a sign too many holds
    another one too. Labels of more than 80 characters are texts, and not looked into.

    >>> known = {"401.9", "428.0"}
    >>> [unwrapped(one, None, lambda text, _: text in known, True)
    ...  for one in ("'401.9'", "401.9X", "428.0 (ruled out)", "4401.9")]
    [('401.9', ''), ('401.9', ''), ('428.0', '(ruled out)'), None]
    """
    text = label.strip()
    if len(text) > _LONGEST or (coded and is_plain(text)):
        return None
    if core := _unmarked(text, table, is_node, coded):
        return core, ""
    span = _inside(text, table, is_node, coded)
    if span is None or text[slice(*span)] == text:
        return None
    before, behind = text[: span[0]], text[span[1] :]
    apart = not (before[-1:].isalnum() or behind[:1].isalnum())
    return (text[slice(*span)], f"{before} {behind}".strip()) if apart else None
