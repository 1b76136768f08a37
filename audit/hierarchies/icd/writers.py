"""Ways in which a table writes codes, sound and damaged, and marks that it puts around them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from audit.hierarchies.icd.built_in import core
from audit.hierarchies.icd.icd9 import TABLES

_HEAD, _TAIL, _CODE, _TABLE = (pl.col(name) for name in ("head", "tail", "code", "table"))
_UNDOTTED = _HEAD + _TAIL
_NUMBERS = _HEAD.str.contains(r"^[0-9]+$")
_SHORT = _TAIL == ""
_ZERO = pl.lit("0")


def _number(digits: pl.Expr) -> pl.Expr:
    left = digits.str.strip_chars_start("0")
    return pl.when(left == "").then(_ZERO).otherwise(left)


def _joined(head: pl.Expr, tail: pl.Expr, none: str) -> pl.Expr:
    """Head and tail without the zeros at its end; where none is left, the head and ``none``."""
    left = tail.str.strip_chars_end("0")
    return pl.when(left == "").then(head + none).otherwise(head + "." + left)


_WHOLE = _number(_UNDOTTED)
_WIDTH = pl.when(_TABLE == "procedures").then(2).otherwise(3)
_FIRST, _REST = _WHOLE.str.slice(0, _WIDTH), _WHOLE.str.slice(_WIDTH)


@dataclass(frozen=True, eq=False)
class Writer:
    """A way of writing codes.

    Args:
        said: As it is said of a code set: ``without dots``.
        texts: The texts of a code; where there are several, each is as likely.
        damage: Whether it is damage, which only codes of ICD-9-CM suffer that are numbers.
        headings: Whether headings are as likely as codes.
    """

    said: str
    texts: tuple[pl.Expr, ...]
    damage: bool = False
    headings: bool = False

    @property
    def doubts(self) -> int:
        """How often it must be much likelier than others, which say more or are simpler."""
        return self.damage + 2 * self.headings + (len(self.texts) > 1)


def _short(said: str, short: pl.Expr, longer: pl.Expr) -> Writer:
    return Writer(said, (pl.when(_SHORT).then(short).otherwise(longer),))


def _damage(
    said: str, number: pl.Expr, lettered: pl.Expr = _CODE, *, headings: bool = False
) -> Writer:
    text = pl.when(_NUMBERS).then(number).otherwise(lettered)
    return Writer(said, (text,), damage=True, headings=headings)


AS_WRITTEN = (Writer("with dots", (_CODE,)), Writer("without dots", (_UNDOTTED,)))
"""The ways in which codes are read that stand alone."""
_UNZEROED = pl.when(_SHORT).then(_number(_HEAD)).otherwise(_number(_HEAD) + "." + _TAIL)
_AFTER = pl.when(_REST == "").then(_FIRST).otherwise(_FIRST + "." + _REST)

WRITERS = (
    *AS_WRITTEN,
    _short("with a dot after every three characters", _CODE + ".", _CODE),
    Writer("with a decimal comma", (_CODE.str.replace(".", ",", literal=True),)),
    _short("with X for no fourth character", _CODE + "X", _UNDOTTED),
    _short("with .X for no fourth character", _CODE + ".X", _CODE),
    Writer("some with dots, some without", (_CODE, _UNDOTTED)),
    Writer("as categories or codes", (_CODE,), headings=True),
    _damage("as whole numbers", _WHOLE, _UNDOTTED),
    _damage("as whole numbers, read as decimals", _WHOLE + ".0", _UNDOTTED),
    _damage("as whole numbers, dotted after", _AFTER),
    _damage("as whole numbers, dotted after, read as decimals", _joined(_FIRST, _REST, ".0")),
    _damage("as decimals", _joined(_number(_HEAD), _TAIL, ".0")),
    _damage("as numbers", _joined(_number(_HEAD), _TAIL, "")),
    _damage("without the zeros behind", _joined(_HEAD, _TAIL, "")),
    _damage("as categories or codes without the zeros in front", _UNZEROED, headings=True),
)


def written(texts: pl.DataFrame, codes: pl.DataFrame) -> pl.DataFrame:
    """What each text may be: ``text, writer, share, table, code, heading``.

    A category of three digits stays that category, and is no other code that lost its ends.
    ``writer`` is a place in `WRITERS`, ``share`` the share of the code's texts that are this.
    """
    pairs = texts.with_columns(core=core(pl.col("text"))).join(codes, on="core").drop("core")
    categories = codes.filter(_TABLE == "diagnoses", "heading", _SHORT)["code"]
    stays = (_TABLE == "diagnoses") & pl.col("text").is_in(categories.implode())
    numbers = pairs.filter(_TABLE.is_in(TABLES), ~stays | (pl.col("text") == _CODE))
    found = [
        (numbers if writer.damage else pairs)
        .filter(pl.col("text") == text)
        .with_columns(writer=pl.lit(place, pl.UInt32), share=pl.lit(1 / len(writer.texts)))
        for place, writer in enumerate(WRITERS)
        for text in writer.texts
    ]
    same = pl.concat(found).group_by("text", "writer", "table", "code", "heading")
    return same.agg(pl.col("share").sum())


@dataclass(frozen=True)
class Affix:
    """A mark around codes.

    Args:
        said: As it is said of codes: ``behind a prefix``.
        cost: Factor of the likelihood of a label with it.
        may: Whether labels may have it; None: those that are no codes as they stand.
    """

    said: str
    pattern: str
    cost: float = 1 / 8
    may: Callable[[pl.Series], bool] | None = None

    def without(self, texts: pl.Series, sound: pl.Series) -> pl.DataFrame:
        """``text`` without it and ``cost`` of each text; of texts that are ``sound`` as they stand
        only where what all texts look like tells that they may have it."""
        text = pl.col("text")
        code = text.str.extract(self.pattern)
        if self.pattern == "O":
            code = pl.when(text.str.contains("O")).then(text.str.replace_all("O", "0"))
        frame = pl.DataFrame({"text": texts}).with_columns(code=code)
        free = self.may(texts) if self.may else ~texts.is_in(sound.implode())
        code = pl.when(pl.lit(free)).then("code")
        cost = pl.when(code.is_null()).then(1.0).otherwise(self.cost)
        return frame.select(pl.coalesce(code, "text").alias("text"), cost=cost)


def _are_names(texts: pl.Series) -> bool:
    """Whether texts may be names of R, most of which it had to make: none begins with a digit."""
    made = texts.str.contains(r"^X[0-9]{3}|^X[0-9]{2}\.[0-9]{2}")
    return 2 * int(made.sum()) > len(texts) and not texts.str.contains("^[0-9]").any()


def named(texts: pl.Series) -> pl.Series:
    """Texts without the X that R put before them, if they are its names."""
    return texts.str.replace("^X([0-9])", "$1") if _are_names(texts) else texts


def _begin_alike(texts: pl.Series) -> bool:
    """Whether all begin with one character, which is no letter of the codes of a set."""
    others = texts.filter(~texts.str.contains("^[EV]"))
    return others.str.head(1).n_unique() == 1 and not others.str.contains(_DOTTED_TENTH).any()


_DOTTED_TENTH = r"^[A-Z][0-9][0-9A-Z]\."
AFFIXES = (
    Affix("behind a prefix", r"^.*[:/]\s*([^:/]+)$"),
    Affix("behind the X of names that R made", r"^X([0-9].*)$", may=_are_names),
    Affix("behind another character", r"^[^0-9EV](.+)$", 1 / 36, may=_begin_alike),
    Affix("with a sign behind", r"^(.+?)\s?[!*+†\-]$"),
    Affix("in quotes", r"""^['"`’]+(.+?)['"`’]*$"""),
    Affix("in the first word of the cell", r"^(\S+)\s.*\w\w.*$", 1 / 36),
    Affix("with the letter O for 0", r"O", 1 / 36),
)
