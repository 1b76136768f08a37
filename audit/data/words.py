"""Words: what texts stand for that are no nodes as they are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from audit.data.columns import Columns
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.titles import nodes_by_title, title_key


def read_as(
    text: str, words: Columns, hierarchy: Hierarchy, is_node: Callable[[str], bool]
) -> str | None:
    """What a text that is no node stands for; None if for no code.

    >>> import audit
    >>> tree = audit.load_hierarchy({"pet": {"cat": {}, "dog": {}}})
    >>> words = Columns(missing=("none",), strip=("my ",))
    >>> [read_as(one, words, tree, tree.__contains__) for one in ("my cat", " NONE", "cow")]
    ['cat', None, 'cow']
    """
    bare = stripped(text, words.strip)
    nothing = {word.strip().casefold() for word in words.missing}
    if not nothing.isdisjoint((text.strip().casefold(), bare.casefold())):
        return None
    titles = nodes_by_title(hierarchy) if words.by_title and not is_node(bare) else {}
    return titles.get(title_key(bare)) or bare


def stripped(label: str, texts: Sequence[str]) -> str:
    """A label without texts at its beginning and its end, none of which parts a word or a number.

    What would leave nothing stays.

    >>> stripped("ICD9CM:401.9 (V)", ["ICD9CM:", "(V)"]), stripped("I10X", ["X"])
    ('401.9', 'I10')
    >>> stripped("401.9 A", ["9 A"]), stripped("401.9", ["401.9"])
    ('401.9 A', '401.9')
    """
    for one in filter(None, texts):
        rest = label.removeprefix(one)
        if rest != label and _may_part(one[-1] + rest[:1]):
            label = rest.strip() or label
        rest = label.removesuffix(one)
        if rest != label and _may_part(rest.rstrip(".")[-1:] + one[0]):
            label = rest.strip() or label
    return label


def _may_part(signs: str) -> bool:
    return not (signs.isalpha() or signs.isdigit())
