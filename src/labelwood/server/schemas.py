"""The JSON of the service: what requests may hold and what answers hold; checks and OpenAPI both come from here."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

MAX_K = 1_000

Count = Annotated[int, Meta(ge=1, le=MAX_K)]
Label = Annotated[int, Meta(ge=0, le=2**31 - 1)] | Annotated[str, Meta(max_length=10_000)]
LabelName = Annotated[str, Meta(min_length=1, max_length=10_000)]
Probability = Annotated[float, Meta(gt=0, le=1)]
ModelName = Annotated[str, Meta(min_length=1, max_length=200)]
Language = Annotated[str, Meta(min_length=1, max_length=35)]  # BCP 47


class FeatureRow(Struct, forbid_unknown_fields=True):
    """One row as its non-zero features: their numbers and their values."""

    indices: list[Annotated[int, Meta(ge=0, le=2**31 - 1)]]
    values: list[float]


class PredictRequest(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Texts, or rows of features, to be labelled."""

    texts: list[str] | UnsetType = UNSET
    features: list[FeatureRow] | UnsetType = UNSET
    k: Count | None = None  # 5 if absent; with `assign`, all
    assign: bool = False  # only the labels that the tagger's rule assigns
    threshold: Probability | None = None  # only the labels that are at least so probable, in place of the rule
    min_score: float | None = None
    # Only these labels, by number or name; with a vocabulary also "below:ID" (ID and all below it) and "scheme:ID".
    allow: list[Label] | None = None
    deny: list[Label] | None = None  # never these labels
    lang: Language | None = None  # of the titles; the vocabulary's own if absent
    reasons: Annotated[int, Meta(ge=0, le=100)] = 0  # words to be given as the reason of each label
    model: ModelName | None = None


class Reason(Struct):
    """A word and how much it pushes for (+) or against (-) the label."""

    word: str
    push: float


class GivenLabel(Struct, omit_defaults=True):
    """A label with its number, name and score, best first."""

    label: int
    name: str  # what requests call it; with a vocabulary, the id of the concept
    score: float
    title: str | UnsetType = UNSET  # its name in the vocabulary; absent where the tagger has none
    probability: float | UnsetType = UNSET  # that it is right; absent where the tagger has not learnt that
    assigned: bool | UnsetType = UNSET  # whether the tagger's rule gives it; absent where there is no rule
    reasons: list[Reason] | UnsetType = UNSET


class RowAnswer(Struct):
    """The labels of one row."""

    labels: list[GivenLabel]


class PredictAnswer(Struct):
    """The labels of every row, in the order of the request."""

    results: list[RowAnswer]


class ExplainRequest(Struct, forbid_unknown_fields=True):
    """A text and the label whose score is to be explained."""

    text: str
    label: Label
    words: Annotated[int, Meta(ge=1, le=1_000)] = 20
    model: ModelName | None = None


class PathNode(Struct):
    """A classifier on the way to the label: the sum of its pushes and the logarithm of its chance."""

    node: int
    margin: float
    log_score: float


class VotingRow(Struct):
    """A training row that voted for the label."""

    row: int
    text: str
    push: float


class ExplainAnswer(Struct):
    """Why a text gets a label: words, voting rows, sides of an ensemble and the rest add up to the margin."""

    label: int
    name: str
    score: float
    words: list[Reason]
    rows: list[VotingRow]
    sides: list[Reason]
    rest: float  # what belongs to no word that is shown
    path: list[PathNode]
    summary: str


class LearnRequest(Struct, forbid_unknown_fields=True):
    """Texts with all their right labels."""

    texts: list[str]
    labels: list[list[LabelName]]
    model: ModelName | None = None


class LearnAnswer(Struct):
    """How many corrections are on the disk, and which of their labels the model does not know yet."""

    accepted: int
    unknown_labels: list[str]


class FoundLabel(Struct, omit_defaults=True):
    """A label that fits a search, with its training rows."""

    label: int | None  # null: a concept of the vocabulary that no training row has
    name: str
    rows: int
    title: str | UnsetType = UNSET  # its name in the vocabulary; absent where the tagger has none
    matched: str | UnsetType = UNSET  # the name that fits, where it is not the title


class LabelsAnswer(Struct):
    """The labels that fit a search."""

    labels: list[FoundLabel]
    n_labels: int


class LabelChange(Struct, forbid_unknown_fields=True):
    """A change to the labels of a tagger: add, retire or forbid names, rename or merge the first into the second."""

    action: Literal["add", "rename", "merge", "retire", "forbid"]
    names: Annotated[list[LabelName], Meta(min_length=1, max_length=1_000)]
    text: str | None = None  # an example of the label that is added
    model: ModelName | None = None


class LabelChanged(Struct):
    """What was done, in words, and the version of the model that answers from now on."""

    message: str
    version: str


class DetectRequest(Struct, forbid_unknown_fields=True):
    """A text, and the languages that it may be written in."""

    text: str
    languages: Annotated[list[Annotated[str, Meta(min_length=2, max_length=3)]], Meta(min_length=1, max_length=5)]


class DetectedLanguage(Struct):
    """A language and the share of the text's telling words that speak for it; null: the share of no language."""

    language: str | None
    score: float


class DetectAnswer(Struct):
    """The languages that were asked for, the most probable first."""

    results: list[DetectedLanguage]


class TrainingTable(Struct):
    """The columns of the table that a tagger was trained on, and what its label cells were cut at (null: lists)."""

    text: list[str]
    labels: list[str]
    separator: str | None


class ModelAnswer(Struct):
    """What a model is."""

    name: str
    kind: str
    model: str
    n_labels: int
    n_features: int
    n_rows: int
    takes: list[str]
    created: str | None
    version: str  # the hash of its manifest: changes with every new model
    metrics: dict[str, float | None]
    learn: bool  # whether corrections are taken
    change_labels: bool  # whether labels may be changed
    languages: list[str]  # of the titles; none without a vocabulary
    table: TrainingTable | None  # null where it was no table
    trees: int  # how many label trees /v1/tree can open
    models: list[str]  # the names of all models of the service


class TreeRequest(Struct, forbid_unknown_fields=True):
    """A node of a label tree, and the text whose way through it is wanted."""

    text: str | None = None
    tree: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    node: Annotated[int, Meta(ge=0, le=2**31 - 1)] = 0  # 0: the root
    model: ModelName | None = None


class TreeChild(Struct, omit_defaults=True):
    """A node below: how many labels it has, the most frequent of them, and how probable it is for the text."""

    node: int
    n_labels: int
    leaf: bool
    names: list[str]
    chance: float | UnsetType = UNSET  # given that the text is at the node above


class TreeLabel(Struct, omit_defaults=True):
    """A label of a leaf with its training rows, and its score for the text."""

    label: int
    name: str
    rows: int
    score: float | UnsetType = UNSET


class TreeAnswer(Struct):
    """One node: what is below it."""

    n_trees: int
    n_nodes: int  # of this tree
    n_labels: int  # below this node
    children: list[TreeChild]
    labels: list[TreeLabel]


class LabelsWithRows(Struct):
    """How many labels have so many training rows."""

    least: int
    most: int
    n_labels: int


class BandFigures(Struct):
    """A third of all training positives: head, torso or tail."""

    band: str
    n_labels: int
    n_rows: int  # training rows of these labels together
    least: int  # rows of its rarest label
    most: int


class SureCurve(Struct):
    """From scores to probabilities for the labels of a band, and the probability from which on they are assigned."""

    band: str
    scores: list[float]
    probabilities: list[float]
    threshold: float


class Sureness(Struct):
    """What a tagger learnt about its own answers from rows that were held out."""

    rule: str
    note: str
    held_out: dict[str, float]
    curves: list[SureCurve]


class CardAnswer(Struct):
    """What the folder of a model knows about it."""

    parameters: dict[str, bool | int | float | str]
    label_rows: list[LabelsWithRows]
    bands: list[BandFigures]
    sure: Sureness | None


class JudgeRequest(Struct, forbid_unknown_fields=True):
    """Texts with their right labels, to measure the model with."""

    texts: list[str]
    labels: list[Annotated[list[LabelName], Meta(max_length=1_000)]]
    model: ModelName | None = None


class FoundInBand(Struct):
    """The true labels of a band, and how many of them are among the first answers."""

    band: str
    n_true: int
    n_found: int


class ReliabilityBin(Struct):
    """Answers of about one probability: what was said on average, the share that is right, how many."""

    said: float
    right: float
    n_answers: int


class Confusion(Struct):
    """A label that was given where another one was right."""

    right: str
    given: str
    rows: int


class Measured(Struct):
    """What the assigned labels are worth: each figure in per cent as [value, low, high]."""

    figures: dict[str, list[float]]
    labels_a_row: float
    true_labels_a_row: float
    calibration_error: float
    reliability: list[ReliabilityBin]
    confusions: list[Confusion]


class JudgeAnswer(Struct):
    """How good the model is on the rows that came; `measured` only where it learnt how sure it is."""

    n_rows: int
    n_unknown: int  # labels that the model does not know; they count as missed
    places: int  # a label counts as found among so many answers
    bands: list[FoundInBand]
    measured: Measured | None = None


class ReloadRequest(Struct, forbid_unknown_fields=True):
    """Which model to load again; all, if none is named."""

    model: ModelName | None = None


class ReloadAnswer(Struct):
    """The models that were loaded again, and their versions."""

    reloaded: dict[str, str]


class HealthAnswer(Struct):
    """That the process answers."""

    status: str


encode = msgspec.json.Encoder().encode


def decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    """What reads JSON of one of these kinds."""
    return msgspec.json.Decoder(kind)
