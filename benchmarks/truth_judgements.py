"""What the top findings on public data are worth, as the authors of this tool read them.

By the finding's id: whether it is sensible, and why. Not the review of an expert.
"""

from __future__ import annotations

_YES, _PARTLY, _NO = "yes", "partly", "no"

_KNOWN_HABIT = "A well-known habit: the code to use where nothing more was written down."
_GENERAL = "Audio clips of daily life hold both; the ontology's branches do not exclude each other."
_ASPECTS = (
    "The three aspects of GO describe one gene together; half of these are labels at the very "
    "roots, which stand for no knowledge. A policy for GO should call them expected."
)
_ATP = "Kinases bind ATP, which the slim maps to ion binding: one fact told in two places."

JUDGEMENTS: dict[str, tuple[str, str]] = {
    "residual_overuse:401": (
        _YES,
        "Whether hypertension is benign or malignant is hardly ever written down, so that the "
        "specific codes go unused. " + _KNOWN_HABIT,
    ),
    "residual_overuse:584": (_YES, _KNOWN_HABIT),
    "residual_overuse:38.9": (
        _PARTLY,
        "Its title says not elsewhere classified, yet 38.93 is the usual code of a venous "
        "catheter; the specific ones beside it, for dialysis or guided by imaging, are for few.",
    ),
    "residual_overuse:599": (
        _PARTLY,
        "599.0 leaves the site of the infection open, but the sites stand in other categories "
        "(590, 595); the specific codes below 599 are other diseases. The check looks below the "
        "parent alone.",
    ),
    "residual_overuse:038": (
        _YES, "The organism is often not known at discharge; models should not read that as none.",
    ),
    "residual_overuse:272": (_YES, "Which lipid is raised is seldom coded. " + _KNOWN_HABIT),
    "residual_overuse:480-488": (
        _YES, "Pneumonia without its organism: 486 on nearly all. Folded well, up to the range.",
    ),
    "unknown_code:unlisted": (
        _YES, "Codes of coronary angioplasty that were deleted from the list in October 2005.",
    ),
    "cross_branch:V01-V91:001-999": (
        _PARTLY,
        "True, and information rather than a fault: history, status and long-term use of drugs "
        "are asked for beside a disease. Only the breakdown tells what should not be there.",
    ),
    "not_specific:diagnoses": (
        _YES,
        "041.4, 276.5, 518.5, 255.4 and 276.6 got a fifth digit between 2005 and 2011, and these "
        "stays are of 2001 to 2012: many were valid, as the note says.",
    ),
    "duplicate_label:labels": (
        _YES, "Procedures done twice on a stay, catheters first: repeats mean something here.",
    ),
    "not_specific:procedures": (_YES, "45.8 was divided in October 2008."),
    "model_confuses:%2Fm%2F03m9d0z:%2Fm%2F07yv9": (
        _YES, "27 of 32 times wind is heard as a vehicle: both are broad noise.",
    ),
    "model_confuses:%2Fm%2F03qtwd:%2Ft%2Fdd00126": (
        _PARTLY,
        "All one way, and the model predicts the room on 5 clips only, where 162 have it: it "
        "misses the label rather than taking it for a crowd.",
    ),
    "model_confuses:%2Fm%2F019jd:%2Fm%2F06mb1": (_YES, "Water in both; 10 of 13 one way."),
    "model_confuses:%2Fm%2F025rv6n:%2Fm%2F06_y0by": (
        _YES, "Fowl are heard outdoors; whether to label scene or animal is left to the annotator.",
    ),
    "model_habit:%2Fm%2F04rlf:%2Fm%2F09x0r": (
        _PARTLY,
        "True as counted, but the model predicts music 1.5 times and speech 1.6 times as often "
        "as they are labelled: it says too much of both, not that it ties them together.",
    ),
    "unexpected_pair:%2Fm%2F015lz1:%2Fm%2F04rlf": (
        _YES, "Singing lies below human voice and belongs to music: 313 of 362 singing clips.",
    ),
    "unexpected_pair:%2Fm%2F04k94:%2Fm%2F0dgw9r": (
        _PARTLY,
        "Mostly speech beside water in kitchens. The clips were chosen about 60 a class, so that "
        "a frequent companion such as speech shows wherever the rest of a branch has it less.",
    ),
    "unexpected_pair:%2Fm%2F09l8g:%2Ft%2Fdd00012": (
        _YES, "Crowds shout: all 60 clips of children shouting and all of battle cries are crowds.",
    ),
    "unexpected_pair:GO%3A0001071:GO%3A0005634": (_YES, "Transcription factors act there."),
    "unexpected_pair:GO%3A0006464:GO%3A0016301": (_YES, "Kinases modify proteins: one fact."),
    "unexpected_pair:GO%3A0001071:GO%3A0003677": (_YES, "By definition of the function."),
    "unexpected_pair:GO%3A0003677:GO%3A0005634": (_YES, "DNA is bound where it is."),
    "unexpected_pair:GO%3A0003723:GO%3A0009058": (
        _PARTLY,
        "19 genes have both as labels, all others carry them through labels below: the finding "
        "names no label, and what is behind it has to be looked up.",
    ),
    "unexpected_pair:GO%3A0009058:GO%3A0044281": (
        _PARTLY, "What is made is often a small molecule; the two siblings overlap in meaning.",
    ),
    "unexpected_pair:GO%3A0006810:GO%3A0022857": (_YES, "By definition of the function."),
    "unexpected_pair:GO%3A0006464:GO%3A0043167": (_YES, _ATP),
    "unexpected_pair:GO%3A0016301:GO%3A0043167": (_YES, _ATP),
    "unexpected_pair:GO%3A0016491:GO%3A0043167": (_YES, "Their cofactors are metals and haem."),
    "unexpected_pair:GO%3A0007165:GO%3A0043167": (
        _PARTLY, "Again the kinases: 162 of the 406 genes. Told a third time.",
    ),
    "unexpected_pair:GO%3A0005198:GO%3A0006412": (_YES, "Proteins of the ribosome."),
    "unexpected_pair:GO%3A0005886:GO%3A0006810": (_YES, "Transporters sit in the membrane."),
    "unexpected_pair:GO%3A0006629:GO%3A0009058": (_YES, "Lipids are made."),
    "unexpected_pair:GO%3A0005975:GO%3A0016798": (_YES, "They cut carbohydrates."),
    "unexpected_pair:GO%3A0005198:GO%3A0005840": (_YES, "Proteins of the ribosome."),
    "unexpected_pair:GO%3A0005886:GO%3A0006464": (
        _YES, "Receptor kinases, which plants have by the hundred: 227 of the 304 are kinases.",
    ),
    "cross_branch:GO%3A0003674:GO%3A0008150": (_NO, _ASPECTS),
    "cross_branch:GO%3A0005575:GO%3A0008150": (_NO, _ASPECTS),
    "cross_branch:GO%3A0003674:GO%3A0005575": (_NO, _ASPECTS),
}  # fmt: skip
"""Verdict and reason."""


def judgement(finding_id: str) -> tuple[str, str]:
    """Verdict and reason; of AudioSet's branches one for all, of anything else that none is there.

    >>> judgement("record_cap:39")
    ('not examined', '')
    """
    if finding_id.startswith("cross_branch:%2F"):
        return _NO, _GENERAL
    return JUDGEMENTS.get(finding_id, ("not examined", ""))
