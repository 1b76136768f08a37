"""What the names of columns say of what they hold: ids, persons, labels, predictions."""

from __future__ import annotations

import re

from audit.base.files import called
from audit.data.sources.source import ID_NAMES
from audit.data.unnamed_columns import DAY, plain_name

PREDICTED = re.compile(r"(^|_)pred(?!.*string)|^(score|prob|top[_-]?\d)")
"""Names of predictions and their scores."""
_STAY = re.compile(
    r"stay|visit|admission|encounter|episod|hadm|claim|discharge|aufenthalt|sejour|estancia|acct|"
    r"ingreso|internac|ricovero|degenza|opname|recnum|kontakt|vardtillf|"
    r"(?:^|[^a-z])(?:enc|csn|clm|case|spell|account)(?:$|[^a-z]|id$)|^fall"
)
_PERSON = re.compile(
    r"(?:^|[^a-z])(?:(?:patient(?:en|e)?|pa[cz]iente|subject|person[ae]?|pessoa|member|participant|"
    r"customer|user|usuario|assistito|versicherten|pat)s?|mrn|pid|ipp|p_?nr|lop_?nr|cpr|"
    r"bene(?:ficiary)?|desynpuf)"
    r"(?:$|[^a-z]|id$|no$|nr$|key$|nummer$)"
)
_ID = re.compile(
    r"(?:^|[^a-z])(?:id|key|uuid|guid|pmid|doi|accession)(?:$|[^a-z])|(?:id|key|nr|nbr|nummer)$|#$|"
    r"[^a-z](?:no|num|number)$|^(?:no|num)_|\.reference$|^n(?:[o°º.]|r[o.]?|um(?:ero)?)?\W+[a-z]|^numero|"
    r"^(?:record(?!ed|er|ist)|instance|image|img|file|doc|sample|url|path)"
)
UNIT = re.compile(
    r"(?:^|[^a-z])(?:sample|specimen|image|img|scan|slide|biops[yi]|tumou?r|stud[yi]|exam|note|doc|"
    r"document|recording|clip|video)"
)
"""Of what a person may have several of, each with its own labels."""
_ALONE = re.compile(r"[a-z]{3,12}")
ATTRIBUTE = re.compile(
    r"type|source|date|time|status|class|kind|location|reason|title|seq|line|rank|prio|"
    r"order(?!\W*(?:id|no|nr|num))|"
    r"(?:^|[^a-z])(?:dt|amt|pmt|cd|code|ind|days?|age|sex[eo]?|text|sesso|geslacht|geschlecht|alter|"
    r"leeftijd|edad|idade|eta|datum|fecha|data|duree|cout)(?:$|[^a-z])|^(?:n|number)_|"
    r"^(?:num|no)_(?:of_|.*(?<!s)s$)"
)
"""Of what is said of an instance or a row."""
SHARED = re.compile(
    r"group|household|parent|batch|provider|physician|doctor|hospital|facilit|insur|payer|payor|depart|vendor|"
    r"observer|annotator|collector|recorder|recordist|ed_?by(?:$|[^a-z])|"
    r"seller|merchant|region|county|country|zip|postal|site|center|centre"
)
"""What instances share that are no parts of it."""
PLACE = re.compile(
    r"hospital(?!i[sz]|_exp)|(?:^|[^a-z])(?:hosp|cent(?:er|re)|ik)(?:$|[^a-z]|id$)|facilit|"
    r"clinic(?!al|ian)|klinik|krankenhaus|country|cntry|institution"
)
"""Of where instances are, each in one of them."""
MAIN = re.compile(
    r"princ|prncpal|primary|primaire|(?:^|[^a-z])(?:main|pdx)|haupt|hoofd|^(?:hd|dp|hdia)$|主要|주상병|主病"
)
"""Of the one main diagnosis, or label."""
ADMITTING = re.compile(r"adm(?:i|t)|einweis|aufnahmediag|presenting|provisional|working")
"""Of what was thought when a stay began."""
_FURTHER = re.compile(
    r"second|secun|associ|(?:^|[^a-z])other|further|addition|neben|neven|autre|otr[ao]|outr[ao]|"
    r"altr[ei]|comorb|^(?:nd|das|ds)$|^bdia|其他|次要|부상병|副病"
)
LABEL = re.compile(
    r"label|codi?g?[eo]|diag|dx|icd|cie|cid|cim|class|term|concept|tag|categor|诊断|診断|診斷|진단|상병|病名"
)
"""Of labels."""
RIVAL = re.compile(
    r"old|new|prev|before|after|^pre|post|orig|raw|clean|mapp|conver|auto|coder|review|refer|source|"
    r"target|first|last|family|history|death"
)
"""Of what says otherwise what another column says too, or something else."""
MEASURED = re.compile(
    r"(?:^|[^a-z])(?:date|time|timestamp|duration|ms|secs?|seconds|min|mins|minutes?|hours?|hrs?|"
    r"days?|weeks?|months?|years?|yrs?|age|sex|gender|height|weight|length|width|size|score|rating|"
    r"stars|amount|amt|price|cost|count|qty|quantity|total|lat|lon|lng|latitude|longitude|percent|"
    r"pct|rate|ratio|temperature|temp|flag|yn|dauer|uhrzeit|datum|alter|geschlecht|fecha|hora|edad|"
    r"sexo|duree|heure|comments?|remarks?|notes?|bemerkung)(?:$|[^a-z])|^(?:is|has|was|num|n)_"
)
"""Of flags, days, times, sizes and remarks."""
MOMENT = re.compile(
    rf"{DAY}|"
    r"\d{1,2}[-. /]+[a-z]{3,9}[-., /]+\d{2,4}\b.*|[a-z]{3,9}\.? \d{1,2},? \d{4}\b.*|"
    r"\d{1,2}/\d{1,2}/\d{2}(?: .*)?|\d+:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[ap]\.?m\.?)?|"
    r"-?p(?:[\d.]+[ymwd])*(?:t(?:[\d.]+[hms])+)?(?<!p)|"
    r"\d+(?:[.,]\d+)? ?(?:ms|secs?|min|hrs?|hours?|days?)",
    re.IGNORECASE,
)
"""A day or a time as it is written, or a duration."""
CODED = re.compile(
    r"^(?!.*(?:ccs|drg|mdc|gr(?:ou)?p|ver))(?:.*[^a-z])?(?:(?:dx|icd|cie|cim|cid)|.*diag)"
)
"""Of codes of diagnoses."""
PROCEDURE = re.compile(
    r"^(?!.*(?:dx|diag|dgns)).*(?:pro[cz]ed|prcdr|proc(?!ess)|opertn|operat|surg|"
    r"(?:^|[^a-z])(?:pr|px|sg|ops)(?:$|[^a-z]))"
)
"""Of codes of procedures."""
USUAL, OF_STAY, FINER, NAMED, OF_PERSON, OTHER = range(6)
"""Kinds of columns, the likeliest to hold ids first; a finer one lies within those of persons."""


def kind_of(name: str) -> int:
    """What a column is by its name: of the least number the likeliest to hold ids."""
    low = plain_name(name)
    if called([name], ID_NAMES):
        return USUAL
    if ATTRIBUTE.search(low) or not (_ID.search(low) or _ALONE.fullmatch(low)):
        return OTHER
    if _STAY.search(low):
        return OF_STAY
    if SHARED.search(low):
        return OTHER
    return OF_PERSON if _PERSON.search(low) else NAMED if _ID.search(low) else OTHER


def says(name: str, what: re.Pattern[str]) -> bool:
    """Whether the name of a column, in lower case and without accents, says something."""
    return what.search(plain_name(name)) is not None


def is_further(name: str) -> bool:
    """Whether a column is named as those of what comes beside the main one."""
    return says(name, _FURTHER) and not says(name, MAIN)
