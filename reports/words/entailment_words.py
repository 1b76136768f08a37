"""Wording of entailment graphs: measures, baselines, faults of tuples, and rules of the graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

ALL = "All"
"""Name that the shared view has for all relations together, and for all splits."""


class Wording(NamedTuple):
    """A name in words.

    Args:
        title: What it is called.
        meaning: What it means, in a sentence.
    """

    title: str
    meaning: str


ACCURACY, STRICT, MACRO_F1, ROC_AUC = "accuracy", "accuracy_strict", "macro_f1", "roc_auc"
AVERAGE_PRECISION, APS, TRAPEZOID = "average_precision", "aps", "aps_trapezoid"
BRIER, CALIBRATION = "brier", "calibration_error"

DETECTION: Mapping[str, Wording] = {
    ACCURACY: Wording("Accuracy", "The share of answered tuples that are answered rightly."),
    STRICT: Wording(
        "Accuracy, strict",
        "The same where an answer that is neither valid nor invalid counts as wrong.",
    ),
    MACRO_F1: Wording(
        "Macro F1",
        "The mean of the F1 of valid and that of invalid tuples, each 0 where nothing is predicted "
        "to be so.",
    ),
    ROC_AUC: Wording(
        "ROC-AUC",
        "The share of pairs of a valid and an invalid tuple in which the valid one scores higher; "
        "a tie counts half.",
    ),
    AVERAGE_PRECISION: Wording(
        "Average precision",
        "The precision at each valid tuple in the order of scores, averaged over all of them.",
    ),
    APS: Wording(
        "APS, in steps",
        "The same with only the points whose precision is above 0.5, as in the code of AbsPyramid. "
        "Its largest value is the recall that these reach.",
    ),
    TRAPEZOID: Wording(
        "APS, by trapezoids",
        "The area by trapezoids under precision over recall where precision is 0.5 or more, the "
        "last point left out, as in earlier work on entailment graphs. Numbers of the two "
        "estimators are not compared with each other.",
    ),
    BRIER: Wording(
        "Brier score",
        "The mean squared difference of score and label; 0 is best, a lower one better.",
    ),
    CALIBRATION: Wording(
        "Calibration error",
        "The mean distance of score and share of valid tuples over ten bins, weighted by their "
        "tuples; a calibrated model has about the expected number that is given with it.",
    ),
}
"""Measures of whether valid tuples are distinguished from invalid ones, in report order."""

BASELINES: Mapping[str, Wording] = {
    "majority": Wording("Majority", "answers as most training tuples of the relation are labelled"),
    "random": Wording("Random", "answers at random, as by a coin"),
    "concept_alone": Wording(
        "Concept alone",
        "answers by the share of valid training tuples with the same relation and concept",
    ),
    "head_alone": Wording(
        "Head alone",
        "answers by the share of valid training tuples with the same relation and head",
    ),
    "containment": Wording(
        "Words in common",
        "answers valid where the instance has all words of the concept, and scores by their share",
    ),
    "head_word": Wording(
        "Last word", "answers valid where the last word of the concept is that of the instance"
    ),
    "wordnet": Wording(
        "WordNet",
        "answers valid where WordNet has the concept above the instance; it has no answer for "
        "verbs",
    ),
}
"""What answers without a model, in report order."""

AGAINST: Mapping[str, str] = {
    **{name: wording.title.lower() for name, wording in BASELINES.items()},
    "wordnet": BASELINES["wordnet"].title,
    "in_domain": "trained on the same relation",
}
"""What models are compared with."""

ABSENT: Mapping[str, str] = {
    "no_answers": "no answers",
    "no_scores": "no scores",
    "one_class": "one class alone",
}
"""Why a measure has no value."""

GENERATION: Mapping[str, Wording] = {
    "bleu_1_precision": Wording(
        "BLEU-1, precision",
        "The share of a text’s words that a reference has, each counted at most as often as there, "
        "over all instances; AbsPyramid prints it as BLEU-1.",
    ),
    "bleu_2_precision": Wording(
        "BLEU-2, precision",
        "The same of pairs of neighbouring words; AbsPyramid prints it as BLEU-2.",
    ),
    "rouge_2_recall": Wording(
        "ROUGE-2, recall",
        "The share of a reference’s pairs of words that the text has, by their stems, of the best "
        "reference. A reference of one word has none, and scores 0.",
    ),
    "rouge_l_f1": Wording(
        "ROUGE-L, F1",
        "The longest common subsequence of stems, as F1 of its shares of text and reference, of "
        "the best reference.",
    ),
    "meteor": Wording(
        "METEOR",
        "Words matched by form, stem and WordNet’s synonyms, with a penalty for their order, of "
        "the best reference. An identical text of one word scores 0.5.",
    ),
    "exact_match": Wording("Exact match", "The share of texts that are one of the references."),
    "bleu_1": Wording("BLEU-1, cumulative", "BLEU-1 as defined, with the brevity penalty."),
    "bleu_2": Wording(
        "BLEU-2, cumulative",
        "BLEU-2 as defined: the geometric mean of both precisions, with the brevity penalty.",
    ),
    "brevity_penalty": Wording(
        "Brevity penalty",
        "The factor by which texts shorter than their references lose; 1 is no loss.",
    ),
}
"""Measures of generated concepts, in report order."""

AGREEMENT: Mapping[str, Wording] = {
    "pairwise": Wording("Pairwise", "The share of pairs of votes on one tuple that are alike."),
    "fleiss": Wording(
        "Fleiss’ kappa", "Pairwise agreement beyond chance, where all have as many votes."
    ),
    "alpha": Wording(
        "Krippendorff’s alpha", "The same for numbers of votes that may differ, corrected for few."
    ),
    "unanimous": Wording("Unanimous", "The share of tuples all of whose votes are alike."),
}
"""Measures of agreement, in report order."""

FAULTS: Mapping[str, str] = {
    "instance_not_head": "The instance is not the head",
    "tail_not_concept": "The tail is not the concept",
    "head_lacks_instance": "The head does not contain the instance",
    "tail_repeats_head": "The tail repeats the head",
    "tail_differs": "The tail is not the head with its instance replaced by the concept",
}
"""What may not fit among the elements of a tuple."""

RULES: Mapping[str, str] = {
    "cycle": "Texts that are below themselves",
    "dangling_edge": "Edges with an end that is not a node",
    "redundant_edge": "Concepts that another concept of the same text leads to",
    "lone_child": "Concepts with a single instance",
    "title_clash": "Texts that are written alike",
    "title_repeated": "Texts written like one above them",
    "only_catch_alls": "Concepts with catch-alls below them and nothing specific",
}
"""What the lint of hierarchies says about the graph."""

STATED: Mapping[str, str] = {"valid": "Valid", "denied": "Denied"}
"""How edges are stated."""

KINDS: Mapping[str, str] = {
    "tuples": "tuples of five elements",
    "premises": "pairs of premise and hypothesis",
    "hypernyms": "pairs of hyponym and hypernym",
}
"""What files hold."""

LEFT_OUT: Mapping[str, str] = {
    **{f"empty_{name}": f"no {name}" for name in ("head", "tail", "instance", "concept", "label")},
    "empty_relation": "no relation",
    "empty_id": "no id",
    "unknown_relation": "an unknown relation",
    "bad_label": "a label that is neither valid nor invalid",
    "bad_vote": "votes that are neither valid nor invalid, or not counts",
    "self_loop": "an instance that is its own concept",
    "repeated_id": "an id that an earlier record has",
    "other_split": "for another split than the one measured",
    "unknown_id": "for ids that the dataset lacks",
    "unknown": "for instances that the dataset lacks",
    "repeated": "the same text for the same instance again",
    "without_reference": "for instances without a valid concept",
    "missing_id": "no id",
    "missing_key": "neither an id nor a head and relation",
    "no_answer": "neither score nor prediction",
    "bad_score": "a score that is not a number",
    "missing_rating": "no rating",
}
"""Why records and answers take part in nothing."""

READ: Mapping[str, str] = {
    "tuples": "Records of tuples",
    "predictions": "Predicted tuples",
    "generations": "Generated concepts",
    "ratings": "Ratings of generated concepts",
}
"""What was read, by what the shared view calls it."""

EVIDENCE: dict[str, str] = {
    "instances": "tuples concerned",
    "tuples": "tuples",
    "edges": "edges",
    "texts": "texts",
    "chains": "chains of two valid edges",
    "open": "of them open",
    "keys": "heads with an instance",
    "astray": "tuples in another split than most of theirs",
    "heads": "heads",
    "same_instance": "of them with an instance in common",
    "similarity": "similarity, at least",
    "across": "of them from another split",
    "ties": "of them ties",
    "against": "of them against most votes",
    "carrying": "share of the votes required",
    "lacking": "valid tuples that the generation set lacks",
    "more": "tuples that it has in addition",
    "agreeing": "votes with the majority of the others",
    "others_share": "the same of all others",
    "difference": "difference of the shares, in points",
    "valid_share": "valid tuples found",
    "invalid_share": "invalid tuples found",
    "typical": "mean of the other concepts of its instances",
    "excess": "times as many",
    "share_limit": "limit on the share",
    "excess_limit": "limit on times as many",
    "family": "tested together",
}
"""Words for names of evidence of findings on tuples."""
