"""scorer: metrics for scikit-learn's scoring=."""

import pickle

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

import labelwood as lw
from labelwood.errors import ParamError

TEXTS = ["red apple", "green apple", "red car", "green car", "old car", "old apple"] * 3
LABELS = [["fruit"], ["fruit"], ["vehicle"], ["vehicle"], ["vehicle", "old"], ["fruit", "old"]] * 3


def test_it_says_what_evaluate_says():
    tagger = lw.Tagger("one-vs-all", n_threads=1).fit(TEXTS, LABELS)
    for metric in ("P@1", "nDCG@3", "PSP@2", "R@2", "micro-F1@1"):
        assert lw.scorer(metric)(tagger, TEXTS, LABELS) == tagger.evaluate(TEXTS, LABELS, ks=(int(metric[-1]),))[metric]


def test_pipelines_are_judged_by_their_last_step():
    steps = [("words", lw.TfidfVectorizer()), ("model", lw.OneVsAll(n_threads=1))]
    pipeline = Pipeline(steps).fit(TEXTS, LABELS)
    rows = pipeline[0].transform(TEXTS)
    assert lw.scorer("PSP@2")(pipeline, TEXTS, LABELS) == pipeline[1].evaluate(rows, LABELS, ks=(2,))["PSP@2"]


def test_more_answers_than_labels_are_fine():
    tagger = lw.Tagger("popular").fit(TEXTS, LABELS)
    assert lw.scorer("R@50")(tagger, TEXTS, LABELS) == 100


def test_it_can_be_sent_to_other_processes():
    assert repr(pickle.loads(pickle.dumps(lw.scorer("nDCG@5")))) == "scorer('nDCG@5')"


@pytest.mark.parametrize("metric", ["nDCG", "P@0", "P@", "@3", "", None, "P@1.5"])
def test_what_is_no_metric_is_refused(metric):
    with pytest.raises(ParamError, match="a metric is a name, @ and a number"):
        lw.scorer(metric)


def test_unknown_metrics_list_the_known_ones():
    tagger = lw.Tagger("popular").fit(TEXTS, LABELS)
    with pytest.raises(ParamError, match=r"unknown metric 'XX@3'.*nDCG@3"):
        lw.scorer("XX@3")(tagger, TEXTS, LABELS)


def test_strangers_are_refused():
    with pytest.raises(ParamError, match="judges models and taggers"):
        lw.scorer("P@1")(object(), np.zeros((1, 1)), [[1]])
