"""KeptRows: rows that go in come out, as matrices, in part, joined, saved; damage is refused."""

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.errors import ModelFileError
from labelwood.tagger.kept_rows import KeptRows, group_hashes, id_hashes, kept_bytes, no_rows, text_hashes


def some(n=5, seed=0):
    random = np.random.default_rng(seed)
    x = sparse.random(n, 7, 0.4, format="csr", dtype=np.float32, random_state=random)
    y = sparse.csr_matrix((random.random((n, 3)) < 0.4).astype(np.float32))
    return x, y, text_hashes([f"text {row}" for row in range(n)])


def test_rows_come_back_as_half_floats():
    x, y, texts = some()
    kept = KeptRows.of(x, y, texts, id_hashes(["a", "", "c", "d", "e"]))
    np.testing.assert_array_equal(kept.x(7).toarray(), x.toarray().astype(np.float16))
    np.testing.assert_array_equal(kept.y(3).toarray(), y.toarray())
    assert kept.x(9).shape == (5, 9)
    assert kept.arrays["ids"][1] == 0
    assert kept.nbytes <= kept_bytes(x, y)
    large = KeptRows.of(sparse.csr_matrix([[1e9]], dtype=np.float32), y[:1], text_hashes(["t"]))
    assert large.x(1).toarray()[0, 0] == 65504


def test_parts_and_what_is_joined():
    (x, y, texts), (x2, y2, texts2) = some(), some(4, seed=1)
    kept = KeptRows.of(x, y, texts).joined(KeptRows.of(x2, y2, texts2, first_number=5))
    assert (len(kept), kept.n_pending, kept.first_pending) == (9, 4, 5)
    both = sparse.vstack([x, x2]).toarray().astype(np.float16)
    places = np.array([0, 2, 5, 8])
    part = kept.take(places)
    np.testing.assert_array_equal(part.x(7).toarray(), both[places])
    np.testing.assert_array_equal(part.y(3).toarray(), sparse.vstack([y, y2]).toarray()[places])
    assert part.n_pending == 2
    assert part.arrays["numbers"].tolist() == [0, 2, 5, 8]
    assert part.renumbered().arrays["numbers"].tolist() == [0, 1, 2, 3]
    pending = kept.pending()
    np.testing.assert_array_equal(pending.x(7).toarray(), x2.toarray().astype(np.float16))
    assert not pending.whole
    assert kept.learnt().n_pending == 0
    assert len(no_rows()) == 0
    assert len(no_rows().joined(kept)) == 9


def test_a_label_that_takes_the_place_of_another():
    y = sparse.csr_matrix(np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1]], np.float32))
    x, texts = sparse.csr_matrix((3, 2), dtype=np.float32), text_hashes(["a", "b", "c"])
    moved, had = KeptRows.of(x, y, texts).with_label(0, 1)
    np.testing.assert_array_equal(moved.y(3).toarray(), [[0, 1, 0], [0, 1, 0], [0, 0, 1]])
    assert had.tolist() == [0, 1]


def test_hashes_know_texts_and_ids():
    assert text_hashes(["a  b\n"])[0] == text_hashes([" a b"])[0] != text_hashes(["ab"])[0]
    assert id_hashes([" "])[0] == 0
    assert id_hashes(["7"])[0] == id_hashes([7])[0] != 0


def test_hashes_know_groups_as_texts_and_as_numbers():
    assert len(set(group_hashes([7, 7.0, "7", " 7 "]).tolist())) == 1
    assert len(set(group_hashes([7, 7.5, "7.0", float("inf")]).tolist())) == 4
    assert group_hashes([None, float("nan"), "", " "]).tolist() == [0] * 4


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("x_start", 99, "x is no matrix of 5 rows"),
        ("x_columns", 99, r"x has columns outside 0\.\.6"),
        ("y_columns", -1, r"y has columns outside 0\.\.2"),
        ("x_values", 0x7C00, "x holds numbers that are not finite"),
    ],
)
def test_damage_is_found_when_rows_are_used(name, damage, message):
    x, y, texts = some()
    kept = KeptRows.of(x, y, texts)
    kept.arrays[name][-1] = damage
    restored = KeptRows.restore(kept.arrays, kept.facts())
    with pytest.raises(ModelFileError, match=message):
        (restored.x(7), restored.y(3))


@pytest.mark.parametrize("facts", [{}, [], {"n_pending": 9, "whole": True}, {"n_pending": 0, "whole": 1}])
def test_facts_that_do_not_fit_are_refused(facts):
    kept = KeptRows.of(*some())
    with pytest.raises(ModelFileError):
        KeptRows.restore(kept.arrays, facts)
    with pytest.raises(ModelFileError, match="missing"):
        KeptRows.restore({name: kept.arrays[name] for name in list(kept.arrays)[1:]}, kept.facts())


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("y_columns", -1, "y has columns outside"),
        ("y_columns", 3, "y has columns outside"),
        ("numbers", -1, "numbers outside"),
        ("numbers", np.iinfo(np.int64).max, "numbers outside"),
    ],
)
def test_damaged_labels_and_numbers_are_refused_before_they_are_used(name, value, message):
    x, y, texts = some()
    kept = KeptRows.of(x, y, texts)
    kept.check(3)
    no_rows().check(0)
    kept.arrays[name][-1] = value
    with pytest.raises(ModelFileError, match=message):
        kept.check(3)
    tagger = lw.Tagger("one-vs-all", n_threads=1).fit(["one text", "two texts"], [["a"], ["b"]])
    tagger.fitted_.kept.arrays[name][-1] = value
    for use in (tagger.label_table, lambda: tagger.learn(["three texts"], [["c"]])):
        with pytest.raises(ModelFileError, match=message):
            use()
