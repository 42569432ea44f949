"""The fitted state of ELIAS: indexes, ranker, voters and text reader at work, without torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from labelwood.errors import ModelFileError, ParamError
from labelwood.models.explanation import Explanation, Share, combined
from labelwood.models.fit_input import TrainedOn
from labelwood.models.fitted import Fitted
from labelwood.models.mixing import mean_scores, score_of
from labelwood.models.neural.elias.analysis import N_DECILES, clusters_per_label
from labelwood.models.neural.elias.calibration import SCORING, Scoring, log_q, voted_scores
from labelwood.models.neural.elias.index import Floats, Int32, edges_above, strongest_edges
from labelwood.models.neural.elias.inputs import (
    BOTH,
    BOW,
    END_TO_END,
    TextReader,
    column_views,
    joined,
    n_inputs,
    text_width,
    texts_of,
)
from labelwood.models.neural.elias.ranker import Ranker, judged_rows, ranker_schema
from labelwood.models.neural.elias.reasons import (
    index_reasons,
    ranker_reasons,
    untrained_reasons,
    without_text_columns,
)
from labelwood.models.neural.elias.search import CHUNK, LearnedIndex, UnitRows, index_schema, top_of
from labelwood.models.neural.elias.settings import ELIASParams, has_own_encoders
from labelwood.models.neural.elias.tree_votes import Scored, TreeVotes
from labelwood.models.neural.elias.zero_shot import ZeroShot, zero_shot_schema
from labelwood.models.neural.forward import unit_rows
from labelwood.storage.schema import (
    PART,
    ArrayRule,
    Arrays,
    Schema,
    as_optional,
    number,
    part,
    prefixed,
    under,
    whole_number,
)
from labelwood.topk import TopK, empty

# The prefixes of the parts' arrays; every index and its scoring have their number too.
_FIGURES, _TEXT, _ZERO_SHOT, _RANKER, _TREES = "figures.", "text.", "zero_shot.", "ranker.", "trees."
# What was measured on held-out rows: recall by answers, and what each decile of labels adds to it.
FIGURES: Schema = as_optional(
    {"recall": ArrayRule("float64", ("n_answers",)), "deciles": ArrayRule("float64", (N_DECILES,))}
)
_PARTITION = ArrayRule("int32", ("n_labels",), low=0, below="index0.n_clusters")


@dataclass(frozen=True)
class Member:
    """One index of the ensemble, how its scores are made, and how many labels had to be inserted into it.

    reader: of a text encoder of its own; None: it reads by that of the first index.
    """

    index: LearnedIndex
    scoring: Scoring
    n_inserted: int
    reader: TextReader | None = None


@dataclass(frozen=True, eq=False)
class FittedELIAS(Fitted[ELIASParams]):
    """Indexes with their scorings, and what judges their shortlists.

    partition: the first cluster of every label. ranker, votes, zero_shot, reader: None where the settings or the
    held-out rows want none. candidates: labels that the ranker adds to a shortlist. ranker_top: labels of a shortlist
    that it judges, None: all; judges_votes: those that the trees name join them. C: the ranker's cost of an error.
    held_out: FIGURES. first_stage: the first index as it was after stage 1, to compare with, with its reader if the
    text encoder learned too, and told: what training has to say; none is saved, so a loaded or copied state has none.
    Rows are what `inputs` gives: features, text vectors, or both; where indexes have text encoders of their own, with
    the vectors of all of them behind one another. Ranker, voters and zero_shot see those of the first one.
    """

    name = "elias"
    members: tuple[Member, ...]
    partition: Int32
    ranker: Ranker | None
    votes: TreeVotes | None
    zero_shot: ZeroShot | None
    reader: TextReader | None
    candidates: int
    ranker_top: int | None
    judges_votes: bool
    C: float
    held_out: Arrays
    first_stage: LearnedIndex | None = None
    first_reader: TextReader | None = None
    told: tuple[str, ...] = ()

    # answering

    def inputs(
        self, x: sparse.csr_matrix, texts: Sequence[str] | None, n_threads: int | None = None
    ) -> sparse.csr_matrix:
        """The rows that index and ranker see; DataError if texts are needed and missing."""
        if self.reader is None:
            return x
        encoder = self.settings.encoder
        read = texts_of(texts, encoder, "it")
        vectors = [reader.vectors(read, n_threads) for reader in self._readers]
        return joined(x, vectors[0] if len(vectors) == 1 else np.hstack(vectors), encoder)

    def first_inputs(
        self, x: sparse.csr_matrix, texts: Sequence[str] | None, n_threads: int | None = None
    ) -> sparse.csr_matrix:
        """The rows that the index of stage 1 saw: `inputs` with the text encoder as it was then."""
        if self.first_reader is None:
            return self.inputs(x, texts, n_threads)
        return replace(self, reader=self.first_reader).inputs(x, texts, n_threads)

    def predict(self, x: sparse.csr_matrix, k: int, n_threads: int | None = None) -> TopK:
        """The k best labels of every row, of those that any index shortlists or tree names."""
        top = empty(x.shape[0], k)
        for first in range(0, x.shape[0], CHUNK):
            rows = slice(first, min(first + CHUNK, x.shape[0]))
            self._answer(x if x.shape[0] <= CHUNK else x[rows], top.labels[rows], top.scores[rows], n_threads)
        return top

    @property
    def _readers(self) -> tuple[TextReader, ...]:
        """The text readers, that of the first index first; there is one or none unless indexes have their own."""
        first = () if self.reader is None else (self.reader,)
        return (*first, *(member.reader for member in self.members if member.reader is not None))

    def views(self, x: sparse.csr_matrix) -> tuple[sparse.csr_matrix, ...]:
        """The rows as every index sees them; ranker, voters and zero_shot see what the first index does."""
        readers = self._readers
        if len(readers) < 2:
            return (x,) * len(self.members)
        return column_views(x, self._first_text_column, readers[0].width, len(readers))

    def repeated_settings(self) -> ELIASParams:
        """The settings with the ranker's cost that was chosen, and without trees if the held-out rows wanted none."""
        return replace(self.settings, C=self.C, trees=self.settings.trees if self.votes is not None else 0)

    def on_the_scale_of(self, other: FittedELIAS) -> FittedELIAS:
        """The same indexes and rankers with the scorings of the other one, and its trees' weight and nodes."""
        pairs = zip(self.members, other.members, strict=True)
        members = tuple(replace(member, scoring=like.scoring) for member, like in pairs)
        votes, others = self.votes, other.votes
        if votes is not None:
            votes = None if others is None else replace(votes, weight=others.weight, nodes=others.nodes)
        return replace(self, members=members, votes=votes)

    def _answer(
        self, x: sparse.csr_matrix, labels: Int32, scores: npt.NDArray[np.float32], n_threads: int | None
    ) -> None:
        """Fill in the best labels of some rows."""
        if self.zero_shot is not None or len(self.members) > 1:
            best, best_scores = top_of(*self._scored(x, n_threads), labels.shape[1])
            labels[:, : best.shape[1]], scores[:, : best.shape[1]] = best, best_scores
            return
        member = self.members[0]
        top = None if self.votes is None else self.votes.given(x, n_threads)
        rows = UnitRows(x)
        short, log_p, margins = self._judged(member, rows, rows, n_threads, top)
        votes = None
        if self.votes is not None and top is not None:
            votes = self.votes.weight, top.labels, top.scores
        member.scoring.fill_top((short, log_p), margins, self.trained_on.label_counts, labels, scores, votes)

    def _judged(
        self, member: Member, rows: UnitRows, seen: UnitRows, n_threads: int | None, voted: TopK | None
    ) -> tuple[Int32, Floats, Floats | None]:
        """What `judged_rows` gives; seen: the rows of the index; voted: what the trees say, None without trees."""
        named = voted.labels if voted is not None and self.judges_votes else None
        return judged_rows(member.index, self.ranker, rows, self.candidates, n_threads, self.ranker_top, named, seen)

    def _scored(self, x: sparse.csr_matrix, n_threads: int | None) -> Scored:
        """(labels ascending with -1 last, scores), both (n, m): what any member shortlists, with mean scores."""
        views = self.views(x)
        voted = None if self.votes is None else self.votes.given(views[0], n_threads)
        of_members = [scored[:2] for scored in self._scores_of_members(views, n_threads, voted)]
        labels, scores = of_members[0] if len(of_members) == 1 else mean_scores(of_members)
        if self.votes is not None and voted is not None:
            labels, scores = self.votes.mixed_with(voted, labels, scores)
        if self.zero_shot is None:
            return labels, scores
        return self.zero_shot.added(labels, scores, self._text_vectors(views[0]), n_threads)

    def _scores_of_members(
        self, views: Sequence[sparse.csr_matrix], n_threads: int | None, voted: TopK | None
    ) -> Iterator[tuple[Int32, npt.NDArray[np.float64], Floats]]:
        """(labels, scores, log p of the index) of the rows' shortlists, of one index after the other."""
        rows = UnitRows(views[0])
        for member, view in zip(self.members, views, strict=True):
            seen = rows if view is views[0] else UnitRows(view)
            labels, log_p, margins = self._judged(member, rows, seen, n_threads, voted)
            logs = None if margins is None else log_q(margins)
            counts = self.trained_on.label_counts[np.maximum(labels, 0)]
            others = None if voted is None else voted_scores(labels, voted)
            yield labels, member.scoring.scores(log_p, logs, counts, others), log_p

    @property
    def _first_text_column(self) -> int:
        """The columns of the features before those of the text vector."""
        return self.n_features if self.settings.encoder == BOTH else 0

    def _text_vectors(self, x: sparse.csr_matrix) -> Floats:
        return unit_rows(x[:, self._first_text_column :].toarray())

    # explanations

    def explain(self, row: sparse.csr_matrix, label: int, n_threads: int | None = None) -> Explanation:
        """One share for each index (ranker, index, calibration) and one for the trees; for untrained labels the name.

        What a text adds is told as one part that belongs to no feature.
        """
        score = score_of(self.predict(row, self.n_labels, n_threads), label)
        views = self.views(row)
        row = views[0]
        if self.zero_shot is not None and label in self.zero_shot.labels:
            return untrained_reasons(self.zero_shot, self._text_vectors(row), label, score, n_threads)
        of_ranker = ranker_reasons(self.ranker, row, label)
        of_trees = 0.0 if self.votes is None else self.votes.weight
        voted = None if self.votes is None else self.votes.given(row, n_threads)
        shares = []
        answers = self._scores_of_members(views, n_threads, voted)
        for place, (member, (labels, scores, log_p)) in enumerate(zip(self.members, answers, strict=True), start=1):
            at = np.flatnonzero(labels[0] == label)
            likely, its_score = (float(log_p[0, at[0]]), float(scores[0, at[0]])) if len(at) else (None, 0.0)
            why = index_reasons(label, member.scoring, of_ranker, likely, its_score, self.settings.ranker_loss)
            shares.append(Share(f"index {place}", (1 - of_trees) / len(self.members), why))
        if self.votes is not None:
            shares.append(Share("linear trees", of_trees, self.votes.explain(row, label, n_threads)))
        whole = replace(shares[0].explanation, score=score) if len(shares) == 1 else combined(label, score, shares)
        return whole if self.reader is None else without_text_columns(whole, self._first_text_column)

    # figures

    def notes(self) -> tuple[str, ...]:
        """What the index adds to scoring all labels, where the held-out rows of training could tell."""
        return self.told

    def structure(self) -> dict[str, float]:
        """Clusters, edges and how they are used, of the first index."""
        index, scoring = self.members[0].index, self.members[0].scoring
        real = index.edges >= 0
        homes = clusters_per_label(index.edges, index.edge_scores, self.n_labels)
        return {
            "indexes": len(self.members),
            "clusters": len(index.edges),
            "edges": int(real.sum()),
            "edges above 0.25": int(homes.sum()),
            "clusters of a label, above 0.25": float(homes.mean()),
            "beam": index.beam,
            "shortlist": index.room,
            "vector length": int(index.label_weight.shape[1]),
            "power of p": scoring.power_p,
            "C of the ranker": self.C,
            "weight of the calibration tree": scoring.weight,
            "linear trees": 0 if self.votes is None else self.votes.n_trees,
            "weight of the linear trees": 0.0 if self.votes is None else self.votes.weight,
            "nodes opened of a linear tree": 0 if self.votes is None else self.votes.nodes,
        }

    def pruned(self, threshold: float | None, top: int | None, renormalize: bool) -> FittedELIAS:
        """The state whose clusters keep only some edges; see ELIAS.pruned."""
        if (threshold is None) == (top is None):
            raise ParamError("pruned takes a threshold or a number of edges (top), one of them")
        members = []
        for member in self.members:
            index = member.index
            keep = (
                strongest_edges(index.edges, index.edge_scores, int(top))
                if top is not None
                else edges_above(index.edges, index.edge_scores, float(threshold or 0))
            )
            members.append(replace(member, index=index.pruned(keep, renormalize)))
        return replace(self, members=tuple(members))

    # storage

    @classmethod
    def schema(cls, settings: ELIASParams, facts: Mapping[str, Any]) -> Schema:
        """The partition, figures, each index and its scoring, and those parts that settings and facts tell of."""
        reads_texts = settings.encoder != BOW
        width = text_width(facts["text_encoder"]) if reads_texts else 0
        inputs = n_inputs(settings.encoder, width)
        rules = {"partition": _PARTITION, **under(_FIGURES, FIGURES)}
        for place in range(settings.n_models):
            rules |= under(f"index{place}.", index_schema(inputs)) | under(f"scoring{place}.", SCORING)
        if settings.ranker:
            rules |= under(_RANKER, ranker_schema(inputs))
        if reads_texts and settings.zero_shot:
            rules |= under(_ZERO_SHOT, as_optional(zero_shot_schema(width)))
        if reads_texts and _trains_texts(settings):
            rules[_TEXT] = PART  # the text encoder compares them with its own when it is loaded
        if has_own_encoders(settings):
            rules |= {_own_text(place): PART for place in range(1, settings.n_models)}
        if "trees" in facts:
            rules |= prefixed(_TREES, TreeVotes.schema(facts["trees"]))
        return rules

    def arrays(self) -> Arrays:
        """The arrays of all parts."""
        arrays: Arrays = {"partition": self.partition, **prefixed(_FIGURES, self.held_out)}
        for place, member in enumerate(self.members):
            arrays |= prefixed(f"index{place}.", member.index.to_arrays())
            arrays |= prefixed(f"scoring{place}.", member.scoring.to_arrays())
            if member.reader is not None and member.reader.weights is not None:
                arrays |= prefixed(_own_text(place), member.reader.weights)
        if self.reader is not None and self.reader.weights is not None:
            arrays |= prefixed(_TEXT, self.reader.weights)
        for prefix, judge in ((_ZERO_SHOT, self.zero_shot), (_RANKER, self.ranker), (_TREES, self.votes)):
            if judge is not None:
                arrays |= prefixed(prefix, judge.to_arrays())
        return arrays

    def facts(self) -> dict[str, Any]:
        """What is saved beside the arrays."""
        facts: dict[str, Any] = {
            "inserted": [member.n_inserted for member in self.members],
            "candidates": self.candidates,
            "ranker_top": self.ranker_top,
            "judges_votes": self.judges_votes,
            "C": self.C,
        }
        if self.reader is not None:
            facts["text_encoder"] = self.reader.facts()
        if self.votes is not None:
            facts["trees"] = self.votes.facts()
        return facts

    @classmethod
    def restore(
        cls, settings: ELIASParams, trained_on: TrainedOn, arrays: Arrays, facts: Mapping[str, Any]
    ) -> FittedELIAS:
        """The state of saved arrays and facts; ModelFileError if they do not fit together."""
        n_labels, inserted = trained_on.n_labels, facts["inserted"]
        if not isinstance(inserted, list) or len(inserted) != settings.n_models:
            raise ModelFileError(f"elias: 'inserted' must hold {settings.n_models} numbers, but is {inserted!r:.60}")
        reader = votes = zero_shot = None
        n_columns = trained_on.n_features
        if settings.encoder != BOW:
            weights = part(_TEXT, arrays) if _trains_texts(settings) else None
            reader = TextReader.restored(
                settings.text_model, settings.max_tokens, settings.pooling, facts["text_encoder"], weights
            )
            n_columns = reader.width + (n_columns if settings.encoder == BOTH else 0)
        if _ZERO_SHOT + "labels" in arrays:
            zero_shot = ZeroShot.from_arrays(part(_ZERO_SHOT, arrays))
        if "trees" in facts:
            votes = TreeVotes.restored(facts["trees"], part(_TREES, arrays), n_columns, n_labels)
        # Earlier versions had no candidates, judged no votes, and had the rest among the settings.
        defaults = {"candidates": 0, "C": settings.C or 0.0, "ranker_top": settings.ranker_top, "judges_votes": False}
        told = {**defaults, **facts}
        if not isinstance(told["judges_votes"], bool):
            raise ModelFileError(f"elias: 'judges_votes' must be true or false, but is {told['judges_votes']!r:.60}")
        most = told["ranker_top"]
        return cls(
            settings,
            trained_on,
            members=tuple(
                Member(
                    LearnedIndex.from_arrays(part(f"index{place}.", arrays), n_labels),
                    Scoring.from_arrays(part(f"scoring{place}.", arrays)),
                    whole_number({"inserted": n_inserted}, "inserted", 0, n_labels, "elias"),
                    replace(reader, weights=part(_own_text(place), arrays))
                    if reader is not None and place and has_own_encoders(settings)
                    else None,
                )
                for place, n_inserted in enumerate(inserted)
            ),
            partition=arrays["partition"],
            ranker=Ranker.from_arrays(part(_RANKER, arrays), n_labels, settings.ranker_loss)
            if settings.ranker
            else None,
            votes=votes,
            zero_shot=zero_shot,
            reader=reader,
            candidates=whole_number(told, "candidates", 0, n_labels, "elias"),
            ranker_top=None if most is None else whole_number(told, "ranker_top", 1, 2**31 - 1, "elias"),
            judges_votes=told["judges_votes"],
            C=number(told, "C", 0, "elias"),
            held_out=part(_FIGURES, arrays),
        )


def _own_text(place: int) -> str:
    """The prefix of the weights of the text encoder that the index at this place has for itself."""
    return f"text{place}."


def _trains_texts(settings: ELIASParams) -> bool:
    """True if the weights of the text encoder are the model's own, and so saved with it."""
    return settings.tune_epochs > 0 or settings.text_training == END_TO_END
