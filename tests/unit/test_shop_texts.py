"""The readable product catalogue: deterministic, named, learnable."""

import numpy as np
import pytest

from labelwood.data.madeup.shop_texts import make_texts, tag_names
from labelwood.data.madeup.shop_words import DEPARTMENTS, FEATURES, MATERIALS, USES
from labelwood.errors import ParamError


def test_words_fit_together():
    tags = [product[0] for products in DEPARTMENTS.values() for product in products]
    assert len(set(tags)) == len(tags) >= 90
    for products in DEPARTMENTS.values():
        for _, _, materials, features, uses in products:
            assert set(materials.split(",")) <= set(MATERIALS)
            assert set(features.split(",")) <= set(FEATURES)
            assert set(uses.split(",")) <= set(USES)
    for sentences in (*MATERIALS.values(), *FEATURES.values(), *USES.values()):
        assert len(sentences) >= 2
        assert all(sentence[0].isupper() or sentence[0].isdigit() for sentence in sentences)
        assert all(sentence.endswith(".") for sentence in sentences)


def test_rows_are_readable_and_aligned():
    data = make_texts(500, n_labels=300)
    assert data.x is None
    assert data.y.shape == (500, 300)
    assert list(data.label_names) == sorted(set(data.label_names))
    assert {"hiking boots", "cast iron skillet", "waterproof"} <= set(data.label_names)
    assert len(set(data.texts)) > 490
    for text in data.texts:
        title, _, description = text.partition("\n")
        assert title[0].isupper()
        assert description.endswith(".")
        assert "{" not in text
        assert "  " not in text
    assert 3 < data.y.nnz / 500 < 6
    assert data.row_ids[0] == "item-000001"


def test_seed_decides_the_rows_and_the_size_the_columns():
    one, two, other = make_texts(50, seed=1), make_texts(50, seed=1), make_texts(50, seed=2)
    assert one.texts == two.texts
    assert (one.y != two.y).nnz == 0
    assert one.texts != other.texts
    assert one.label_names == other.label_names
    assert make_texts(20, seed=1).texts == one.texts[:20]
    assert set(tag_names(100)) < set(tag_names(300))


def test_tags_are_popular_like_zipf():
    seen = np.sort(np.asarray(make_texts(3000).y.sum(axis=0)).ravel())[::-1]
    assert seen[0] > 10 * np.median(seen) > 0


@pytest.mark.parametrize(("arguments", "words"), [
    ({"n_rows": 0}, "n_rows must be at least 1"),
    ({"n_rows": 5, "seed": -1}, "seed must be from 0 up"),
    ({"n_rows": 5, "n_labels": 0}, "n_labels must be from 1 to"),
    ({"n_rows": 5, "n_labels": 10**6}, "the tags of the catalogue"),
])  # fmt: skip
def test_wrong_sizes(arguments, words):
    with pytest.raises(ParamError, match=words):
        make_texts(**arguments)


def test_a_linear_model_learns_it_but_not_all_of_it():
    from sklearn.feature_extraction.text import TfidfVectorizer

    train, test = make_texts(2000), make_texts(400, seed=1)
    vectors = TfidfVectorizer(sublinear_tf=True)
    x = vectors.fit_transform(train.texts)
    weights = np.linalg.solve((x.T @ x).toarray() + np.eye(x.shape[1]), (x.T @ train.y).toarray())
    scores = vectors.transform(test.texts) @ weights
    best = np.argsort(-scores, axis=1)[:, :5]
    hits = np.take_along_axis(test.y.toarray(), best, axis=1)
    assert hits[:, 0].mean() > 0.85
    assert 0.5 < hits.mean() < 0.85
