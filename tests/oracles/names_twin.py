"""A plain twin of native/models/ensemble/name_finder.cpp: names in texts by slices of word lists."""

from labelwood.models.ensemble.label_words import name_words, words_of


def found_names(label_names, text, longest):
    """{label: (times, alone, place of the first word)} of the names that stand in the text."""
    labels = {}
    for label, names in enumerate(label_names):
        for phrase in {tuple(name_words(name)) for name in names.split("\n")}:
            if 0 < len(phrase) <= longest:
                labels.setdefault(phrase, []).append(label)
    words = words_of(text)
    spans = [
        (first, end)
        for first in range(len(words))
        for end in range(first + 1, min(len(words), first + longest) + 1)
        if tuple(words[first:end]) in labels
    ]
    found = {}
    for first, end in spans:
        within = any(b <= first and end <= e and (b, e) != (first, end) for b, e in spans)
        for label in labels[tuple(words[first:end])]:
            times, alone, place = found.get(label, (0, 0, first))
            found[label] = times + 1, alone + (not within), min(place, first)
    return found
