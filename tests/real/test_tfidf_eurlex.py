"""Real law texts (EURLEX57K): the same matrix as scikit-learn's."""

import gzip
import json

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer as Reference

from labelwood.features.tfidf import TfidfVectorizer


@pytest.fixture(scope="module")
def texts(data_file):
    with gzip.open(data_file("EURLEX57K", "test_raw.jsonl.gz"), "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line, _ in zip(lines, range(1500), strict=False)]


@pytest.mark.parametrize(
    "settings",
    [{}, {"ngram_range": (1, 2), "min_df": 2}, {"sublinear_tf": True, "min_df": 5, "max_df": 0.5}],
    ids=str,
)
def test_matrix_of_law_texts_is_sklearns(texts, settings):
    reference, ours = Reference(**settings), TfidfVectorizer(**settings)
    expected, found = reference.fit_transform(texts), ours.fit_transform(texts)
    assert ours.feature_names == list(reference.get_feature_names_out())
    expected.sort_indices()
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.indptr, expected.indptr)
    np.testing.assert_allclose(found.data, expected.data, rtol=1e-5)
    assert (ours.transform(texts) != found).nnz == 0
