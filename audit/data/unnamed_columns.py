"""Columns nobody named: possible strata and groups, and those that say whether a row counts."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from shlex import quote

import polars as pl

from audit.base.errors import AuditError, first_cases
from audit.base.files import named_once
from audit.base.readings import Reading, asked
from audit.data.known_nodes import LEAST_SHARE
from audit.data.label_format import INSTANCES, Chosen, Columns
from audit.data.records import STRATUM, is_coarse, pick, tidy
from audit.data.row_rules import EVERY, RowRules, version_of
from audit.data.sources import Source

LOOKED_AT = 1_000
"""Number of rows whose values are counted first."""
MOST_VALUES = 20
"""Largest number of values of a column that is a possible stratum."""
LEAST_INSTANCES = 2
"""Least average number of instances per value; a column with fewer is taken for an id."""
LEAST_GROUPS = 30
"""Least number of values of a column that may be one of groups, such as a person."""
LEAST_REPEATED = 20
"""Least number of them that several instances share."""
REPEATING = 0.02
"""Least share of the instances that are not the first of their value."""
_YEAR, _PART = r"\d{4}", r"\d{1,2}"
_DIGITS = (
    r"(?:19|20)\d{2}(?:0\d|1[0-2])(?:[0-2]\d|3[01])|"
    r"(?:(?:[0-2]\d|3[01])(?:0\d|1[0-2])|(?:0\d|1[0-2])(?:[0-2]\d|3[01]))(?:19|20)\d{2}"
)
DAY = rf"^(?:{_YEAR}[-/.]{_PART}[-/.]{_PART}|{_PART}[-/.]{_PART}[-/.]{_YEAR}|{_DIGITS})(?:[ T].*)?$"
"""A day as it is written, with or without a time."""

_CAMEL = re.compile(r"(?<=[a-z])(?=I[dD]$|Key$|N(?:r|o)$)")
_SYSTEM = re.compile(
    r"(.*_)?(system|vocabulary|terminology|nomenclature|classification|scheme|standard|"
    r"code_?(set|type|system)|(dx|diagnosis|icd)_?type)(_?(id|cd|name|type|code))?|"
    r".*(version|revision|edition|release)(_?(id|no|year))?"
)


def plain_name(name: str) -> str:
    """A name in lower case, without accents."""
    apart = unicodedata.normalize("NFD", _CAMEL.sub("_", name.strip()).lower())
    return "".join(sign for sign in apart if not unicodedata.combining(sign))


def names_system(name: str) -> bool:
    """Whether a column is named as that of the code system, or version, of a row's code."""
    return _SYSTEM.fullmatch(re.sub(r"\W+", "_", plain_name(name))) is not None


def may_be_groups(values: pl.Series) -> bool:
    """Whether instances with these values, one each or null, may come in groups by them."""
    sizes = values.drop_nulls().value_counts(name="size")["size"]
    repeated, further = int((sizes > 1).sum()), int(sizes.sum()) - len(sizes)
    return (
        len(sizes) >= LEAST_GROUPS
        and repeated >= LEAST_REPEATED
        and further >= REPEATING * len(values)
    )


def candidates(frame: pl.DataFrame, taken: Collection[str], most_groups: float = 0) -> list[str]:
    """Columns without a role that have 2 to `MOST_VALUES` different plain values, or `LEAST_GROUPS`
    to ``most_groups``."""
    not_tried = {name.strip().lower() for name in (*taken, *INSTANCES)}
    once = named_once(frame.schema)
    return [
        name
        for name, dtype in frame.schema.items()
        if name in once
        and name.strip().lower() not in not_tried
        and not (dtype.is_nested() or dtype.is_temporal() or dtype in (pl.Binary, pl.Object))
        and (
            1 < (values := _different(frame[name], max(MOST_VALUES, most_groups))) <= MOST_VALUES
            or LEAST_GROUPS <= values <= most_groups
        )
    ]


def _different(values: pl.Series, most: float) -> int:
    """Number of different values; of the first rows alone, where these have more than the most."""
    first = values[:LOOKED_AT].drop_nulls().n_unique()
    return first if first > most else values.drop_nulls().n_unique()


def unnamed_columns(
    frame: pl.DataFrame,
    instance: str,
    taken: Collection[str],
    source: Source,
    *,
    groups: bool = False,
) -> pl.DataFrame:
    """A frame of ``instance`` and each possible stratum of a table, one row per instance.

    In a possible stratum each instance has at most one value, at least `LEAST_INSTANCES` instances
    share a value on average, and the values are not days. With ``groups``, columns that
    `may_be_groups` are there too. Those ``taken`` have a role.
    """
    most = (1 - REPEATING) * frame[instance].n_unique() if groups else 0
    named = {f"{STRATUM}{name}": name for name in candidates(frame, (instance, *taken), most)}
    if not named:
        return pl.DataFrame(schema={"instance": pl.String})
    picked = pick(frame, source, instance=instance, **named).drop_nulls("instance")
    by_instance = picked.group_by("instance", maintain_order=True)
    first, last = by_instance.min(), by_instance.max()
    parting = [role for role in named if _parts(first[role], last[role])]
    return first.select("instance", *parting).rename({role: named[role] for role in parting})


def _parts(first: pl.Series, last: pl.Series) -> bool:
    """Whether a column parts the instances, from the first and the last value of each."""
    there = first.drop_nulls()
    values = there.unique()
    shared = 1 < len(values) <= min(len(there) / LEAST_INSTANCES, MOST_VALUES)
    return (
        there.equals(last.drop_nulls())
        and (shared or may_be_groups(first))
        and not values.str.contains(DAY).all()
    )


def together(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Join frames of `unnamed_columns`; the first of equal names wins, missing values are null."""
    nothing = pl.DataFrame(schema={"instance": pl.String})
    first, *others = [frame for frame in frames if frame.width > 1] or [nothing]
    for frame in others:
        new = list(_new(first.columns, frame.columns))
        first = first.join(frame.select("instance", *new), on="instance", how="left")
    return first


def _new(there: Collection[str], names: Iterable[str]) -> Iterator[str]:
    taken = {name.strip().lower() for name in there}
    return (name for name in names if name.strip().lower() not in taken)


def with_unread(
    names: Iterable[str], used: Iterable[str | None], columns: Columns, told: Iterable[Reading]
) -> tuple[Reading, ...]:
    """What is told, and then of the columns that nobody names, and nothing that is told does."""
    told = tuple(told)
    known = {
        name.strip().lower() for name in (*used, *columns.beside.values(), "") if name is not None
    }
    said = " ".join(one.decision for one in told)
    left = [n for n in names if n.strip().lower() not in known and repr(n) not in said]
    if not left:
        return told
    decision = f"columns without a role are left unread: {first_cases(left)}"
    option = f"--strata {quote(left[0])}"
    unread = Reading(decision, "nothing says what they are", len(left), option, "columns")
    return (*told, unread)


_YES = re.compile(
    r"1(\.0+)?|true|t|yes|y|present|positive|pos|confirmed|accept(ed)?|approved?|submitted|"
    r"validated?|verified|completed?|done|finished|final|gold|keep|kept"
)
_NO = re.compile(r"0(\.0+)?|false|f|no|n|absent|negative|neg")
_NEVER = re.compile(
    r"(.*\|)?not(\|.*|[ _](?!av|app|rec|known|spec).*)?|0/\d+|absent|negated|"
    r"refuted|excluded|ruled.out|entered.in.error|reject(ed)?|ignored?|skip(ped)?|discard(ed)?|"
    r"drafts?|withdrawn|retracted|void(ed)?|cancel(l?ed)?|invalid|deleted|unsubmitted"
)
"""Values that say by themselves that a label is not carried: NOT of gene annotations, 0 of 7."""
_CERTAINTY, _EXCLUDED = {"a", "g", "v", "z"}, "a"
"""Marks of German outpatient diagnoses: excluded, certain, suspected, past."""
_SERIES = re.compile(r"^(not[| _]|0/).+", re.IGNORECASE)
_SAYS_IT = re.compile(
    r"confiden|certain|sicherheit|qualifier|negat|verif|present(?!.*adm)|absent|frequency|refut|"
    r"cancel|skipped|deleted|voided|invalid|withdrawn|retract|excluded"
)
_INVERSE = re.compile(
    r"negat|absent|refut|cancel|skipped|deleted|voided|invalid|withdrawn|retract|excluded"
)
_VERSION = re.compile(r"(icd|dx|diag|diagnosis|code)?_?(v|ver|version)")
_LOOKED_AT, _AT_ONCE = 1_000, 1_000_000
"""Numbers of first rows that columns are chosen by, and of rows of these that are read at once."""


def with_rules(source: Source, chosen: Chosen, columns: Columns) -> Chosen:
    """The columns with rules of rows: those of the format, else those stated, a version that was
    found, and what other columns say that the user does not name."""
    rules, told = chosen.rules if chosen.rules != EVERY else columns.rules, list(chosen.readings)
    beside = [*chosen.labels, chosen.id, *columns.beside.values(), *rules.roles.values()]
    known = {name.strip().lower() for name in beside if name}
    once = named_once(source.schema)
    names = [
        name
        for name, dtype in source.schema.items()
        if name in once and not (dtype.is_nested() or name.strip().lower() in known)
    ]
    found = {}
    with suppress(AuditError):  # what cannot be read is told by the reader of the format
        found = {name: _counted(source, chosen.id, name) for name in _chosen(source, names)}
    for name, (rows, every, within) in found.items():
        unsaid = not rules.version_column
        says = _VERSION.fullmatch(_plain(name)) or names_system(name)
        if unsaid and says and {*map(version_of, rows)} == {"9", "10"}:
            rules = replace(rules, version_column=name)
            said = f"{name!r} is the version of each code", "it holds 9 and 10"
            told.append(Reading(*said, every, "--version-column COLUMN"))
        elif unsaid and not rules.where and names_system(name) and 1 < len(rows) <= MOST_VALUES:
            where, some = _system(source, chosen, name, rows)
            rules, told = replace(rules, where=where), told + some
        else:
            told += _flagged(name, rows, every, within, source)
    if chosen.id in source.schema:
        told += few_ids(chosen.id, source.first_values(chosen.id), _ids_of(source, chosen.id))
    return replace(chosen, rules=rules, readings=tuple(told))


def flags(source: Source, instance: str, names: Sequence[str]) -> Iterator[Reading]:
    """What is told of columns beside ids that say which labels are not carried."""
    for name in _chosen(source, names):
        yield from _flagged(name, *_counted(source, instance, name), source)


def _flagged(
    name: str, rows: Mapping[str, int], every: int, within: bool, source: Source
) -> list[Reading]:
    absent = _absent(name, rows)
    touched = sum(rows[value] for value in absent)
    return _told(name, rows, absent, (touched, every), within, source) if absent else []


def _system(
    source: Source, chosen: Chosen, name: str, rows: Mapping[str, int]
) -> tuple[tuple[str, ...], list[Reading]]:
    """Conditions on a column of code systems of whose values some alone have nodes for codes."""
    frame = next(source.frames([name, *chosen.labels], _LOOKED_AT)).cast(pl.String)
    parts = {value: frame.filter(pl.col(name).str.strip_chars() == value) for value in rows}
    share = source.nodes.share if source.nodes else lambda _: None
    shares = {
        value: share(cell for one in chosen.labels for cell in own[one].drop_nulls()) or 0.0
        for value, own in parts.items()
    }
    best = max(shares.values())
    kept = [value for value in shares if 2 * shares[value] > best]
    others = [value for value in shares if value not in kept]
    if best < LEAST_SHARE or not others or any(4 * shares[one] > best for one in others):
        return (), []
    said = f"codes whose {name!r} is {first_cases(kept)} are read, no others"
    touched, option = sum(rows[one] for one in others), f"--where {quote(name + '=*')}"
    told = Reading(said, "hardly any other codes are nodes", touched, option)
    return tuple(f"{name}={value}" for value in kept), [told]


_TOTAL = re.compile(r"(grand|sub)?\W*(totals?|sum|summe|gesamt(summe)?|insgesamt|somme|suma)\W*")


def refuse_totals(
    id_: str | None,
    last: object,
    labels: Callable[[], Iterable[object]],
    rules: RowRules,
    source: Source,
) -> None:
    """Ask whether the last row is a line of totals: its id says so, and it has no label."""
    value = str(last or "").strip()
    named = any(one.partition("=")[0].strip(" !") == id_ for one in rules.where)
    if id_ is None or named or not _TOTAL.fullmatch(value.casefold()):
        return
    if not any(str(one or "").strip() for one in labels()):
        totals = Reading(f"{value!r} is a line of totals", "", 1, "remove the last line")
        keep = f"--id {quote(id_)} --where {quote(f'{id_}=*')}"
        kept = Reading("it is an instance without labels", "", 1, keep)
        raise asked("it must be stated what the last row is", [totals, kept], source)


def few_ids(
    instance: str, first: Sequence[str | None], every: Iterable[pl.Series]
) -> tuple[Reading, ...]:
    """What is told of a column of ids that has hardly any values; the first cells tell of most."""
    if not is_coarse(len({*first}), len(first)):
        return ()
    values, rows = set[str](), 0
    for some in every:
        values.update(some.drop_nulls())
        rows += len(some)
    if not is_coarse(len(values), rows):
        return ()
    said = f"{instance!r} is the id, so that all rows are {len(values)} instances"
    return (Reading(said, "its name or an option says so", rows, "--id COLUMN"),)


def _ids_of(source: Source, instance: str) -> Iterator[pl.Series]:
    frames = source.frames([instance], _AT_ONCE)
    return (pick(frame, source, instance=instance)["instance"] for frame in frames)


def _plain(name: str) -> str:
    return re.sub(r"\W+", "_", name.strip().lower())


def _chosen(source: Source, names: Sequence[str]) -> list[str]:
    """Columns whose name says that they matter, or whose first values are yes and no."""
    first = next(source.frames([*names], _LOOKED_AT), pl.DataFrame()) if names else pl.DataFrame()
    values = {one.name: one.unique() for one in tidy(first, source)}
    telling = [name for name in values if _is_telling(name)]
    others = [name for name in values if name not in telling]
    return [*telling, *(name for name in others if _absent(name, [*values[name].drop_nulls()]))]


def _is_telling(name: str) -> bool:
    plain = _plain(name)
    return bool(_SAYS_IT.search(plain) or _VERSION.fullmatch(plain)) or names_system(name)


def _counted(source: Source, instance: str | None, name: str) -> tuple[dict[str, int], int, bool]:
    """Number of rows by value, and of all, and whether some instance has several values."""
    rows, every, within = Counter[str](), 0, False
    for frame in source.frames([*filter(None, [instance]), name], _AT_ONCE):
        both = pick(frame, source, instance=instance or name, value=name).drop_nulls()
        every += len(frame)
        rows.update(dict(both["value"].value_counts().iter_rows()))
        of_each = both.group_by("instance").agg(pl.col("value").n_unique())
        within = within or bool((of_each["value"] > 1).any())
    return dict(rows), every, within


def _absent(name: str, values: Collection[str]) -> list[str]:
    """The values that say that a label is not carried, if those of a column say such a thing."""
    yes, no = (_NO, _YES) if _INVERSE.search(_plain(name)) else (_YES, _NO)
    marks = {value.casefold() for value in values}
    said = "sicherheit" in _plain(name) and marks == {_EXCLUDED}
    if said or {_EXCLUDED} < marks <= _CERTAINTY:
        return sorted(value for value in values if value.casefold() == _EXCLUDED)
    never = {value for value in values if _NEVER.fullmatch(value.casefold())}
    absent = {value for value in values if no.fullmatch(value.casefold())}
    others = [value for value in values if not yes.fullmatch(value.casefold())]
    return sorted(never | absent if never | absent >= {*others} else never)


def _told(
    name: str,
    values: Iterable[str],
    absent: Sequence[str],
    rows: tuple[int, int],
    within: bool,
    source: Source,
) -> list[Reading]:
    """What is told of a column with values for labels that are not carried, in some of all rows.

    It is asked where the name says it too, or each value says whether a label is carried; else told
    where some say it, or rows ``within`` an instance differ.
    """
    patterns = dict.fromkeys(_SERIES.sub(r"\1*", value) for value in absent)
    leave = " ".join(f"--where {quote(f'{name}!={pattern}')}" for pattern in patterns)
    never = {value for value in absent if _NEVER.fullmatch(value.casefold())}
    verdicts = never and all(value in never or _YES.fullmatch(value.casefold()) for value in values)
    values = first_cases(absent)
    if verdicts or _SAYS_IT.search(_plain(name)):
        left_out = Reading(f"labels with {values} in {name!r} do not count", "", rows[0], leave)
        kept = Reading("all labels count", "", rows[1], f"--where {quote(name + '=*')}")
        raise asked(f"it must be stated what {name!r} says of labels", [left_out, kept], source)
    decision = f"labels count whatever {name!r} says"
    evidence = f"only its name could say what {values} means"
    return [Reading(decision, evidence, rows[0], leave)] * (within or bool(never))
