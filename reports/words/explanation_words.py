"""Wording of explanations: subsets, oracles, measures, and why something was left out."""

from __future__ import annotations

from collections.abc import Mapping

SUBSETS: Mapping[str, str] = {
    "all": "all examples",
    "right": "answered right",
    "wrong": "answered wrong",
    "common": "answered wrong by all models",
}
"""Examples that importance alignment is measured on, in report order."""

ORACLES: Mapping[str, tuple[str, str]] = {
    "expert": (
        "With the tokens that people marked",
        "the share of annotators that marked each token",
    ),
    "hard": (
        "With the words of people’s explanations",
        "whether a token is a word of the explanation, stop words left out",
    ),
    "soft": (
        "With models that read the explanations",
        "the scores of models that also read the explanation",
    ),
}
"""Title of each oracle, and what it says of a token."""

EVIDENCE: Mapping[str, str] = {
    "marks": "marks of tokens",
    "spans": "spans of characters",
    "text": "explanations in words",
}

MEASURES: Mapping[str, tuple[str, str]] = {
    "importance_alignment": (
        "Importance alignment",
        "Delta-A below the node: how much better the scores fit the evidence for the label than "
        "that for others",
    ),
    "agreement": (
        "Agreement of methods",
        "agreement of all methods at the peaks, above that of permuted scores",
    ),
    "mass_in_evidence": (
        "Mass inside the evidence",
        "share of absolute scores on marked tokens, above the share of tokens that are marked",
    ),
    "comprehensiveness": (
        "Comprehensiveness",
        "what the model loses without the first tokens, above what it loses without random ones",
    ),
}
"""Title of what nodes are compared by, and its meaning; the first that a run has is drawn."""

RANKINGS: Mapping[str, str] = {
    "average_precision": "Average precision",
    "average_precision_at_k": "Average precision at k",
    "auprc": "Area under precision and recall",
    "kendall": "Kendall’s tau",
    "mass_absolute": "Mass on marked tokens",
    "mass_positive": "Positive mass on marked tokens",
}
SETS: Mapping[str, str] = {
    "jaccard": "Jaccard",
    "token_f1": "F1 of tokens",
    "span_f1": "F1 of spans",
}
RULES: Mapping[str, str] = {
    "dynamic": "the peaks",
    "fixed": "the first k",
    "evidence": "as many as are marked",
}
"""Which tokens are held against the marked ones."""

FAITHFUL: Mapping[str, tuple[str, str]] = {
    "comprehensiveness": ("Comprehensiveness", "high"),
    "sufficiency": ("Sufficiency", "low"),
    "deletion_area": ("Area under deletion", "low"),
}
"""Title of each measure of faithfulness, and which values are faithful."""

LEFT_OUT: Mapping[str, str] = {
    "wrong_type": "Rows left out: a value has a wrong type",
    "missing_value": "Rows left out: no id, target, tokens or scores",
    "length_differs": "Rows left out: other numbers of scores and tokens",
    "not_finite": "Rows left out: a score is missing or infinite",
    "no_tokens": "Rows left out: no token that is not special",
    "repeated": "Rows left out: repeat another row",
    "conflicting": "Rows left out: differ under one key",
    "rows_of_one_token": "Rows of one token, for which nothing can be compared",
    "rows_without_evidence": "Rows without evidence",
    "texts": "Different lists of tokens",
    "special_tokens": "Special tokens left out of texts",
    "evidence_read": "Pieces of evidence read",
    "evidence_kept": "Pieces of evidence kept",
    "one_annotator": "Texts and labels with a single annotator",
    "evidence_wrong_type": "Evidence left out: a value has a wrong type",
    "evidence_missing_value": "Evidence left out: no id, target or evidence",
    "evidence_of_no_row": "Evidence left out: of no row of the attributions",
    "evidence_length_differs": "Evidence left out: the length fits no text",
    "evidence_ambiguous": "Evidence left out: fits several tokenisations",
    "evidence_not_0_or_1": "Evidence left out: marks other than 0 and 1",
    "evidence_without_offsets": "Evidence left out: spans of tokens without offsets",
    "evidence_outside_text": "Evidence left out: a span is empty or outside the text",
    "evidence_spans_cross": "Evidence left out: spans of one annotator cross",
    "evidence_conflicting": "Evidence left out: differs for one text and label",
}
"""What the ledger of attributions counts."""
