"""The ensemble with a ranker: what its sides find, and that the whole learns, saves, explains and repeats."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import labelwood
from labelwood.errors import DataError, ModelFileError, ParamError
from labelwood.matrices import normalized_rows
from labelwood.metrics.propensity import inverse_propensity
from labelwood.models.ensemble import boosting, fitted, near_rows, network
from labelwood.models.ensemble.boosting import BoostedTrees
from labelwood.models.ensemble.cross_fitting import Lessons, held_parts, ranks, with_unseen
from labelwood.models.ensemble.label_words import LabelWords, without_qualifier, words_of
from labelwood.models.ensemble.model import Ensemble, members_inside
from labelwood.models.ensemble.name_phrases import NamePhrases
from labelwood.models.ensemble.near_rows import N_NEAR, NearRows, row_codes
from labelwood.models.ensemble.pairs import beside_each_other
from labelwood.models.ensemble.ranked import Ranked, likely
from labelwood.models.ensemble.sides import Sides, column_names
from labelwood.models.ensemble.text_view import largest_of_rows
from labelwood.models.ensemble.together import Together
from labelwood.models.fit_input import checked_input
from labelwood.models.persistence import restored, state_of
from labelwood.storage.compressed import compressed, expanded
from labelwood.topk import TopK, empty

N_LABELS, N_WORDS = 40, 200


def named_problem(n_rows=1000, seed=0, n_labels=N_LABELS, n_words=N_WORDS):
    """Rows of words: two words of their own for most labels, which are the label's name, and five of no label."""
    random = np.random.default_rng(seed)
    y = np.zeros((n_rows, n_labels), np.float32)
    x = np.zeros((n_rows, n_words), np.float32)
    chances = np.arange(1, n_labels + 1) ** -0.5
    for row in range(n_rows):
        labels = random.choice(n_labels, 2, replace=False, p=chances / chances.sum())
        y[row, labels] = 1
        for label in labels:
            if random.random() < 0.8:
                x[row, [2 * label, 2 * label + 1]] = random.uniform(0.5, 1, 2)
        x[row, random.integers(2 * n_labels, n_words, 5)] = random.uniform(0.2, 0.6, 5)
    words = [f"word{n}" for n in range(n_words)]
    names = [f"Word{2 * n}s word{2 * n + 1}" for n in range(n_labels)]
    return labelwood.Dataset(sparse.csr_matrix(x), sparse.csr_matrix(y), label_names=names, feature_names=words)


@pytest.fixture(scope="module", autouse=True)
def small_networks():
    """Networks that are trained in no time: what they add is tested elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network, "N_HIDDEN", 16)
        yield


@pytest.fixture(scope="module")
def data():
    return named_problem()


@pytest.fixture(scope="module")
def trained(data):
    return Ensemble(n_threads=1, ranker_rows=300).fit(data)


def test_names_of_rare_labels_beat_the_trees_on_new_rows():
    known, new = (named_problem(seed=seed, n_labels=700, n_words=1600) for seed in (0, 1))
    ranked = Ensemble(n_threads=1, ranker_rows=300).fit(known)
    trees = labelwood.LinearTree(n_trees=3, n_threads=1).fit(known)
    assert ranked.score(new) > trees.score(new) + 5


def test_same_seed_same_bytes_for_any_threads(trained, data):
    again = Ensemble(n_threads=2, ranker_rows=300).fit(data)
    ours, theirs = trained.fitted_.arrays(), again.fitted_.arrays()
    assert set(ours) == set(theirs)
    for name in ours:
        assert ours[name].tobytes() == theirs[name].tobytes(), name


def test_saved_and_loaded(trained, data, tmp_path):
    trained.save(tmp_path / "m")
    loaded = labelwood.load(tmp_path / "m")
    before, after = trained.predict(data, 7), loaded.predict(data, 7)
    np.testing.assert_array_equal(before.labels, after.labels)
    np.testing.assert_array_equal(before.scores, after.scores)


def test_the_chances_of_other_candidates_are_looked_at(trained, data):
    ranked = trained.fitted_.ranked
    keys, table = ranked.sides.table(data.x[:40], 1)
    chances = likely(ranked.first.margins(table, 1))
    again = ranked.sides.again(keys, chances, 2)
    shares = ranked.sides.beside.shares.toarray()
    for row in range(0, 40, 9):
        mine = keys // N_LABELS == row
        labels, p = keys[mine] % N_LABELS, chances[mine]
        order = np.lexsort((labels, -p))
        wanted = np.zeros((len(p), 8))
        wanted[:, 0], wanted[order, 1] = p, np.arange(len(p))
        for i, best in enumerate(order[:10]):
            wanted[:, 2] += p[best] * shares[labels[best], labels]
            if i < 3:
                wanted[:, 3 + i] = shares[labels[best], labels]
                wanted[best, 3 + i] = -1
        wanted[:, 6], wanted[:, 7] = p.max(), p.sum()
        np.testing.assert_allclose(again[mine], wanted, rtol=1e-5, atol=1e-6)
    assert again[:, 2].max() > 0


def test_answers_are_those_of_both_rankers(trained, data):
    ranked = trained.fitted_.ranked
    keys, table = ranked.sides.table(data.x[:40], 1)
    chances = likely(ranked.first.margins(table, 1))
    second = likely(ranked.ranker.margins(np.hstack([table, ranked.sides.again(keys, chances, 1)]), 1))
    top = trained.predict(data.x[:40], 5)
    for row in range(40):
        mine = keys // N_LABELS == row
        order = np.lexsort((keys[mine], -second[mine]))[:5]
        np.testing.assert_array_equal(top.labels[row], keys[mine][order] % N_LABELS)
        np.testing.assert_allclose(top.scores[row], second[mine][order], rtol=1e-6)


def rows_of(near):
    """The rows of all entries of an index, column by column."""
    rows, code = [], iter(near.codes.tolist())
    for n_rows in np.diff(near.starts).tolist():
        row = -1
        for _ in range(n_rows):
            number = shift = 0
            while (byte := next(code)) >= 0x80:
                number, shift = number | (byte & 0x7F) << shift, shift + 7
            row += 1 + (number | byte << shift)
            rows.append(row)
    assert next(code, None) is None
    return np.array(rows, np.int32)


def as_earlier(ranked):
    """(facts, arrays) as versions saved them that compressed nothing."""
    facts = {**ranked.facts(), "bytes": True}
    del facts["compressed"], facts["mapped"]
    near = ranked.sides.near
    arrays = {name: array for name, array in ranked.parts().items() if not name.startswith("near.")}
    arrays |= {f"near.{name}": array for name, array in near.arrays().items() if name != "codes"}
    arrays["near.rows"] = rows_of(near)
    if ranked.sides.letters is not None:
        arrays |= {f"letters.{name}": array for name, array in ranked.sides.letters.arrays().items()}
    return facts, arrays


def test_folders_of_earlier_versions_have_rows_and_letters_as_they_are(data):
    both = with_texts(data)
    model = Ensemble(n_threads=1, ranker_rows=300, views="characters").fit(both)
    ranked = model.fitted_.ranked
    facts, arrays = as_earlier(ranked)
    arrays["letters.starts"] = arrays["letters.starts"].astype(np.int32)
    old = Ranked.restore(arrays, facts, ranked.sides.models, model.fitted_.trained_on, 0.0)
    rows = model._rows(both)
    np.testing.assert_array_equal(old.predict(rows, 5, 1).scores, ranked.predict(rows, 5, 1).scores)
    wide = {name: array for name, array in arrays.items() if name != "near.scale"}
    scale = np.repeat(ranked.sides.near.scale, np.diff(ranked.sides.near.starts))
    wide["near.values"] = (ranked.sides.near.values * scale).astype(np.float32)
    assert set(Ranked.schema({**facts, "bytes": False})) - {"view0."} == {n for n in wide if not n.startswith("view0.")}
    assert Ranked.schema({**facts, "bytes": False})["near.values"].dtype == "float32"
    older = Ranked.restore(wide, {**facts, "bytes": False}, ranked.sides.models, model.fitted_.trained_on, 0.0)
    np.testing.assert_allclose(older.predict(rows, 5, 1).scores, ranked.predict(rows, 5, 1).scores, rtol=1e-5)


@pytest.mark.parametrize(
    ("codes", "what"),
    [([0], "cut off"), ([0, 0x80], "cut off"), ([0, 2], "no row"), ([0, 1, 0], "left over"), ([0x80] * 9, "cut off")],
)
def test_codes_that_lead_to_no_row_are_refused(codes, what):
    x, y = matrix([[1.0], [0], [1]]), matrix([[1.0], [1], [1]])
    near = NearRows.of(x, y)
    assert near.codes.tolist() == [0, 1]
    with pytest.raises(ValueError, match=what):
        Sides((Silent(1),), replace(near, codes=np.array(codes, np.uint8)), None, Together.of(y), np.ones(1, np.int64))


def test_rows_far_apart_take_more_bytes():
    rows = np.array([0, 127, 128, 300, 16_500, 16_501, 2**31 - 2], np.int32)
    starts = np.array([0, 0, 5, 7])
    near = NearRows(starts, row_codes(starts, rows), np.zeros(7, np.int8), np.ones(3, np.float32), matrix([[1.0]]))
    np.testing.assert_array_equal(rows_of(near), rows)
    with pytest.raises(ModelFileError, match="do not rise"):
        row_codes(np.array([0, 2]), np.array([4, 4], np.int32))


def test_numbers_of_the_ranker_are_short(trained):
    ranker = trained.fitted_.ranked.ranker
    assert np.all(ranker.value / boosting.VALUE_STEP == np.rint(ranker.value / boosting.VALUE_STEP))
    assert np.all(ranker.threshold.view(np.uint32) & np.uint32(0xFFF) == 0)
    values = np.array([-3.14159, -1e-9, 0, 1e-9, 0.1, 0.999, 7, 4095], np.float32)
    up = boosting.rounded_up(values)
    assert np.all(up >= values)
    np.testing.assert_allclose(up, values, rtol=2**-11)
    np.testing.assert_array_equal(up[[2, 6, 7]], [0, 7, 4095])


def test_rows_are_read_from_their_codes():
    random = np.random.default_rng(0)
    starts = np.array([0, 3, 3, 9, 10])
    rows = np.concatenate([np.sort(random.choice(40_000, n, replace=False)) for n in np.diff(starts)]).astype(np.int32)
    codes = row_codes(starts, rows)
    np.testing.assert_array_equal(near_rows.rows_of(starts, codes, 40_000), rows)
    assert len(near_rows.rows_of(np.zeros(3, np.int64), codes[:0], 5)) == 0
    for damaged, n_rows in ((codes[:-1], 40_000), (codes, int(rows.max())), (np.append(codes, 0), 40_000)):
        with pytest.raises(ModelFileError, match="similar rows"):
            near_rows.rows_of(starts, damaged.astype(np.uint8), n_rows)
    with pytest.raises(ModelFileError, match="too long"):
        near_rows.rows_of(np.array([0, 1]), np.array([0x80] * 5 + [0], np.uint8), 40_000)


def test_values_that_are_alike_in_a_row_take_no_room(trained, data):
    near = NearRows.of((data.x > 0).astype(np.float32), data.y)
    assert near.is_small
    assert set(near.saved()["values"].tolist()) == {127}
    exact = normalized_rows((data.x > 0).astype(np.float32)).tocsc()
    scale = np.repeat(near.scale, np.diff(near.starts))
    np.testing.assert_allclose(near.values * scale, exact.data, atol=0.005)


@pytest.mark.parametrize("most_small", [0, 1 << 22])
def test_large_indexes_are_mapped_and_small_ones_compressed(data, tmp_path, monkeypatch, most_small):
    monkeypatch.setattr(near_rows, "MOST_SMALL", most_small)
    model = Ensemble(n_threads=1, ranker_rows=300).fit(data)
    names = {name for name in model.fitted_.arrays() if name.startswith("ranked.")}
    mapped = {"ranked.near.codes", "ranked.near.values"} if most_small == 0 else set()
    assert names == {"ranked.compressed", *mapped}
    model.save(tmp_path / "m")
    loaded = labelwood.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict(data.x[:50], 5).scores, model.predict(data.x[:50], 5).scores)
    ours, theirs = model.fitted_.ranked.sides.near, loaded.fitted_.ranked.sides.near
    assert ours.values.tobytes() == theirs.values.tobytes()


def test_every_view_has_one_tree(data):
    both = checked_input(with_texts(data))
    inside = members_inside(Ensemble(n_threads=1)._settings(), both)
    assert [inside[view].settings.n_trees for view in ("words", "pairs", "characters")] == [1, 1, 1]


@pytest.mark.parametrize("most_small", [0, 8_000_000])
def test_large_members_are_mapped_and_small_ones_compressed(trained, data, tmp_path, monkeypatch, most_small):
    monkeypatch.setattr(fitted, "_SMALL_MEMBERS", most_small)
    kept = {name for name in trained.fitted_.arrays() if not name.startswith("ranked.")}
    if most_small:
        assert kept == {"weights", "members"}
    else:
        assert "members" not in kept
        assert all(name == "weights" or name.startswith("member") for name in kept)
    trained.save(tmp_path / "m")
    loaded = labelwood.load(tmp_path / "m")
    top, again = trained.predict(data.x[:50], 5), loaded.predict(data.x[:50], 5)
    np.testing.assert_array_equal(again.labels, top.labels)
    np.testing.assert_array_equal(again.scores, top.scores)
    sizes = [sum(array.nbytes for array in model.fitted_.arrays().values()) for model in (loaded, trained)]
    assert sizes[0] == sizes[1]


def test_compressed_arrays_of_no_member_are_refused(trained):
    fields, arrays = state_of(trained.fitted_)
    inside = expanded(arrays["members"], "here")
    arrays["members"] = compressed({**inside, "member9.bias": np.zeros(1, np.float32)})
    with pytest.raises(ModelFileError, match=r"member9\.bias"):
        restored(fields, arrays, "here")


@pytest.mark.parametrize("mapped", ["near.", ["names."], None])
def test_parts_that_nobody_maps_are_refused(trained, mapped):
    with pytest.raises(ModelFileError, match="'mapped' names parts"):
        Ranked.schema({**trained.fitted_.ranked.facts(), "mapped": mapped})


def test_folders_of_earlier_versions_have_one_ranker(trained, data):
    ranked = trained.fitted_.ranked
    facts, arrays = as_earlier(ranked)
    del facts["first"]
    arrays = {name: array for name, array in arrays.items() if not name.startswith("first.")}
    arrays |= {f"ranker.{name}": array for name, array in ranked.first.arrays().items()}
    assert set(Ranked.schema(facts)) == set(arrays)
    assert set(Ranked.schema(ranked.facts())) == {"compressed"}
    trained_on = trained.fitted_.trained_on
    old = Ranked.restore(arrays, facts, ranked.sides.models, trained_on, 0.0)
    assert old.first is None
    keys, table = old.sides.table(data.x[:9], 1)
    top = old.predict(data.x[:9], 3, 1)
    for row in range(9):
        mine = likely(old.ranker.margins(table[keys // N_LABELS == row], 1))
        np.testing.assert_allclose(top.scores[row], np.sort(mine)[::-1][:3], rtol=1e-6)


def test_a_row_alone_is_answered_as_among_others(trained, data):
    batch = trained.predict(data, 5)
    for row in range(0, 60, 7):
        single = trained.predict(data.x[row], 5)
        np.testing.assert_array_equal(single.labels[0], batch.labels[row])
        np.testing.assert_array_equal(single.scores[0], batch.scores[row])


def test_stored_zeros_say_nothing(trained, data):
    rows = data.x[:20].copy()
    places, words = rows.nonzero()
    more = np.arange(20), np.full(20, N_WORDS - 1)  # a stored 0 in the last column of every row
    stored = np.concatenate([rows.data, np.zeros(20, np.float32)])
    both = np.concatenate([places, more[0]]), np.concatenate([words, more[1]])
    full = sparse.csr_matrix((stored, both), shape=rows.shape)
    assert full.nnz > rows.nnz
    np.testing.assert_array_equal(trained.predict(full, 5).scores, trained.predict(rows, 5).scores)


def test_an_explanation_names_the_sides_and_adds_up(trained, data):
    top = trained.predict(data.x[3], 3)
    label = int(top.labels[0, 0])
    why = trained.explain(data.x[3], label)
    assert why.score == pytest.approx(float(top.scores[0, 0]), rel=1e-5)
    assert 1 / (1 + math.exp(-why.total)) == pytest.approx(why.score, rel=1e-4)
    assert why.nodes[0].margin == pytest.approx(why.total)
    said = {c.side for c in why.contributions}
    assert any(side.startswith("the words say") for side in said)
    assert any(side.endswith("of the 5 most similar rows have it") for side in said)
    assert "its name is in the row" in why.text(data.feature_names)


def test_a_label_that_no_side_proposes_has_no_reasons(trained):
    empty = sparse.csr_matrix((1, N_WORDS), dtype=np.float32)
    answered = set(trained.predict(empty, N_LABELS).labels[0].tolist())
    for label in set(range(N_LABELS)) - answered:
        assert trained.explain(empty, label).contributions == ()


def test_few_rows_are_averaged_and_the_structure_says_so(data, trained):
    few = Ensemble(n_threads=1).fit(data.take(slice(0, 900)))
    assert "no ranker: fewer than 1000 rows" in few.structure()
    assert few.fitted_.ranked is None
    assert trained.structure()["words of label names"] == 2 * N_LABELS


def test_labels_without_names_are_ranked_too(data):
    plain = Ensemble(n_threads=1, ranker_rows=300).fit(data.x, data.y)
    assert plain.structure()["words of label names"] == 0
    assert plain.score(data.x, data.y) > 50


def test_damaged_trees_are_refused(trained):
    arrays = {name: array.copy() for name, array in trained.fitted_.ranked.ranker.arrays().items()}
    arrays["left"][0, 0] = 0  # back to the root
    with pytest.raises(ModelFileError, match="leads nowhere"):
        BoostedTrees.restore(arrays, 99)


# the sides


def test_words_of_a_name_are_stems():
    assert words_of("Bell-peppers, (Cherries) & potatoes glass") == ["bell", "pepper", "cherry", "potato", "glass"]


class Silent:
    """A model that answers nothing."""

    def __init__(self, n_features):
        self.n_features = n_features

    def inputs(self, x, texts):
        return x

    def predict(self, x, k, n_threads):
        return empty(x.shape[0], k)


def candidates_of(sides, rows):
    """{(row, label): {column: value}} of what the sides propose."""
    keys, table = sides.table(rows, 1)
    n_labels = len(sides.label_counts)
    return {
        divmod(key, n_labels): dict(zip(column_names(), item, strict=True))
        for key, item in zip(keys.tolist(), table.tolist(), strict=True)
    }


def matrix(rows):
    return sparse.csr_matrix(np.array(rows, np.float32))


def test_names_that_stand_in_a_row_are_proposed():
    x = matrix([[1, 1, 0, 0], [1, 0, 0, 1], [0, 0, 1, 0]])
    y = matrix([[1, 0, 0], [0, 1, 1], [0, 0, 0]])
    words = LabelWords.of(["bell peppers", "bells", "soup"], ["bell", "pepper", "tea", "soups"], x).judged(x, y)
    sides = Sides((Silent(4),), NearRows.of(x, y), words, Together.of(y), np.ones(3, np.int64))
    whole = {pair for pair, known in candidates_of(sides, x).items() if known["name: share"] > 0.97}
    assert whole == {(0, 0), (0, 1), (1, 1), (1, 2)}


def test_names_are_found_in_texts_word_by_word():
    phrases = NamePhrases.of(("p:chrome", "Chrome OS", "os", "red apples"))
    said = phrases.rows(["Chrome os and chrome", "apples, red", "a red apple"], 1)
    x, y = sparse.csr_matrix((3, 2), dtype=np.float32), matrix([[1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    sides = Sides(
        (Silent(2),), NearRows.of(x, y), None, Together.of(y), np.ones(4, np.int64), phrases.judged(said, y)
    )  # fmt: skip
    known = candidates_of(sides, beside_each_other([x, said]))
    found = {pair: [at[f"name: {c}"] for c in ("times", "alone", "first")] for pair, at in known.items()}
    assert found[0, 0] == pytest.approx([2, 1, 0])  # twice, once outside "chrome os"
    assert found[0, 1] == pytest.approx([1, 1, 0])
    assert found[0, 2] == pytest.approx([1, 0, math.log(2)])
    assert found[2, 3] == pytest.approx([1, 1, math.log(2)])
    assert set(found) == {(0, 0), (0, 1), (0, 2), (2, 3)}
    assert sides.phrases.right[0] > sides.phrases.right[2]


def test_every_name_of_a_label_is_looked_for():
    phrases = NamePhrases.of(("dogs\nfour-legged friend\nhounds", "cats"))
    times = phrases.rows(["a hound", "My four-legged friend", "dogs, hounds and cats"], 1)[:, :2].toarray()
    assert times.tolist() == [[1, 0], [1, 0], [2, 1]]
    kept = NamePhrases.restore(phrases.arrays())
    assert kept.label_names == phrases.label_names


def test_labels_are_found_by_what_they_are_called(data):
    ids = tuple(f"x:{label}" for label in range(data.n_labels))
    named = replace(data, label_names=ids, label_words=data.label_names)
    model, plain = (Ensemble(n_threads=1, ranker_rows=300).fit(rows) for rows in (named, data))
    assert np.array_equal(model.predict(data.x).labels, plain.predict(data.x).labels)
    assert model.label_names_ == ids


def test_texts_are_used_where_they_come(data, tmp_path):
    texts = [" ".join(data.feature_names[word] for word in row.indices) for row in data.x]
    both = replace(data, texts=texts)
    model = Ensemble(n_threads=1, ranker_rows=300).fit(both)
    assert model.structure()["names looked for in texts"] == N_LABELS
    with pytest.raises(DataError, match="trained on texts beside features"):
        model.predict(data.x)
    top = model.predict(both, 3)
    assert top.labels[0, 0] in data.y[0].indices
    why = model.explain(both.take([0]), int(top.labels[0, 0]))
    assert "its name is in the text, from word" in why.text()
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(labelwood.load(tmp_path / "m").predict(both, 3).scores, top.scores)


def with_texts(data):
    """The same rows with their words as texts."""
    texts = [" ".join(data.feature_names[word] for word in row.indices) + " x" for row in data.x]
    return replace(data, texts=texts)


def test_views_of_texts_have_models_of_their_own(data, tmp_path):
    both = with_texts(data)
    model = Ensemble(n_threads=1, ranker_rows=300, views="characters,pairs").fit(both)
    assert model.structure()["pairs, columns"] > 20
    assert model.structure()["characters, columns"] > 100
    top = model.predict(both, 3)
    assert model.evaluate(both)["P@1"] > 80
    said = {c.side for c in model.explain(both.take([0]), int(top.labels[0, 0])).contributions}
    assert any(side.startswith("the characters say") for side in said)
    assert any(side.startswith("the pairs say") for side in said)
    single = model.predict(both.take([5]), 3)
    np.testing.assert_array_equal(single.labels[0], top.labels[5])
    np.testing.assert_array_equal(single.scores[0], top.scores[5])
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(labelwood.load(tmp_path / "m").predict(both, 3).scores, top.scores)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(both, 3).scores, top.scores)


def test_a_view_by_which_held_out_rows_do_not_gain_is_left_out(data, monkeypatch):
    monkeypatch.setattr(Lessons, "quality", lambda lessons, settings: np.full(9, -lessons.table.shape[1]))
    model = Ensemble(n_threads=1, ranker_rows=300).fit(with_texts(data))
    assert model.fitted_.ranked.sides.views == ()
    assert model.predict(with_texts(data), 3).labels[0, 0] in data.y[0].indices


def test_quality_is_the_ndcg_of_rows_that_the_ranker_has_not_seen(data):
    random = np.random.default_rng(0)
    y = sparse.csr_matrix(random.random((600, 10)) < 0.2, dtype=np.float32)
    keys = np.arange(6000)
    told = y.toarray().ravel().astype(np.float32)
    guessed = random.random(6000).astype(np.float32)
    good, bad = (Lessons(keys, np.column_stack([column, guessed]), y) for column in (told, guessed))
    settings = Ensemble(n_threads=1)._settings()
    filled = np.mean(np.diff(y.indptr) > 0)
    assert good.quality(settings).mean() == pytest.approx(filled, abs=1e-6)
    assert bad.quality(settings).mean() < 0.8 * filled


def test_the_ranker_learns_what_to_think_of_labels_without_rows():
    few = checked_input(named_problem(n_labels=700, n_words=1600))
    before = np.bincount(few.y.indices, minlength=700)
    gone = []
    for part in (1, 2):
        after = np.bincount(with_unseen(few, 0, part).y.indices, minlength=700)
        gone.append((before > 0) & (after == 0))
        assert 0.05 * 700 < gone[-1].sum() < 0.15 * 700
        np.testing.assert_array_equal(before[~gone[-1]], after[~gone[-1]])
    assert np.any(gone[0] != gone[1])
    assert np.median(before) < before[gone[0] | gone[1]].max() <= 20 < before.max()  # up to a fiftieth of the rows


def test_no_label_is_hidden_where_all_have_rows(data, monkeypatch):
    monkeypatch.setattr("labelwood.models.ensemble.cross_fitting.with_unseen", None)
    Ensemble(n_threads=1, ranker_rows=300).fit(data)


def test_a_label_without_rows_is_proposed_beside_one_with_an_alike_name():
    x, y = matrix([[1.0], [1], [1]]), matrix([[1.0, 1, 0, 0]] * 3)
    beside = Together.of(y, ("red apples", "red apple trees", "red apple pies", "bolts"), 1)

    class First(Silent):
        def predict(self, x, k, n_threads):
            top = empty(x.shape[0], k)
            top.labels[:, 0], top.scores[:, 0] = 0, 1
            return top

    sides = Sides((First(1),), NearRows.of(x, y), None, beside, np.array([3, 3, 0, 0]))
    found = candidates_of(sides, x[:1])
    assert {label for _, label in found} == {0, 1, 2}
    assert found[0, 2]["beside: beside"] > 0


def test_views_that_cannot_be_are_refused(data):
    with pytest.raises(DataError, match="needs texts"):
        Ensemble(n_threads=1, views="characters").fit(data)
    with pytest.raises(ParamError, match="unknown view"):
        Ensemble(n_threads=1, views="charaters").fit(with_texts(data))


def test_rare_labels_are_favoured(data):
    plain = Ensemble(n_threads=1, ranker_rows=300).fit(data)
    rare = Ensemble(n_threads=1, ranker_rows=300, favour=1).fit(data)
    weights = inverse_propensity(data.y)
    expected = plain.predict(data, N_LABELS).to_csr(N_LABELS).toarray() * (weights / weights.max())
    np.testing.assert_allclose(rare.predict(data, N_LABELS).to_csr(N_LABELS).toarray(), expected, rtol=1e-5, atol=1e-7)
    top = rare.predict(data.x[0], 1)
    assert rare.explain(data.x[0], int(top.labels[0, 0])).score == pytest.approx(float(top.scores[0, 0]), rel=1e-5)


def test_the_largest_values_of_rows_stay():
    rows = matrix([[1, 3, 2, 3], [0, 1, 0, 0], [2, 2, 2, 2]])
    kept = [[0, 3, 0, 3], [0, 1, 0, 0], [2, 2, 0, 0]]
    np.testing.assert_array_equal(largest_of_rows(rows, 2).toarray(), kept)
    assert largest_of_rows(rows, 4) is rows


def test_a_tagger_hands_texts_on(data):
    texts = [" ".join(data.feature_names[word] for word in row.indices) + " x" for row in data.x]
    tagger = labelwood.Tagger("ensemble", n_threads=1, model_params={"ranker_rows": 300}).fit(
        labelwood.Dataset(None, data.y, texts, data.label_names)
    )
    assert tagger.model_.structure()["names looked for in texts"] == N_LABELS
    (best, chance), *_ = tagger.predict(texts[:1], 1)[0]
    assert data.label_names.index(best) in data.y[0].indices
    assert tagger.explain(texts[0], best).score == pytest.approx(chance, rel=1e-4)


def test_nearest_rows_are_those_of_a_full_product():
    random = np.random.default_rng(2)
    x = sparse.random(200, 50, 0.1, "csr", np.float32, random_state=random)
    y = sparse.random(200, 20, 0.1, "csr", np.float32, random_state=random)
    y.data[:] = 1
    queries = sparse.random(30, 50, 0.1, "csr", np.float32, random_state=random)
    sides = Sides((Silent(50),), NearRows.of(x, y), None, Together.of(y), np.ones(20, np.int64))
    unit = queries.toarray() / np.maximum(np.linalg.norm(queries.toarray(), axis=1, keepdims=True), 1e-12)
    near = sides.near
    kept = sparse.csr_matrix((near.values, rows_of(near), near.starts), shape=(50, 200)).toarray() * near.scale[:, None]
    rows = x.toarray() / np.maximum(np.linalg.norm(x.toarray(), axis=1, keepdims=True), 1e-12)
    np.testing.assert_allclose(kept.T, rows, atol=0.01)
    similar = unit @ kept
    assert (similar > 0).sum() > N_NEAR * 30
    for (row, label), known in candidates_of(sides, queries).items():
        near = [r for r in np.argsort(-similar[row], kind="stable")[:N_NEAR] if similar[row, r] > 0]
        has = y.toarray()[near, label] * similar[row, near]
        assert known["similar rows: votes"] == pytest.approx(has.sum() / similar[row, near].sum(), abs=1e-5)
        assert known["similar rows: closest"] == pytest.approx(has.max(), abs=1e-5)
        assert known["similar rows: first five"] == np.count_nonzero(has[:5])
        assert known["row: closest row"] == pytest.approx(similar[row].max(), abs=1e-5)


def test_companions_are_shares_of_rows():
    y = matrix([[1, 1, 0], [1, 1, 0], [1, 0, 1]])
    beside = Together.of(y)
    assert beside.shares.toarray()[0].tolist() == pytest.approx([0, 2 / 6, 0])  # once together is an accident
    model = Silent(2)
    model.predict = lambda x, k, n_threads: TopK.from_lists([[(0, 0.5)]], 3)
    x = sparse.csr_matrix((3, 2), dtype=np.float32)
    known = candidates_of(Sides((model,), NearRows.of(x, y), None, beside, np.ones(3, np.int64)), x[:1])
    assert known[0, 1]["beside: beside"] == pytest.approx(0.5 * 2 / 6)
    assert set(known) == {(0, 0), (0, 1)}


@pytest.mark.parametrize(("n_rows", "n_parts"), [(1000, 3), (4000, 1)])
def test_no_row_is_asked_of_what_learnt_from_it(n_rows, n_parts):
    parts = held_parts(n_rows, 1000, 0)
    assert len(parts) == n_parts
    for held, kept in parts:
        assert not set(held.tolist()) & set(kept.tolist())
    asked = np.concatenate([held for held, _ in parts])
    assert len(set(asked.tolist())) == len(asked) == 1000


def test_margins_are_what_the_nodes_say():
    random = np.random.default_rng(3)
    features = random.normal(size=(2000, 4)).astype(np.float32)
    hits = features[:, 0] * features[:, 1] > 0.3
    ranker = BoostedTrees.fit(features, hits, 0, 1)
    margins = ranker.margins(features, 2)
    assert np.mean((margins > 0) == hits) > 0.95
    for item in (0, 17, 99):
        added, rest = ranker.contributions(features[item])
        assert added.sum() + rest == pytest.approx(float(margins[item]), abs=1e-4)


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("beekeeping (husbandry)", "beekeeping"),
        ("films (works) (old)", "films (works)"),
        ("(unnamed)", "(unnamed)"),
        ("f(x)", "f(x)"),
        ("plain", "plain"),
    ],
)
def test_brackets_at_the_end_of_a_name_tell_it_apart_and_are_no_part_of_it(name, bare):
    assert without_qualifier(name) == bare


def test_names_with_brackets_are_found_in_texts_without_them():
    found = NamePhrases.of(("beekeeping (husbandry)", "films")).rows(["A guide to beekeeping"], 1)
    assert found[0, 0] == 1
    assert found[0, 1] == 0


def test_a_ranker_that_is_asked_for_by_name_needs_few_rows(data):
    few = data.take(np.arange(300))
    assert Ensemble(n_threads=1).fit(few).fitted_.ranked is None
    named = Ensemble(models="ranked", n_threads=1, ranker_rows=100).fit(few)
    assert named.fitted_.ranked is not None
    assert named.finds_by_name(300)
    with pytest.raises(ParamError, match="needs 100 rows"):
        Ensemble(models="ranked").fit(data.take(np.arange(50)))


def test_models_that_judge_a_ranked_one_rank_too(trained):
    """Four fifths of 1,000 rows are fewer than a ranker has by default: their scores would say nothing about it."""
    assert not ranks(trained.fitted_.settings, 800)
    assert ranks(trained.fitted_.repeated_settings(), 800)
