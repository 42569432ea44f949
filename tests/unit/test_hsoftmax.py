"""HSoftmax, its label codes and its text features."""

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.errors import DataError, ModelFileError, ParamError
from labelwood.features.bag import BagVectorizer
from labelwood.labelindex.codes import LabelCodes, label_codes
from labelwood.labelindex.hierarchy import tree_from_clusters
from labelwood.labelindex.huffman import huffman_tree
from labelwood.models.hsoftmax import first_vectors, mean_weights
from labelwood.models.linear.weight_blocks import Rows
from labelwood.models.vector_storage import StoredVectors

TEXTS = ["apple pie with apple", "red apple", "pie crust", "blue sky", "sky and sea", "the blue sea"] * 4
LABELS = [["food", "fruit"], ["fruit"], ["food"], ["nature"], ["nature", "water"], ["water"]] * 4


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    y = (random.random((60, 9)) < 0.2).astype(np.float32)
    x = y @ random.random((9, 14)).astype(np.float32)
    x[x < 0.5] = 0
    return sparse.csr_matrix(x), sparse.csr_matrix(y)


class TestCodes:
    def test_paths_and_depths_are_the_trees(self):
        tree = huffman_tree([8, 4, 2, 1, 1])
        codes = label_codes(tree)
        np.testing.assert_array_equal(codes.depths(), tree.depth_of_labels())
        assert [len(codes.path(label)) for label in range(5)] == codes.depths().tolist()
        assert codes.n_inner == 4

    def test_wide_trees_are_cut_in_two_with_the_heaviest_part_on_top(self):
        tree = tree_from_clusters([("a",), ("a",), ("a",), ("b",), ("c", "d"), ()])
        codes = label_codes(tree, weights=[100, 1, 1, 1, 1, 1])
        assert sorted(set(range(6))) == sorted(~codes.child[codes.child < 0])
        assert codes.depths()[0] == codes.depths().min()
        shared = [{place >> 1 for place in codes.path(label)} for label in (0, 1, 2)]
        assert set.intersection(*shared) > {0}  # the cluster a stays together below the root

    def test_single_label(self):
        codes = label_codes(huffman_tree([3]))
        assert (codes.n_inner, codes.path(0), codes.depths().tolist()) == (0, [], [0])

    def test_saved_codes_come_back_and_damage_is_refused(self):
        codes = label_codes(huffman_tree([5, 3, 2, 1]))
        again = LabelCodes.from_arrays(codes.to_arrays(), 4)
        np.testing.assert_array_equal(again.place_of_label, codes.place_of_label)
        damaged = codes.child.copy()
        damaged[0] = 1
        damaged[-1] = 0
        for child in (damaged, codes.child[:-1]):
            with pytest.raises(ModelFileError, match="label codes"):
                LabelCodes.from_arrays({"child": child}, 4)

    def test_weights_must_fit(self):
        with pytest.raises(DataError, match="one number for each of 3"):
            label_codes(huffman_tree([1, 2, 3]), [1.0])


class TestMeans:
    def test_sizes_sum_to_one_with_the_constant_feature(self):
        rows = Rows(np.array([0, 3, 3, 4]), np.array([0, 1, 2, 0], np.int32), np.array([2, -1, 3, 1e30], np.float32))
        weighed, bias = mean_weights(rows, "values")
        np.testing.assert_allclose(weighed.data, [0.25, -0.125, 0.375, 0.5])
        np.testing.assert_allclose(bias, [0.25, 1, 0.5])
        equal, _ = mean_weights(rows, "equal")
        np.testing.assert_allclose(equal.data, [0.25, 0.25, 0.25, 0.5])

    @pytest.mark.parametrize("dim", [1, 10, 100])
    def test_first_vectors_have_the_same_length_at_every_dimension(self, dim):
        vectors = first_vectors(3000, dim, 112, 1.5, 7)
        assert vectors.shape == (3000, 112)
        assert not vectors[:, dim:].any()
        limit = 1.5 / np.sqrt(dim)
        assert 0.99 * limit < vectors.max() <= limit * 1.0001
        assert -limit * 1.0001 <= vectors.min() < -0.99 * limit
        np.testing.assert_allclose((vectors**2).sum(axis=1).mean(), 1.5**2 / 3, rtol=0.05)
        np.testing.assert_array_equal(vectors, first_vectors(3000, dim, 112, 1.5, 7))
        assert not np.array_equal(vectors, first_vectors(3000, dim, 112, 1.5, 8))

    def test_start_must_be_positive(self, rows):
        with pytest.raises(ParamError, match="start"):
            lw.HSoftmax(start=0).fit(*rows)

    def test_storages_keep_the_vectors(self):
        vectors = np.random.default_rng(1).standard_normal((7, 16)).astype(np.float32)
        for storage, error in (("float", 0), ("half", 2e-3), ("byte", 0.02)):
            kept = StoredVectors.of(vectors, storage).floats(np.arange(7))
            assert np.abs(kept - vectors).max() <= error


class TestModel:
    def test_a_given_tree_is_used(self, rows):
        x, y = rows
        tree = tree_from_clusters([(label // 3,) for label in range(9)])
        model = lw.HSoftmax(dim=8, epochs=2, n_threads=1).fit(x, y, tree=tree)
        assert model.structure()["deepest label"] <= 4
        with pytest.raises(DataError, match="the given tree has 9 labels, but y has 8"):
            model.fit(x, y[:, :8], tree=tree)

    def test_smaller_storage_answers_nearly_the_same(self, rows):
        x, y = rows
        tops = {s: lw.HSoftmax(storage=s, n_threads=1).fit(x, y).predict(x, 3) for s in ("float", "half", "byte")}
        np.testing.assert_allclose(tops["half"].scores, tops["float"].scores, atol=0.01)
        np.testing.assert_allclose(tops["byte"].scores, tops["float"].scores, atol=0.08)

    def test_min_count_leaves_rare_features_out(self, rows):
        x, y = rows
        limits = (1, int(np.median(np.bincount(x.indices))) + 1, 61)
        used = [lw.HSoftmax(min_count=n, epochs=1, n_threads=1).fit(x, y).structure()["vectors"] for n in limits]
        assert used[0] > used[1] > used[2] == 1

    def test_a_rate_out_of_bounds_says_so(self, rows):
        with pytest.raises(ParamError, match="try a smaller rate"):
            lw.HSoftmax(rate=1e30, n_threads=1).fit(*rows)

    def test_figures(self, rows):
        x, y = rows
        model = lw.HSoftmax(tree="huffman", n_threads=1).fit(x, y)
        figures = model.search_figures(x, 2)
        assert 1 <= figures["depth@2"] <= model.structure()["deepest label"]
        assert figures["nodes@2"] <= 8
        assert model.search_figures(x[:0], 2) == {}

    def test_memory_is_estimated_from_above_and_kept_to(self, rows):
        x, y = rows
        assert lw.HSoftmax().estimate_memory(x, y) > 8 * 128 * 14
        with pytest.raises(lw.BudgetError, match="would need about"):
            lw.HSoftmax().fit(x, y, memory=1000)


class TestTexts:
    def test_counts_of_words_and_runs(self):
        bag = BagVectorizer(word_ngrams=2, buckets=50, n_threads=1)
        x = bag.fit_transform(["b a b", "C"])
        assert bag.feature_names[:3] == ["a", "b", "c"]
        assert x.shape == (2, bag.n_features_) == (2, 53)
        np.testing.assert_array_equal(x[:, :3].toarray(), [[1, 2, 0], [0, 0, 1]])
        assert x[0, 3:].sum() == 2  # "b a" and "a b"
        assert (abs(bag.transform(["b a b", "C"]) - x)).nnz == 0
        assert bag.transform(["zzz a"])[:, 3:].sum() == 1

    def test_rare_words_are_left_out(self):
        bag = BagVectorizer(word_ngrams=1, min_count=2, n_threads=1).fit(["a a b"])
        assert bag.feature_names == ["a"]
        with pytest.raises(DataError, match="no words left"):
            BagVectorizer(min_count=9).fit(["a b"])

    def test_damage_is_refused(self):
        bag = BagVectorizer(n_threads=1).fit(TEXTS)
        again = BagVectorizer.from_arrays(bag.fitted_.arrays(), bag.fitted_.facts())
        assert (again.transform(TEXTS) != bag.transform(TEXTS)).nnz == 0
        with pytest.raises(ModelFileError, match="format"):
            BagVectorizer.from_arrays(bag.fitted_.arrays(), {**bag.fitted_.facts(), "token_format": 99})
        with pytest.raises(ModelFileError, match="'words_bytes' is missing"):
            BagVectorizer.from_arrays({}, bag.fitted_.facts())
        twice = {"words_bytes": np.frombuffer(b"aa", np.uint8), "words_offsets": np.array([0, 1, 2])}
        with pytest.raises(ModelFileError, match="twice"):
            BagVectorizer.from_arrays(twice, bag.fitted_.facts())

    def test_a_tagger_learns_from_raw_texts(self, tmp_path):
        tagger = lw.Tagger(
            "hsoftmax", n_threads=1, features={"buckets": 100}, model_params={"dim": 16, "epochs": 60}
        ).fit(TEXTS, LABELS)
        assert tagger.predict(["a red apple"], k=1)[0][0][0] == "fruit"
        tagger.save(tmp_path / "t")
        assert lw.load(tmp_path / "t").predict(TEXTS) == tagger.predict(TEXTS)
        assert any(word == "apple" for word, _ in tagger.explain("red apple", "fruit").words)

    def test_fasttext_training_lines_are_read_as_they_are(self, tmp_path):
        lines = [
            " ".join(f"__label__{n}" for n in names) + f" {text}" for text, names in zip(TEXTS, LABELS, strict=True)
        ]
        (tmp_path / "train.txt").write_text("\n".join(lines))
        data = lw.read(tmp_path / "train.txt")
        tagger = lw.Tagger("hsoftmax", n_threads=1, model_params={"dim": 16, "epochs": 60}).fit(data)
        assert tagger.predict(["blue sky"], k=1)[0][0][0] == "nature"


def test_labels_of_equal_frequency_lie_in_huffmans_tree_by_number_or_by_chance():
    """By chance the codes are other ones of the same lengths, and do not follow how labels are numbered."""
    y = sparse.csr_matrix(np.tile(np.eye(16, dtype=np.float32), (4, 1)))
    y = sparse.vstack([y, sparse.csr_matrix(np.eye(3, 16, dtype=np.float32))], format="csr")
    x = sparse.csr_matrix(y @ sparse.eye(16, 20, format="csr", dtype=np.float32))

    def codes(**settings):
        model = lw.HSoftmax(tree="huffman", epochs=20, **settings).fit(x, y)
        assert lw.evaluate(model.predict(x, 1), y, ks=[1])["P@1"] == 100
        return model.fitted_.codes

    by_number, by_chance, again = codes(), codes(ties="chance"), codes(ties="chance")
    assert not np.array_equal(by_number.place_of_label, by_chance.place_of_label)
    np.testing.assert_array_equal(by_chance.place_of_label, again.place_of_label)
    other = codes(ties="chance", seed=5)
    assert not np.array_equal(other.place_of_label, by_chance.place_of_label)
    lengths = [lw.HSoftmax(tree="huffman", ties=ties, epochs=1).fit(x, y).structure() for ties in ("number", "chance")]
    assert lengths[0] == lengths[1]
