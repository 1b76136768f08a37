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

_ONE_PATIENT = (
    "Nearly all of these stays are of one patient: the check counts stays, not patients, and the "
    "two have nothing to do with each other."
)
_A_THIRD = (
    "Associated as the function says, but little more than a third of the genes with either have "
    "both: two facts, not one label. The share from which the check speaks is low."
)

_SPEECH_ADDED = "The model adds speech to much; the other label is not the reason."

_HUM = "All 82: a hum is a noise, and an edge of the ontology could say so."

JUDGEMENTS: dict[str, tuple[str, str]] = {
    "model_habit:%2Fm%2F04rlf:%2Fm%2F09x0r": (
        _YES, "The two most frequent answers are given together too often.",
    ),
    "model_habit:%2Fm%2F0838f:%2Fm%2F09x0r": (_PARTLY, _SPEECH_ADDED),
    "model_habit:%2Fm%2F025rv6n:%2Fm%2F09x0r": (_PARTLY, _SPEECH_ADDED),
    "model_habit:%2Fm%2F07k1x:%2Fm%2F09x0r": (_PARTLY, _SPEECH_ADDED),
    "model_habit:%2Fm%2F02rr_:%2Fm%2F0g12c5": (
        _YES, "Answers about guitar effects come as a set.",
    ),
    "unexpected_pair:%2Fm%2F015lz1:%2Fm%2F0kpv1t": (_YES, "Choir and gospel are genres sung."),
    "unexpected_pair:%2Fm%2F06d_3:children": (
        _YES, "Classes of trains are given together: a habit, told once.",
    ),
    "unexpected_pair:%2Fm%2F0342h:%2Ft%2Fdd00091": (_YES, "Effects units are for guitars."),
    "unexpected_pair:%2Fm%2F0342h:%2Fm%2F0g12c5": (_YES, "Electric guitars are distorted."),
    "unexpected_pair:%2Fm%2F07k1x:%2Fm%2F07pdjhy": (_YES, "Sanding and filing rub."),
    "unexpected_pair:%2Fm%2F07k1x:%2Fm%2F083vt": (_YES, "Tools are heard on wood."),
    "unexpected_pair:%2Fm%2F03qtwd:%2Fm%2F07p6fty": (_YES, "Crowds shout."),
    "unexpected_pair:%2Fm%2F019jd:%2Fm%2F03m9d0z": (_YES, "It blows over boats, and is heard."),
    "unexpected_pair:%2Fm%2F02mk9:%2Fm%2F07yv9": (
        _YES, "Engines of vehicles: one sound in two branches.",
    ),
    "redundant_nodes:%2Fm%2F01g50p:%2Fm%2F07jdr:redundant": (
        _YES, "Hard to tell apart by ear.",
    ),
    "redundant_nodes:%2Fm%2F07pdjhy:%2Fm%2F07k1x:beside": (
        _YES, "Rubbing is labelled where a tool rubs: a habit, or a missing edge.",
    ),
    "redundant_nodes:%2Fm%2F0g12c5:%2Fm%2F04rlf:beside": (
        _YES, "Distortion is labelled in music alone: an edge could say so.",
    ),
    "unspecific_beside_specific:labels": (
        _YES,
        "Unspecified neutropenia beside that of a drug, unspecified ischemic heart disease beside "
        "atherosclerosis: the specific one says it all. Two pressure ulcers may both be right.",
    ),
    "parent_and_child:undecided": (
        _YES, "Car is labelled with Motor vehicle on one clip in five and without it on the rest.",
    ),
    "retired_code:unlisted": (
        _YES, "36.01 and 36.05 were codes of angioplasty until October 2005.",
    ),
    "not_specific:procedures": (_YES, "45.8 was a code until it was subdivided."),
    "not_specific:uninformative": (
        _YES, "Of nearly half of the genes nothing is said but that they were looked at.",
    ),
    "unexpected_pair:GO%3A0001071:GO%3A0003677": (
        _YES, "Transcription factors bind DNA, most of them.",
    ),
    "unexpected_pair:GO%3A0016301:GO%3A0043167": (_YES, _ATP),
    "unexpected_pair:GO%3A0016491:GO%3A0043167": (
        _YES, "Many oxidoreductases hold a metal ion.",
    ),
    "unexpected_pair:GO%3A0003735:GO%3A0005840": (
        _YES, "What a ribosome is made of stands in it: one fact as function and as place.",
    ),
    "redundant_nodes:GO%3A0005840:GO%3A0006412:redundant": (
        _PARTLY, "Translation happens in ribosomes; place and process are two facts of one thing.",
    ),
    "unexpected_pair:GO%3A0005840:GO%3A0006412": (_YES, "Translation happens in ribosomes."),
    "unexpected_pair:GO%3A0004871:GO%3A0007165": (
        _YES, "Signal transducers transduce signals: one fact as function and as process.",
    ),
    "unexpected_pair:GO%3A0005975:GO%3A0016757": (
        _YES, "Glycosyltransferases make polysaccharides.",
    ),
    "redundant_nodes:GO%3A0000902:GO%3A0040007:redundant": (
        _PARTLY, "Plant cells take their shape by growing; the two are not one.",
    ),
    "sibling_exclusive:401:585": (
        _YES,
        "Both stays have 401.9 beside 585.9 and no word of another kidney disease: a coder would "
        "assign 403.90 and keep 585.9.",
    ),
    "missing_companion:403.01:8d722565:missing:undated": (
        _YES,
        "Two stays with 403.91 and no stage. Stays of 2001 to 2012 may lie before the stages came, "
        "as the note says.",
    ),
    "missing_companion:785.52:d0f3644b:missing:undated": (
        _YES,
        "Septic shock beside 995.91, sepsis without organ failure: 995.92 was meant.",
    ),
    "missing_companion:995.91:75292221:order:undated": (
        _YES,
        "Sepsis stands before the infection that it comes of, which is to be listed first; on one "
        "stay it is the principal diagnosis.",
    ),
    "missing_companion:707.0:01cc98a4:missing:undated": (
        _YES,
        "An ulcer without its stage. Stages came in October 2008, and stays of 2001 to 2012 may "
        "lie before, as the note says.",
    ),
    "missing_companion:707.2:d593d84f:order:undated": (
        _PARTLY,
        "The stage stands before the site: against the guideline, and nothing to who reads the "
        "codes as a set.",
    ),
    "missing_companion:357.2:a9a27969:order": (
        _YES, "The neuropathy stands before the diabetes that causes it.",
    ),
    "missing_companion:800-804:f805ed5a:missing": (
        _PARTLY,
        "An aspirated body without its cause is a gap; the arm that broke beside metastases of "
        "bone may be a pathological fracture (733.11), which needs another code, not a cause.",
    ),
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
    "model_confuses:%2Fm%2F03m9d0z:%2Fm%2F07yv9": (
        _YES, "27 of 32 times wind is heard as a vehicle: both are broad noise.",
    ),
    "unexpected_pair:GO%3A0001071:GO%3A0005634": (_YES, "Transcription factors act there."),
    "unexpected_pair:GO%3A0006464:GO%3A0016301": (_YES, "Kinases modify proteins: one fact."),
    "unexpected_pair:GO%3A0003677:GO%3A0005634": (_YES, "DNA is bound where it is."),
    "unexpected_pair:GO%3A0006810:GO%3A0022857": (_YES, "By definition of the function."),
    "unexpected_pair:GO%3A0006464:GO%3A0043167": (_YES, _ATP),
    "unexpected_pair:GO%3A0005886:GO%3A0006810": (_YES, "Transporters sit in the membrane."),
    "unexpected_pair:GO%3A0005975:GO%3A0016798": (_YES, "They cut carbohydrates."),
    "cross_branch:GO%3A0003674:GO%3A0008150": (_NO, _ASPECTS),
    "cross_branch:GO%3A0005575:GO%3A0008150": (_NO, _ASPECTS),
    "cross_branch:GO%3A0003674:GO%3A0005575": (_NO, _ASPECTS),
    "model_confuses:%2Fm%2F04rlf:answer": (
        _PARTLY,
        "Seven times as often as missed. A jingle or a ding may well be music, and its label be "
        "missing: the sentence names both, and the labels cannot say which.",
    ),
    "model_confuses:%2Fm%2F07yv9:answer": (
        _YES, "Engines that rev, whirs and wind are answered with a vehicle: broad noise, "
        "and it may be one.",
    ),
    "model_confuses:%2Fm%2F015lz1:answer": (
        _PARTLY, "Songs and rock are sung: the label may be missing rather than the answer wrong.",
    ),
    "model_confuses:%2Fm%2F0838f:answer": (
        _YES, "In place of filling, gushing and small rooms: water is likely in these.",
    ),
    "model_confuses:%2Fm%2F0342h:answer": (
        _YES, "Plucked strings, ukuleles and zithers are answered with a guitar.",
    ),
    "model_confuses:%2Fm%2F0fx80y:answer": (
        _YES, "A pizzicato is plucked: the wider answer stands in place of what is played.",
    ),
    "model_confuses:%2Fm%2F09x0r:answer": (
        _PARTLY,
        "It is answered seven times as often as missed. In many of the clips somebody speaks, and "
        "the label is missing: the sentence names both, and the labels cannot say which.",
    ),
    "redundant_nodes:%2Fm%2F07rcgpl:%2Fm%2F096m7z:beside": (_YES, _HUM),
    "unexpected_pair:%2Fm%2F07rcgpl:%2Fm%2F096m7z": (_YES, _HUM),
    "redundant_nodes:518:96.7:redundant": (
        _NO,
        "Ventilation treats a failing lung: 29 of the 53 stays with either. Two facts, not "
        "one label; the share from which the check speaks is low.",
    ),
    "redundant_nodes:96.04:96.7:redundant": (
        _PARTLY,
        "Whoever is intubated is ventilated (22 of 22), but 17 stays have ventilation alone: "
        "the one implies the other, and they are not one label.",
    ),
    "redundant_nodes:038:785.5:redundant": (
        _NO,
        "Shock is a stage of septicaemia: 19 of the 42 stays with either. Two facts, not one "
        "label.",
    ),
    "redundant_nodes:357:707.03:redundant": (_NO, _ONE_PATIENT),
    "redundant_nodes:357:707.2:redundant": (_NO, _ONE_PATIENT),
    "redundant_nodes:GO%3A0001071:GO%3A0005634:redundant": (_NO, _A_THIRD),
    "redundant_nodes:GO%3A0006464:GO%3A0016301:redundant": (
        _PARTLY,
        "Kinases modify proteins, but more than half of the genes with either have one alone.",
    ),
    "redundant_nodes:GO%3A0001071:GO%3A0003677:redundant": (_NO, _A_THIRD),
    "redundant_nodes:GO%3A0006810:GO%3A0022857:redundant": (_NO, _A_THIRD),
    "redundant_nodes:GO%3A0030533:GO%3A0009058:beside": (
        _YES,
        "Transfer RNAs take part in translation, which the slim maps here: an edge could say "
        "so.",
    ),
    "unexpected_pair:GO%3A0009058:GO%3A0030533": (
        _YES,
        "Transfer RNAs take part in translation, which the slim maps here.",
    ),
    "redundant_nodes:GO%3A0003735:GO%3A0006412:redundant": (
        _YES,
        "Parts of the ribosome translate: 81 % of the genes with either have both.",
    ),
    "unexpected_pair:GO%3A0003735:GO%3A0006412": (_YES, "Proteins of the ribosome."),
    "redundant_nodes:GO%3A0005975:GO%3A0016798:redundant": (_NO, _A_THIRD),
    "redundant_nodes:GO%3A0003735:GO%3A0005840:redundant": (
        _PARTLY,
        "Parts of the ribosome stand in it; a third of the genes with either have one alone.",
    ),
    "model_confuses:%2Fm%2F04szw:answer": (
        _PARTLY,
        "Echoes, tuners and harmonics are mostly of instruments: the label may be missing rather "
        "than the answer wrong.",
    ),
    "unexpected_pair:GO%3A0002376:GO%3A0006950": (_YES, "Defence is a response to stress."),
    "unexpected_pair:GO%3A0009058:GO%3A0044281": (
        _PARTLY, "What is made is often a small molecule: two sides of one process.",
    ),
    "unexpected_pair:GO%3A0005773:GO%3A0005886": (
        _PARTLY, "Proteins of both membranes: true, and two facts rather than one.",
    ),
    "unexpected_pair:GO%3A0009536:GO%3A0009579": (
        _PARTLY, "Thylakoids of plants lie in plastids: a part that the slim file does not relate.",
    ),
    "model_confuses:%2Fm%2F085jw:answer": (
        _PARTLY, "Brass and traditional music are answered with it: the label may be missing.",
    ),
    "unexpected_pair:GO%3A0016887:GO%3A0022857": (_YES, "Pumps are driven by ATP."),
    "copied_records:sets": (
        _PARTLY,
        "Genes alike in kind have the same terms of a slim: it is so, but nobody copied them.",
    ),
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
