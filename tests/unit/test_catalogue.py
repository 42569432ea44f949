"""The catalogue of known data sets."""

import pytest

from labelwood.data.catalogue import find, names
from labelwood.errors import DataError


def test_every_name_is_found_however_it_is_written():
    assert len(names()) == 13
    for name in names():
        entry = find(name)
        assert entry.name == name
        assert find(name.upper().replace("-", "_")) is entry
        assert find(entry.title) is entry
        assert entry.licence
        assert entry.homepage.startswith("http")
        assert entry.n_labels
        assert entry.n_train


@pytest.mark.parametrize(("name", "constants"), [
    ("wikilshtc-325k", (0.5, 0.4)), ("wikipedia-500k", (0.5, 0.4)),
    ("amazon-670k", (0.6, 2.6)), ("amazon-3m", (0.6, 2.6)), ("lf-amazontitles-131k", (0.6, 2.6)),
    ("wiki10-31k", (0.55, 1.5)), ("amazoncat-13k", (0.55, 1.5)),
    ("eurlex-4k", (0.55, 1.5)), ("bibtex", (0.55, 1.5)),
])  # fmt: skip
def test_propensity_constants_as_published(name, constants):
    # AmazonCat-13K and Wiki10-31K are often given the wrong constants, by the words in their names.
    assert find(name).propensity == constants


def test_sizes_of_some():
    entry = find("EURLex-4K")
    assert (entry.n_train, entry.n_test, entry.n_features, entry.n_labels) == (15_539, 3_809, 5_000, 3_993)
    assert find("eurlex57k").n_features is None


def test_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(DataError, match=r"unknown data set 'amazon-671k'; did you mean 'amazon-670k'.*bibtex"):
        find("amazon-671k")
