"""A saved model or tagger behind one face: reads the data that fits it, answers, and names its labels."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelwood.cli.inputs import read_data
from labelwood.errors import DataError, ModelFileError, ParamError
from labelwood.progress import SILENT, Progress
from labelwood.wording import Argument, Message

USUAL_K = 5  # how many labels a row is answered with unless told
ROWS_AT_A_TIME = 50_000  # of a model of feature rows: what is made of them on the way does not pile up

if TYPE_CHECKING:
    from scipy import sparse

    from labelwood.data.dataset import Dataset, TableForm
    from labelwood.metrics.hierarchy import BranchFigures
    from labelwood.report.judgement import Judgement
    from labelwood.tagger.reasons import TagReason
    from labelwood.topk import TopK


def training_form(folder: Path, extra: Mapping[str, Any]) -> TableForm | None:
    """How the training table of a model folder was read; None if the folder does not say. extra: of its manifest."""
    from labelwood.data.dataset import TableForm

    if "table" not in extra:
        return None
    try:
        return TableForm.restored(extra["table"])
    except DataError as error:
        raise ModelFileError(f"{folder}: 'table' in its manifest is damaged: {error}") from None


def check_order(model: Path, data: Path) -> None:
    """ParamError if the data came first and the model second."""
    from labelwood.storage.format import MANIFEST

    if not (model / MANIFEST).is_file() and model.exists() and (data / MANIFEST).is_file():
        raise ParamError(f"{data} is the model and {model} is not: the model comes first, then the data")


def check_header(path: Path, data: Dataset, form: TableForm | None) -> None:
    """DataError if a table was read without a header line where the training table had one.

    Its header is then one whose names are unusual, and would be answered, or learnt, as a row.
    """
    if form is not None and form.text and data.form is not None and data.form.headless:
        named = ", ".join((*form.text, *form.labels))
        fault = f"{path}: has no header line that is recognised, but the training table had one ({named}); "
        raise DataError(Message(fault, "name the column with ", Argument("text"), ", or add a header line"))


class Loaded:
    """What a saved folder holds, and how to ask it."""

    def __init__(self, folder: Path, threads: int | None = None, *, verify: bool = False) -> None:
        from labelwood.loading import load
        from labelwood.storage.load import read_manifest
        from labelwood.tagger.tagger import Tagger

        loaded = load(folder, verify=verify)
        self.extra = read_manifest(folder)["extra"]
        self.folder = folder
        loaded.n_threads = threads
        self.tagger = loaded if isinstance(loaded, Tagger) else None
        self.model = loaded.model_ if isinstance(loaded, Tagger) else loaded

    @property
    def label_names(self) -> Sequence[str] | None:
        """The names of the labels, or their ids, if they have some."""
        if self.tagger is not None:
            return self.tagger.label_names  # with those that came after training
        classes = self.model.fitted_.trained_on.classes
        return classes.names if classes.ids is None else [str(label) for label in classes.ids.tolist()]

    @property
    def n_labels(self) -> int:
        """How many labels may be answered."""
        return int(self.model.n_labels_) if self.tagger is None else len(self.tagger.label_names)

    @property
    def form(self) -> TableForm | None:
        """How the training table was read; None if the folder does not say."""
        return training_form(self.folder, self.extra)

    @property
    def no_labels(self) -> str | None:
        """The `labels` option of the reader for rows whose labels do not matter: tables may then lack the column."""
        return "" if self.tagger is not None else None

    def name(self, label: int) -> str:
        """The name of a label, else its number."""
        return self.label_names[label] if self.label_names is not None else str(label)

    def label(self, name: str) -> int:
        """The number of a label given by name or, where labels have no names, by number."""
        if self.label_names is None:
            if not (name.isascii() and name.isdigit()) or int(name) >= self.model.n_labels_:
                raise DataError(f"label {name!r} is outside 0..{self.model.n_labels_ - 1} (these labels have no names)")
            return int(name)
        from labelwood.labelspace.names import name_ids, unknown_label

        ids = name_ids(self.label_names)
        if name not in ids:
            raise DataError(unknown_label(name, ids))
        return ids[name]

    def read(
        self, path: Path, *, progress: Progress = SILENT, quiet: bool = False, document: bool = False, **choices: Any
    ) -> Dataset:
        """The data of a file, read as this model needs it: texts for a tagger, features for a model.

        "-" is standard input: a text a line, or with `document` one text.
        """
        if document and (self.tagger is None or str(path) != "-"):
            raise ParamError("--document is for texts from standard input: labelwood predict DIR - --document")
        if self.tagger is not None and str(path) == "-":
            return _texts_of_stdin(document, choices.get("encoding"))
        choices.update(self._fitting(path, choices))
        data = read_data(path, progress=progress, quiet=quiet, **choices)
        if self.tagger is not None:
            check_header(path, data, self.form)
        return data

    def _fitting(self, path: Path, choices: Mapping[str, Any]) -> dict[str, Any]:
        """What the reader must know so that the file's columns are the model's; DataError if the file cannot fit."""
        from labelwood.data.formats import format_names
        from labelwood.data.reading.read import find_format

        kind = "folder" if path.is_dir() else choices.get("format") or find_format(path)
        if self.tagger is not None:
            if kind in format_names("features"):
                raise DataError(f"{path}: holds features, but {self.folder} is a tagger and needs texts")
            return {"like": self.form}
        if kind in format_names("texts"):
            raise DataError(f"{path}: holds texts, but {self.folder} is a model of feature rows")
        widths: dict[str, Any] = {"n_features": self.model.n_features_}
        if kind != "arff":  # ARFF files name their labels, and `truth` goes by the names
            widths["n_labels"] = self.model.n_labels_
        if kind == "svmlight" and choices.get("index_base") is None:
            # As in training: a test file that happens to lack the first feature would be read off by one.
            widths["index_base"] = self.extra.get("index_base")
        return widths

    def titles(self, lang: str | None = None, labels: Sequence[str] | None = None) -> list[str] | None:
        """The names of the labels in the vocabulary, or of other concepts; None without one."""
        if self.tagger is None or self.tagger.fitted_.vocabulary is None:
            if lang is not None:
                raise ParamError(f"--lang: {self.folder} was trained without --vocab: its labels have one name only")
            return None
        if lang is not None:
            self.tagger.fitted_.vocabulary.checked_language(lang)
        return [self.tagger.name(label, lang) for label in (self.tagger.label_names if labels is None else labels)]

    def predict(
        self,
        data: Dataset,
        k: int,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        progress: Progress = SILENT,
    ) -> TopK:
        """The k best labels of every row, of those that are allowed; features some rows at a time."""
        if self.tagger is not None:
            return self.tagger.predict_top(data.texts or (), k, include=include, exclude=exclude)
        if include or exclude:
            raise ParamError(f"--include and --exclude are for taggers, but {self.folder} is a model of feature rows")
        from labelwood.topk import joined

        x, parts = data.features(), []
        if x.shape[0] <= ROWS_AT_A_TIME:
            return self.model.predict(x, k)
        for first in range(0, x.shape[0], ROWS_AT_A_TIME):
            progress.step("answering", first, x.shape[0])
            parts.append(self.model.predict(x[first : first + ROWS_AT_A_TIME], k))
        progress.step("answering", x.shape[0], x.shape[0])
        return joined(parts)

    def assigns(self, asked: bool | None, k: int | None = None, threshold: float | None = None) -> bool | str:
        """Whether tags are to be assigned, as `Tagger.predict(assign=)` takes it.

        As asked, else True where the tagger has learnt it and no k is asked for; threshold: their least probability.
        """
        if threshold is not None:
            if asked is False:
                raise ParamError("--threshold gives the tags that are so probable, so it does not go with --no-assign")
            if not 0 < threshold <= 1:
                raise ParamError(f"--threshold must be a probability above 0 and up to 1, but is {threshold:g}")
            asked = True
        learnt = self.tagger is not None and self.tagger.calibration_ is not None
        if asked and not learnt:
            what = "a model of feature rows" if self.tagger is None else "a tagger that has not learnt how sure it is"
            raise ParamError(f"{self.folder}: is {what}, so it cannot assign; `labelwood train --assign f1` on texts")
        if threshold is not None:
            return f"threshold={threshold!r}"
        return learnt and k is None if asked is None else asked

    def answers(
        self,
        data: Dataset,
        k: int | None,
        assign: bool | str,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        progress: Progress = SILENT,
    ) -> TopK:
        """The tags that every row is given, with probabilities; or without assign its k best labels."""
        if not assign or self.tagger is None:
            return self.predict(data, USUAL_K if k is None else k, include, exclude, progress)
        return self.tagger.predict_top(data.texts or (), k, assign=assign, include=include, exclude=exclude)

    def check_rule(self, rule: str | None) -> None:
        """ParamError, before any work, if there is no such rule or no vocabulary to apply it by."""
        from labelwood.vocabulary.rules import checked_rule

        if rule is not None:
            checked_rule(rule)
            if self.tagger is None or self.tagger.fitted_.vocabulary is None:
                raise ParamError(f"--rule: {self.folder} was trained without --vocab: no label stands above another")

    def ruled(self, top: TopK, rule: str | None, more: Sequence[str] = ()) -> tuple[TopK, Sequence[str] | None]:
        """(the answers after a parent/child rule, the names by number); more: names behind the labels.

        Concepts that came in get numbers behind all of them.
        """
        if rule is None or self.tagger is None or self.tagger.fitted_.vocabulary is None:
            return top, self.label_names
        from labelwood.vocabulary.rules import ruled

        return ruled(top, [*self.tagger.label_names, *more], self.tagger.fitted_.vocabulary, rule)

    def unknown_texts(self, data: Dataset) -> int:
        """How many rows have no word that the tagger knows."""
        assert self.tagger is not None
        known = self.tagger.fitted_.known(data.texts or (), self.tagger.n_threads)
        return int(len(known) - known.sum())

    def reason(self, row: Dataset, label: int) -> TagReason:
        """Why a data set of one row gets a label: its words, or its features where there are no texts."""
        from labelwood.tagger.reasons import TagReason, Voter

        if self.tagger is not None:
            return self.tagger.explain((row.texts or ("",))[0], self.name(label))
        why = self.model.explain(row.features(), label)
        pushes = why.by_feature()
        voters = tuple(Voter(vote.row, "", vote.contribution) for vote in why.voters())
        sides = tuple(why.sides())
        rest = pushes.pop(-1, 0.0) - sum(voter.push for voter in voters) - sum(push for _, push in sides)
        names = row.feature_names
        named = [(names[f] if names is not None else f"feature {f}", push) for f, push in pushes.items()]
        words = tuple(sorted(named, key=lambda item: (-abs(item[1]), item[0])))
        return TagReason(self.name(label), why.score, words, voters, rest, why, sides)

    def search_figures(self, data: Dataset, ks: Sequence[int]) -> dict[str, float]:
        """What the model's search costs at each k, mean per row; empty for models that do not search."""
        from labelwood.models.fitted import Fitted

        if type(self.model.fitted_).search_figures is Fitted.search_figures:
            return {}  # nothing to ask for, so texts need not be turned into features once more
        if self.tagger is None:
            rows = data.features()
        else:  # words that came after training have columns behind those of the model
            rows = self.tagger.vectorizer_.transform(data.texts or ())[:, : self.model.n_features_]
        figures: dict[str, float] = {}
        for k in ks:
            figures.update(self.model.search_figures(rows, k))
        return figures

    def truth(self, data: Dataset) -> tuple[sparse.csr_matrix, tuple[str, ...]]:
        """(y, unknown): the true labels in this model's numbering, with columns for unknown names at its end."""
        if (
            self.tagger is None
            and data.n_labels == self.model.n_labels_
            and data.label_names in (None, self.label_names)
        ):
            return data.y, ()  # the same columns; names, if any, need not even differ from each other
        if self.label_names is None or data.label_names is None:
            if self.tagger is not None:
                raise DataError(f"{data.source}: its labels have no names, but {self.folder} knows labels by name")
            raise DataError(
                f"{data.source}: has {data.n_labels} labels, but {self.folder} knows {self.model.n_labels_}"
            )
        if self.tagger is not None:
            return self.tagger.label_matrix(data)
        from labelwood.labelspace.names import name_ids, renumbered

        return renumbered(data.y, data.label_names, name_ids(self.label_names))

    def trained_on(self, data: Dataset) -> bool:
        """True if these are the very rows that the tagger was trained on, in whatever order."""
        from labelwood.data.fingerprint import texts_fingerprint

        known = None if self.tagger is None else self.tagger.fitted_.fingerprint
        if known is None or data.texts is None or data.label_names is None:
            return False
        return known == texts_fingerprint(data.texts, data.y, data.label_names)

    def judgement(self, data: Dataset, y: sparse.csr_matrix, k: int, given: TopK | None) -> Judgement | None:
        """How good the given tags are; None if it has not learnt to assign, and gives none."""
        from labelwood.report.judgement import judged

        if given is None:
            return None
        assert self.tagger is not None
        ranked = self.tagger.fitted_.ranked(data.texts or (), k, self.tagger.n_threads)
        if data.filter_pairs is not None:
            from labelwood.metrics.filters import without_pairs

            given, _, _ = without_pairs(given, y, data.filter_pairs)
            ranked, y, _ = without_pairs(ranked, y, data.filter_pairs)
        return judged(given, ranked, y, self.counts(y.shape[1]), data.groups)

    def metrics(
        self, top: TopK, data: Dataset, y: sparse.csr_matrix, ks: Sequence[int], propensity: tuple[float, float]
    ) -> dict[str, float]:
        """The metrics with bands of answers to data with true labels y; propensities come from the training counts."""
        import numpy as np

        from labelwood.metrics.evaluate import evaluate

        return evaluate(
            top,
            y,
            train_y=self.counts(y.shape[1]),
            n_train=self.n_train,
            ks=ks,
            filter_pairs=data.filter_pairs,
            A=propensity[0],
            B=propensity[1],
            per_band=bool(np.any(self.counts(y.shape[1]))),
        )

    def hierarchy_figures(
        self, top: TopK, y: sparse.csr_matrix, unknown: Sequence[str], ks: Sequence[int]
    ) -> dict[str, float]:
        """hP, hR and hF1 at each k, with a vocabulary that has broader concepts; else nothing."""
        return {} if self.tagger is None else self.tagger.fitted_.hierarchy_figures(top, y, unknown, ks)

    def branches(self, given: TopK, y: sparse.csr_matrix, unknown: Sequence[str]) -> list[tuple[str, BranchFigures]]:
        """(the name of a branch, figures of it) of a vocabulary with broader concepts; else nothing."""
        from labelwood.metrics.hierarchy import branch_figures

        vocabulary = None if self.tagger is None else self.tagger.fitted_.vocabulary
        if self.tagger is None or vocabulary is None or not len(vocabulary.broader):
            return []
        tops, membership = vocabulary.branches([*self.tagger.label_names, *unknown])
        return [(self.tagger.name(tops[part.branch]), part) for part in branch_figures(given, y, membership)]

    @property
    def n_train(self) -> int:
        """The rows that it was trained on."""
        return self.model.n_rows_ if self.tagger is None else self.tagger.fitted_.n_texts

    def counts(self, n_labels: int) -> Any:
        """Training rows of each label, with zeros for labels beyond those the model knows."""
        from labelwood.labelspace.names import padded_counts

        known = self.model.label_counts_ if self.tagger is None else self.tagger.fitted_.label_counts
        return padded_counts(known, n_labels)


def _texts_of_stdin(document: bool, encoding: str | None) -> Dataset:
    from scipy import sparse

    from labelwood.data.dataset import Dataset
    from labelwood.data.reading.encodings import check_encoding

    known = check_encoding(encoding or "utf-8")
    try:
        everything = sys.stdin.buffer.read().decode(known).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise DataError(f"standard input: not valid {known} ({error.reason}); --encoding names another") from None
    lines = everything.removesuffix("\n").split("\n") if everything else []
    texts = [everything] if document else [line.rstrip("\r") for line in lines]
    return Dataset(None, sparse.csr_matrix((len(texts), 0)), texts=texts, source="standard input")
