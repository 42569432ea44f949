"""Progress: silent by default, a callback where somebody listens."""

import numpy as np
import pytest

import labelwood as lw
from labelwood.calibration.fit import outlined
from labelwood.calibration.rule import Assignment
from labelwood.data.madeup.shop_texts import make_texts
from labelwood.models.fit_input import checked_input
from labelwood.progress import SILENT, WHOLE, Callback, Outlined, Stage, begin_stage, named_progress


def test_silent_takes_everything():
    SILENT.step("reading", 0, 0)


def test_callback_passes_every_report_on():
    seen = []
    progress = Callback(lambda *report: seen.append(report))
    progress.step("reading", 1, 10)
    progress.step("training", 0, 0)
    assert seen == [("reading", 1, 10), ("training", 0, 0)]


def test_the_time_of_all_stages_goes_by_those_that_are_over():
    now, told = [0.0], []
    stages = [Stage("side", 10), Stage("ranker", 4, 5.0), Stage("side", 20), Stage("side", 20)]
    progress = Outlined(Callback(lambda *report: told.append(report)), stages, clock=lambda: now[0])

    def left():
        told.clear()
        named_progress(progress, "part 1").step("classifiers", 1, 2)
        assert told[-1] == ("part 1: classifiers", 1, 2)
        return [total - done for what, done, total in told if what == WHOLE]

    assert left() == []  # nothing has begun
    begin_stage(named_progress(progress, "part 1"), "side")
    now[0] = 5.0
    assert left() == []  # no side is over, so nobody knows
    now[0] = 10.0
    begin_stage(progress, "ranker")
    assert left() == [20 + 20 + 20]  # a guess of the ranker, and two sides of twice the size
    now[0] = 15.0
    assert left() == [15 + 20 + 20]
    now[0] = 45.0
    assert left() == [20 + 20]  # longer than the guess: what comes afterwards is still ahead
    begin_stage(progress, "side")
    now[0] = 45.1
    begin_stage(progress, "side")  # an earlier run had done that one
    assert left() == [20]
    now[0] = 100.0
    assert left() == [1]


def test_other_progress_needs_no_stages():
    begin_stage(SILENT, "side")
    begin_stage(Callback(lambda *report: None), "side")
    assert named_progress(SILENT, "part 1") is SILENT


@pytest.mark.parametrize("rule", [None, "f1"])
def test_an_ensemble_has_the_stages_that_it_foretells(rule):
    data = make_texts(300, n_labels=12)
    told, begun = [], []

    class Watched(Outlined):
        def begin(self, kind):
            begun.append(kind)
            super().begin(kind)

    tagger = lw.Tagger("ensemble", assign=rule, model_params={"models": "ranked"}, n_threads=1)
    tagger.fit(data, progress=Callback(lambda what, done, total: told.append((what, done, total))))
    whole = [(done, total) for what, done, total in told if what == WHOLE]
    assert whole
    assert all(done < total for done, total in whole)
    model, rows = tagger.model_, tagger.vectorizer_.transform(data.texts)
    given = checked_input(lw.Dataset(rows, data.y, texts=data.texts, label_names=data.label_names))
    foretold = outlined(model, given, None if rule is None else Assignment.parse(rule), None, Callback(print))
    assert isinstance(foretold, Outlined)
    kinds = [stage.kind for stage in foretold._ahead]
    watched = Watched(SILENT, foretold._ahead)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("labelwood.tagger.training.outlined", lambda *_: watched)
        tagger.fit(data, progress=Callback(lambda *_: None))
    # The calibration begins with what it takes over from the model, which is no stage of it.
    assert [kind for kind in begun if kind != "start"] == [kind for kind in kinds if kind != "start"]
    assert begun[0] == kinds[0] == "start"
    assert np.all([stage.size >= 0 for stage in foretold._ahead])
    assert outlined(model, given, None, None, SILENT) is SILENT
