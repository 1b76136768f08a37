"""What columns are by their names: ids of stays, of persons, of anything, attributes, labels."""

from __future__ import annotations

import re
import unicodedata

from audit.base.files import called
from audit.data.sources.source import ID_NAMES

_CAMEL = re.compile(r"(?<=[a-z])(?=I[dD]$|Key$|N(?:r|o)$)")
_PREDICTED = re.compile(r"(^|_)pred(?!.*string)|^(score|prob)")
_STAY = re.compile(
    r"stay|visit|admission|encounter|episod|hadm|claim|discharge|aufenthalt|sejour|estancia|acct|"
    r"ingreso|internac|ricovero|degenza|opname|"
    r"(?:^|[^a-z])(?:enc|csn|clm|case|spell|account)(?:$|[^a-z]|id$)|^fall"
)
_PERSON = re.compile(
    r"(?:^|[^a-z])(?:(?:patient(?:en|e)?|pa[cz]iente|subject|person[ae]?|pessoa|member|participant|"
    r"customer|user|usuario|assistito|versicherten|pat)s?|mrn|pid|ipp|bene(?:ficiary)?|desynpuf)"
    r"(?:$|[^a-z]|id$|no$|nr$|key$|nummer$)"
)
_ID = re.compile(
    r"(?:^|[^a-z])(?:id|key|uuid|guid|pmid|doi|accession)(?:$|[^a-z])|(?:id|key|nr|nbr|nummer)$|#$|"
    r"[^a-z](?:no|num|number)$|\.reference$|^n(?:[o°º.]|r[o.]?|um(?:ero)?)?\W+[a-z]|^numero|"
    r"^(?:record|instance|image|img|file|doc|sample|url|path)"
)
_UNIT = re.compile(
    r"(?:^|[^a-z])(?:sample|specimen|image|img|scan|slide|biops[yi]|tumou?r|stud[yi]|exam|note|doc|"
    r"document|recording|clip|video)"
)
_ALONE = re.compile(r"[a-z]{3,12}")
_ATTRIBUTE = re.compile(
    r"type|source|date|time|status|class|kind|location|reason|title|seq|line|rank|prio|order|"
    r"(?:^|[^a-z])(?:dt|amt|pmt|cd|code|ind|days?|age|sex[eo]?|text|sesso|geslacht|geschlecht|alter|"
    r"leeftijd|edad|idade|eta|datum|fecha|data|duree|cout)(?:$|[^a-z])|^(?:n|num|number|no)_"
)
_SHARED = re.compile(
    r"group|parent|batch|provider|physician|doctor|hospital|facilit|insur|payer|payor|depart|vendor|"
    r"seller|merchant|region|county|country|zip|postal|site|center|centre"
)
"""What instances share that are no parts of it."""
_MAIN = re.compile(
    r"princ|prncpal|primary|primaire|(?:^|[^a-z])(?:main|pdx)|haupt|hoofd|^(?:hd|dp)$|主要|주상병|主病"
)
_ADMITTING = re.compile(r"adm(?:i|t)|einweis|aufnahmediag|presenting|provisional|working")
_FURTHER = re.compile(
    r"second|secun|associ|(?:^|[^a-z])other|further|addition|neben|neven|autre|otr[ao]|outr[ao]|"
    r"altr[ei]|comorb|^(?:nd|das|ds)$|其他|次要|부상병|副病"
)
_LABEL = re.compile(
    r"label|codi?g?[eo]|diag|dx|icd|cie|cid|cim|class|term|concept|tag|categor|诊断|診断|診斷|진단|상병|病名"
)
_RIVAL = re.compile(
    r"old|new|prev|before|after|^pre|post|orig|raw|clean|mapp|conver|auto|coder|review|refer|source|"
    r"target|first|last|family|history|death"
)
"""What columns are called that say the same thing in two ways, or something else."""
_CODED = re.compile(
    r"(?!.*(?:ccs|drg|mdc|gr(?:ou)?p|ver))(?:.*[^a-z])?(?:(?:dx|icd|cie|cim|cid)|.*diag)"
)
_SYSTEM = re.compile(
    r"(.*_)?(system|vocabulary|terminology|nomenclature|classification|scheme|standard|"
    r"code_?(set|type|system)|(dx|diagnosis|icd)_?type)(_?(id|cd|name|type|code))?"
)
USUAL, OF_STAY, FINER, NAMED, OF_PERSON, OTHER = range(6)
"""Kinds of columns, the likeliest to hold ids first; a finer one lies within those of persons."""


def kind_of(name: str) -> int:
    """What a column is by its name: of the least number the likeliest to hold ids."""
    low = _plain(name)
    if called([name], ID_NAMES):
        return USUAL
    if _ATTRIBUTE.search(low) or not (_ID.search(low) or _ALONE.fullmatch(low)):
        return OTHER
    if _STAY.search(low):
        return OF_STAY
    if _SHARED.search(low):
        return OTHER
    return OF_PERSON if _PERSON.search(low) else NAMED if _ID.search(low) else OTHER


def is_unit(name: str) -> bool:
    """Whether a column is named as what a person may have several of, each with its own labels."""
    return bool(_UNIT.search(_plain(name)))


def is_attribute(name: str) -> bool:
    """Whether a column is named as what is said of an instance or a row."""
    return bool(_ATTRIBUTE.search(_plain(name)))


def is_predicted(name: str) -> bool:
    """Whether a column is named as predictions and their scores are."""
    return bool(_PREDICTED.search(_plain(name)))


def names_labels(name: str) -> bool:
    """Whether a column is named as labels often are."""
    return bool(_LABEL.search(_plain(name)))


def names_diagnoses(name: str) -> bool:
    """Whether a column is named as codes of diagnoses are."""
    return _CODED.match(_plain(name)) is not None


def may_be_rival(name: str) -> bool:
    """Whether a column is named as one that says otherwise what another one says too."""
    return bool(_RIVAL.search(_plain(name)))


def is_admitting(name: str) -> bool:
    """Whether a column is named as that of what was thought when a stay began."""
    return bool(_ADMITTING.search(_plain(name)))


def is_main(name: str) -> bool:
    """Whether a column is named as that of the one main diagnosis, or label."""
    return bool(_MAIN.search(_plain(name)))


def is_further(name: str) -> bool:
    """Whether a column is named as those of what comes beside the main one."""
    return bool(_FURTHER.search(_plain(name))) and not is_main(name)


def names_system(name: str) -> bool:
    """Whether a column is named as that of the code system, or version, of a row's code."""
    return _SYSTEM.fullmatch(re.sub(r"\W+", "_", _plain(name))) is not None


def _plain(name: str) -> str:
    """A name in lower case, without accents."""
    apart = unicodedata.normalize("NFD", _CAMEL.sub("_", name.strip()).lower())
    return "".join(sign for sign in apart if not unicodedata.combining(sign))
