"""Rules of the built-in ICD-9-CM policy from official guidelines and the Medicare Code Editor.

The rules on companions are from the ICD-9-CM Official Guidelines for Coding and Reporting, edition
of 2011, and from notes of the tabular list; each names its section. Their days are those on which
the codes, or the requirements in their titles, came into force. The rules on age and sex are from
the Definitions of Medicare Code Edits, version 31 of October 2013, for ranges of codes whose titles
say the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from audit.policy.rules import Companion, Exclusive, PersonRule, Severity

_GUIDELINES = "ICD-9-CM Official Guidelines 2011"
_SEPSIS, _SEPTIC_SHOCK = date(2002, 10, 1), date(2003, 10, 1)
_ULCER_STAGES = date(2008, 10, 1)
_HEART_FAILURE, _KIDNEY_STAGES, _KIDNEY_TITLES = (
    date(2002, 10, 1),
    date(2005, 10, 1),
    date(2006, 10, 1),
)
"""Types of heart failure (428.0 to 428.9); stages of kidney disease (585.1 to 585.9); titles of 403
and 404 that always say kidney disease."""


def _rule(
    asking: tuple[str, ...],
    needs: tuple[str, ...],
    source: str,
    **more: str | date | tuple[str, ...],
) -> Companion:
    return Companion.model_validate({"if": asking, "needs": needs, "source": source, **more})


def _diabetes(digit: str, needs: tuple[str, ...], manifestations: str) -> Companion:
    """Diabetes with a manifestation, which a code of its own names."""
    return _rule(
        (f"250.{digit}", f"249.{digit}"),
        needs,
        f"{_GUIDELINES}, I.C.3.a, diabetes mellitus, and the note at 250.{digit}: a further code "
        f"identifies the manifestation, {manifestations}.",
    )


def _manifestation(node: str, digit: str, what: str) -> Companion:
    return _rule(
        (node,),
        (f"250.{digit}", f"249.{digit}"),
        f"{_GUIDELINES}, I.A.6, etiology and manifestation, and the note at {node}: {what} is "
        "coded after the diabetes that causes it.",
        position="before",
    )


_FOURTH_DIGITS = """
    640:089/ 641:012389/ 642:012345679/012345679 643:01289/ 644:2/ 645:12/ 646:0123456789/124568
    647:012345689/012345689 648:0123456789/0123456789 649:012345678/0123468 651:0123456789/
    652:0123456789/ 653:0123456789/ 654:0123456789/013456789 655:0123456789/ 656:0123456789/
    657:0/ 658:0123489/ 659:0123456789/ 660:0123456789/ 661:012349/ 662:0123/ 663:012345689/
    664:012345689/ 665:013456789/2789 666:/0123 667:/01 668:01289/01289 669:012456789/0123489
    670:/01238 671:0123589/0124589 672:/0 673:01238/01238 674:05/01234589 675:01289/01289
    676:012345689/012345689 678:01/ 679:01/01
"""
"""Categories of pregnancy with the fourth digits that the fifth digits 1 and 2, delivered on this
stay, may follow."""


def _delivered() -> Iterator[str]:
    """The codes that say that a delivery took place on this stay."""
    yield "650"
    for entry in _FOURTH_DIGITS.split():
        category, digits = entry.split(":")
        for fifth, fourths in zip("12", digits.split("/"), strict=True):
            yield from (f"{category}.{fourth}{fifth}" for fourth in fourths)


_DELIVERED = tuple(_delivered())
_SYSTEMIC_INFECTIONS = (
    "038", "112.5", "003.1", "018", "020.2", "022.3", "027.0", "036.2", "036.3", "054.5", "079.9",
    "098.89", "112.81", "117.9", "634.0", "635.0", "636.0", "637.0", "638.0", "639.0", "659.3",
    "670.2", "771.81",
)  # fmt: skip
_INJURIES = (
    "800-804", "805-809", "810-819", "820-829", "830-839", "840-848", "850-854", "860-869",
    "870-879", "880-887", "890-897", "900-904", "910-919", "920-924", "925-929", "930-939",
    "940-949", "950-957", "958-959",
)  # fmt: skip
_HYPERTENSION = f"{_GUIDELINES}, I.C.7.a, hypertension"

ICD9CM_COMPANIONS: tuple[Companion, ...] = (
    _rule(
        ("403.01", "403.11", "403.91", *(f"404.{n}{d}" for n in "019" for d in "23")),
        ("585",),
        f"{_HYPERTENSION}: a code of 585 beside 403 or 404 tells the stage of the chronic kidney "
        "disease.",
        valid_from=_KIDNEY_STAGES,
    ),
    _rule(
        ("403.00", "403.10", "403.90", *(f"404.{n}{d}" for n in "019" for d in "01")),
        ("585",),
        f"{_HYPERTENSION}: a code of 585 beside 403 or 404 tells the stage of the chronic kidney "
        "disease, also where it is an early or an unspecified one.",
        valid_from=_KIDNEY_TITLES,
    ),
    _rule(
        ("402.01", "402.11", "402.91", *(f"404.{n}{d}" for n in "019" for d in "13")),
        ("428",),
        f"{_HYPERTENSION}: a code of 428 beside hypertensive heart disease with heart failure "
        "tells its type.",
        valid_from=_HEART_FAILURE,
    ),
    _rule(
        ("995.91", "995.92"),
        _SYSTEMIC_INFECTIONS,
        f"{_GUIDELINES}, I.C.1.b, sepsis: sepsis and severe sepsis need a code of the systemic "
        "infection, 038.9 where the organism is not documented, and that code stands before them.",
        position="before",
        valid_from=_SEPSIS,
    ),
    _rule(
        ("785.52",),
        ("995.92",),
        f"{_GUIDELINES}, I.C.1.b, septic shock: septic shock is an organ dysfunction of severe "
        "sepsis, so that 995.92 stands beside 785.52.",
        valid_from=_SEPTIC_SHOCK,
    ),
    _diabetes(
        "4",
        ("403", "404", "581", "582", "583", "585", "586", "587", "588", "791.0"),
        "such as 583.81, 581.81 or 585",
    ),
    _diabetes("5", ("360-379",), "such as 362.0, 365.44, 366.41 or 369"),
    _diabetes(
        "6",
        ("337", "350-359", "536.3", "564.5", "596.54", "607.84", "713.5"),
        "such as 357.2, 337.1, 353.5, 536.3 or 713.5",
    ),
    _diabetes("7", ("440", "443", "444", "447", "459.8", "785.4"), "such as 443.81 or 785.4"),
    _manifestation("357.2", "6", "polyneuropathy in diabetes"),
    _manifestation("362.0", "5", "diabetic retinopathy"),
    _manifestation("366.41", "5", "diabetic cataract"),
    _rule(
        ("707.0",),
        ("707.2",),
        f"{_GUIDELINES}, I.C.12.a, pressure ulcers: a code of 707.0 tells the site and one of "
        "707.2 the stage, 707.20 where it is not documented.",
        valid_from=_ULCER_STAGES,
    ),
    _rule(
        ("707.2",),
        ("707.0",),
        f"{_GUIDELINES}, I.C.12.a, pressure ulcers: a stage of 707.2 is coded after the site of "
        "the ulcer, a code of 707.0.",
        position="before",
        valid_from=_ULCER_STAGES,
    ),
    _rule(
        _DELIVERED,
        ("V27",),
        f"{_GUIDELINES}, I.C.11.b, outcome of delivery: every record of a mother who delivered "
        "has a code of V27.",
    ),
    _rule(
        ("V27",),
        _DELIVERED,
        f"{_GUIDELINES}, I.C.11.b, outcome of delivery: V27 stands on the mother's record of the "
        "delivery and on no later one.",
    ),
    _rule(
        _INJURIES,
        ("E000-E999",),
        f"{_GUIDELINES}, I.C.19, external causes: an E code tells how an injury came about. It is "
        "supplemental: whether it must be reported, payers and states decide.",
        severity="note",
    ),
)  # fmt: skip


def _exclusive(
    *nodes: str | tuple[str, ...], reason: str, severity: Severity = "warning"
) -> Exclusive:
    return Exclusive(nodes=nodes, reason=reason, severity=severity)


ICD9CM_EXCLUSIVE: tuple[Exclusive, ...] = (
    _exclusive("401.0", "401.1", reason="Essential hypertension is malignant or benign."),
    _exclusive(
        "401.9",
        ("401.0", "401.1"),
        reason="Unspecified hypertension adds nothing beside a specified one.",
        severity="note",
    ),
    _exclusive(
        tuple(f"250.{complication}{digit}" for complication in range(10) for digit in "13"),
        tuple(f"250.{complication}{digit}" for complication in range(10) for digit in "02"),
        reason="The fifth digit says which type of diabetes it is: 1 and 3 type I, 0 and 2 type II "
        "or unspecified type.",
    ),
    _exclusive(
        "250.0",
        tuple(f"250.{complication}" for complication in range(1, 10)),
        reason=f"250.0 is diabetes without mention of complication, which a complication coded "
        f"beside it contradicts ({_GUIDELINES}, I.C.3.a, diabetes mellitus).",
    ),
    _exclusive(
        "401",
        "585",
        reason="Hypertension with chronic kidney disease is coded to 403 or 404: the "
        "classification presumes that one causes the other, unless the physician says otherwise "
        f"({_HYPERTENSION}).",
    ),
    _exclusive(
        "401",
        ("402", "403", "404"),
        reason="402, 403 and 404 say hypertension themselves, so that 401 adds nothing beside them "
        f"({_HYPERTENSION}).",
    ),
    _exclusive(
        "042",
        ("V08", "795.71"),
        reason="Once an HIV-related illness was diagnosed, 042 is assigned, and never V08 or "
        f"795.71 ({_GUIDELINES}, I.C.1.a, HIV infections).",
    ),
    _exclusive(
        "496",
        ("491", "492", "493"),
        reason="496 is for chronic airway obstruction of no specified type and is not used with a "
        f"code of 491 to 493 (note at 496; {_GUIDELINES}, I.C.8.a, COPD and asthma).",
    ),
)

_EDITS = "Definitions of Medicare Code Edits, version 31"
_OF_PREGNANCY = (
    "630-633", "634-639", "640-649", "650-659", "660-669", "670", "671", "672", "673", "674",
    "675", "676", "678-679", "V22", "V23", "V24", "V27",
)  # fmt: skip
"""Without 677: late effects of a pregnancy may show at any later age."""


def _of_persons(nodes: tuple[str, ...], source: str, **more: str | int) -> PersonRule:
    return PersonRule.model_validate({"nodes": nodes, "source": f"{_EDITS}, {source}", **more})


ICD9CM_PERSON_RULES: tuple[PersonRule, ...] = (
    _of_persons(
        (
            "174", "179", "180", "181", "182", "183", "184", "218", "219", "220", "221", "233.1",
            "233.2", "233.3", "236.0", "236.1", "236.2", "236.3", "256", "614-616", "617-629",
            "630-679", "V22", "V23", "V24", "V27", "65", "66", "67", "68", "69", "72-75",
        ),
        "sex conflict: codes for females only, whose titles name pregnancy, birth, the breast of a "
        "woman or a female genital organ.",
        sex="female",
    ),
    _of_persons(
        (
            "175", "185", "186", "187", "222", "233.4", "233.5", "233.6", "236.4", "236.5",
            "236.6", "257", "600-608", "60", "61", "62", "63",
        ),
        "sex conflict: codes for males only, whose titles name the breast of a man or a male "
        "genital organ.",
        sex="male",
    ),
    _of_persons(
        ("V30-V39", "V20.31", "V20.32"),
        "age conflict: newborn diagnoses belong to the age of 0 years. A code of V30 to V39 stands "
        "on the record of the birth alone.",
        age_to=0,
    ),
    _of_persons(
        ("V20.2",),
        "age conflict: pediatric diagnoses belong to the ages 0 to 17. V20.2 is the routine check "
        "of an infant or child.",
        age_to=17,
    ),
    _of_persons(
        _OF_PREGNANCY,
        "age conflict: maternity diagnoses belong to the ages 12 to 55.",
        age_from=12,
        age_to=55,
    ),
    _of_persons(
        ("290.3", "366.17", "600"),
        "age conflict: adult diagnoses belong to the ages 15 to 124. The edit itself names senile "
        "delirium, mature cataract and hyperplasia of the prostate.",
        age_from=15,
    ),
)  # fmt: skip
"""Rules on the sex and age of persons.

They leave out the codes of the perinatal period (760 to 779), which an older child may have,
operations on penis, vagina and vulva (64, 70, 71), which may change the sex, and single codes of
the lists that are in no range."""
