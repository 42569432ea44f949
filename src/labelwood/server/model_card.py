"""The model card: what the folder knows about labels and sureness, and how good the model is on rows that come."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from labelwood.labelspace.names import padded_counts
from labelwood.metrics.bands import BANDS, band_report, mass_bands
from labelwood.report.judgement import judged
from labelwood.server.batching import TEXTS
from labelwood.server.labelling import check_rows, chosen_model
from labelwood.server.problems import Problem
from labelwood.server.requests import Request, Response
from labelwood.server.schemas import (
    BandFigures,
    CardAnswer,
    Confusion,
    FoundInBand,
    JudgeAnswer,
    JudgeRequest,
    LabelsWithRows,
    Measured,
    ReliabilityBin,
    SureCurve,
    Sureness,
    decoder,
    encode,
)
from labelwood.server.served import ServedModel
from labelwood.tagger.tagger import Tagger

if TYPE_CHECKING:
    from labelwood.server.app import App

_judge_request = decoder(JudgeRequest)
_PLACES = 5  # a true label counts as found among so many answers


async def card(app: App, request: Request) -> Response:
    """What the folder of a model knows: rows of labels, bands, how sure answers are."""
    served = chosen_model(app, request.query("model").get("model"))
    return Response(encode(await app.batcher.run(partial(_card, served))))


async def judge(app: App, request: Request) -> Response:
    """How good the model is on texts whose labels are given."""
    asked: JudgeRequest = await request.json(_judge_request)
    served = chosen_model(app, asked.model)
    if not served.takes_texts:
        raise Problem(400, f"the model {served.name!r} takes features, not texts")
    if len(asked.texts) != len(asked.labels):
        raise Problem(400, f"there are {len(asked.texts)} texts but {len(asked.labels)} lists of labels")
    check_rows(app, TEXTS, asked.texts, app.settings.limits.rows)
    if not any(asked.labels):
        raise Problem(400, "no row has a label, so there is nothing to compare with")
    work = partial(_judge, served, asked.texts, asked.labels)
    return Response(encode(await app.batcher.run(work, len(asked.texts))))


def _card(served: ServedModel) -> CardAnswer:
    counts = served.label_counts
    bands = mass_bands(counts, len(BANDS)) if counts.any() else np.full(len(counts), len(BANDS) - 1)
    figures = []
    for number, name in enumerate(BANDS):
        rows = counts[bands == number]
        least, most = (int(rows.min()), int(rows.max())) if len(rows) else (0, 0)
        figures.append(BandFigures(name, len(rows), int(rows.sum()), least, most))
    top = max(1, int(counts.max(initial=0)))
    edges = [0, 1, *(2**power for power in range(1, top.bit_length())), 2 ** top.bit_length()]
    labels = np.histogram(counts, [*edges[:-1], edges[-1]])[0].tolist()
    histogram = [LabelsWithRows(low, high - 1, n) for low, high, n in zip(edges[:-1], edges[1:], labels, strict=True)]
    parameters = {
        name: value for name, value in served.manifest["parameters"].items() if isinstance(value, (int, float, str))
    }
    return CardAnswer(parameters, histogram, figures, _sureness(served))


def _sureness(served: ServedModel) -> Sureness | None:
    sure = served.calibration
    if sure is None:
        return None
    curves = [
        SureCurve(name, curve.scores.tolist(), curve.probabilities.tolist(), float(threshold))
        for name, curve, threshold in zip(BANDS, sure.curves, sure.thresholds.of_bands, strict=True)
    ]
    return Sureness(str(sure.rule), sure.note, dict(sure.held_out), curves)


def _judge(served: ServedModel, texts: Sequence[str], labels: Sequence[Sequence[str]]) -> JudgeAnswer:
    unknown = list(dict.fromkeys(name for names in labels for name in names if name not in served.ids))
    ids = {**{name: served.n_labels + place for place, name in enumerate(unknown)}, **served.ids}
    names = [*served.label_names, *unknown]
    columns = [sorted({ids[name] for name in row}) for row in labels]
    starts = np.cumsum([0, *(len(row) for row in columns)])
    flat = np.array([column for row in columns for column in row], np.int32)
    y = sparse.csr_matrix((np.ones(len(flat), np.float32), flat, starts), shape=(len(texts), len(names)))
    counts = padded_counts(served.label_counts, len(names))
    sure = served.calibration
    top = served.predict_texts(texts, _PLACES).top
    places = min(_PLACES, top.k)
    found = []
    if counts.any():
        report = band_report(top, y, counts, k=places, n_bands=len(BANDS), n_train=served.n_train)
        found = [
            FoundInBand(name, int(report["truth"][number]), int(report["hits"][number]))
            for number, name in enumerate(BANDS)
        ]
    answer = JudgeAnswer(len(texts), len(unknown), places, found)
    if sure is None or not isinstance(served.loaded, Tagger):
        return answer
    judgement = judged(served.loaded.fitted_.assigned(texts, None, 1), sure.ranked(top.cut(places), top), y, counts)
    answer.measured = Measured(
        {name: list(figure) for name, figure in judgement.assigned.items()},
        judgement.given,
        judgement.true,
        judgement.sure.error,
        [
            ReliabilityBin(round(float(said), 4), round(float(right), 4), int(n))
            for said, right, n in zip(judgement.sure.said, judgement.sure.right, judgement.sure.n_answers, strict=True)
        ],
        [Confusion(names[true], names[given], n) for true, given, n in judgement.mistakes.confused],
    )
    return answer
