"""Whether the texts of a tagger are HTML, as those of shops often are: most of its training texts decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labelwood.data.markup import are_html

MARKUP = "markup"  # the feature by which somebody decides it
HTML_TEXTS = "the texts are HTML: learned from what a reader sees of them (features.markup=false: from their tags, too)"


def reads_markup(texts: Sequence[str], given: Mapping[str, Any]) -> tuple[bool, tuple[str, ...]]:
    """(whether the texts are read as HTML, a note if they show it); given: the features that somebody has set."""
    if MARKUP in given:
        return bool(given[MARKUP]), ()
    return (True, (HTML_TEXTS,)) if are_html(texts) else (False, ())
