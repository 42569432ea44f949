"""GLaS against its own parts: regularizers, the ReLU, input dropout; test P@1 and the gap to the training rows.

    python benchmarks/quality/glas_ablation.py FOLDER [--seeds 3] [--rows N] [--out table.json] [--picture FILE.png]
    python benchmarks/quality/glas_ablation.py FOLDER --set loss=snm,map=nonlinear,optimizer=adam
    python benchmarks/quality/glas_ablation.py FOLDER --set dim=32,widen=8 --for 'GLaS, linear map: lr=0.006'
    python benchmarks/quality/glas_ablation.py FOLDER --beside-tree

FOLDER holds train.txt.gz and test.txt.gz. The weight of each regularizer is chosen on --folds fifths of the training
rows, each asked after training on the other rows (at most --choose-rows); then every variant is trained on all
training rows with each seed and the test rows are asked (--choose-only: not yet). The picture: P@1
of training and test rows after each epoch, with and without regularizers, seed 0. --beside-tree: GLaS and the linear
tree with their defaults, by label frequency.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch

import labelwood as lw
from labelwood.data.keyed_random import keyed_order
from labelwood.matrices import as_features, as_labels, normalized_rows
from labelwood.models.neural.forward import bag_forward, unit_rows
from labelwood.models.neural.glas_params import GLaSParams
from labelwood.models.neural.glas_training import label_vectors, trained_glas
from labelwood.progress import SILENT

WEIGHTS = (10.0, 100.0, 1000.0, 3000.0, 10_000.0)
FOLDS = 5
MEASURED = 3000  # training rows whose P@1 is measured


def precision(network, x, y, seen):
    """P@1, P@3, P@5 in per cent of a network's answers."""
    vectors = unit_rows(bag_forward(network.map.arrays(), x, torch.get_num_threads()))
    hits = []
    for begin in range(0, x.shape[0], 1000):
        part = slice(begin, begin + 1000)
        best = seen[np.argsort(-(vectors[part] @ label_vectors(network)[seen].T), axis=1, kind="stable")[:, :5]]
        hits.append(y[part].toarray()[np.arange(len(best))[:, None], best])
    found = np.concatenate(hits)
    return [100 * float(found[:, :k].mean()) for k in (1, 3, 5)]


def curve(settings, train, test, seed, every_epoch=True):
    """(train P@1, test P@1, P@3, P@5) after each epoch, or after the last alone."""
    parameters = GLaSParams.checked({"validation": 0.0, "seed": seed, "n_threads": 1, **settings}, "GLaS")
    seen = np.unique(train[1].indices)
    some = keyed_order(train[0].shape[0], 5)[:MEASURED]
    points = []

    def after(epoch, network):
        if every_epoch or epoch == parameters.epochs - 1:
            points.append(
                [precision(network, train[0][some], train[1][some], seen)[0], *precision(network, *test, seen)]
            )

    trained_glas(*train, parameters, "", SILENT, after)
    return points


def variants(weights):
    glas = {"regularizer": "glas", "weight": weights["glas"]}
    return {
        "GLaS": glas,
        "spread-out": {"regularizer": "spreadout", "weight": weights["spreadout"]},
        "gravity": {"regularizer": "gravity", "weight": weights["gravity"]},
        "no regularizer": {"regularizer": "none"},
        "GLaS, linear map": {**glas, "map": "linear"},
        "GLaS, keep 0.8": {**glas, "keep": 0.8},
    }


def fold(data, number, most):
    """(training rows, held-out rows) of one fifth: features and labels of both."""
    order = keyed_order(data[0].shape[0], 77)
    begin, end = (len(order) * place // FOLDS for place in (number, number + 1))
    rows, held = np.sort(np.concatenate([order[:begin], order[end:]])[:most]), np.sort(order[begin:end])
    return (data[0][rows], data[1][rows]), (data[0][held], data[1][held])


def chosen_weights(train, grid, most, folds, more):
    found = {}
    parts = [fold(train, number, most) for number in range(folds)]
    for regularizer in ("glas", "spreadout", "gravity"):
        tried = {}
        for weight in grid:
            settings = {**more, "regularizer": regularizer, "weight": weight}
            runs = [curve(settings, *part, 10 * number, False)[-1][1] for number, part in enumerate(parts)]
            tried[weight] = round(float(np.mean(runs)), 2)
        found[regularizer] = max(tried, key=tried.get)
        print(f"{regularizer}: validation P@1 by weight {tried}", flush=True)
    return found


def beside_tree(train, test):
    """Prints what GLaS and the linear tree reach on frequent and rare labels."""
    for model in (lw.GLaS(n_threads=1), lw.LinearTree(n_threads=1)):
        started = time.process_time()
        model.fit(*train)
        used = time.process_time() - started
        found = lw.evaluate(model.predict(test[0], 5), test[1], train_y=train[1], per_band=True)
        wanted = [f"{letters}@{k}" for letters in ("P", "PSP") for k in (1, 3, 5)]
        wanted += [f"{letter}@5[{band}]" for letter in "PR" for band in ("head", "torso", "tail")]
        wanted += [f"P@1[{band}]" for band in ("head", "torso", "tail")]
        shown = {name: round(found[name], 2) for name in wanted}
        print(f"{model.name}: {used:.0f} CPU s to fit; {shown}", flush=True)


def settings_of(text):
    """'dim=128,loss=snm' as a dictionary of numbers and words."""
    found = {}
    for name, value in (pair.split("=") for pair in text.split(",") if pair):
        try:
            found[name] = json.loads(value)
        except json.JSONDecodeError:
            found[name] = value
    return found


def draw(curves, path, title):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(7, 4.2))
    for name, points in curves.items():
        epochs = np.arange(1, len(points) + 1)
        (line,) = axis.plot(epochs, [p[1] for p in points], marker="o", label=name)
        axis.plot(epochs, [p[0] for p in points], linestyle="--", color=line.get_color())
    axis.set(xlabel="epoch", ylabel="P@1 (solid: test rows, dashed: training rows)", title=title)
    axis.legend()
    axis.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, help="train on so many random training rows only")
    parser.add_argument("--weights", help="as 'glas=100,spreadout=10,gravity=10': do not choose")
    parser.add_argument("--choose-rows", type=int, default=12_000, help="rows to train on when weights are chosen")
    parser.add_argument("--folds", type=int, default=1, help=f"of the {FOLDS} fifths, those used to choose")
    parser.add_argument("--choose-only", action="store_true", help="choose weights, leave the test rows alone")
    parser.add_argument("--set", default="", help="parameters of all variants: 'dim=128,epochs=4'")
    parser.add_argument(
        "--for", dest="own", action="append", default=[], help="more parameters of one variant: 'VARIANT: lr=0.006'"
    )
    parser.add_argument("--variants", help="some variants, separated by ';'")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument(
        "--beside-tree", action="store_true", help="GLaS and the linear tree by label frequency instead"
    )
    parser.add_argument("--out", type=Path)
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    both = [lw.read(options.folder / f"{part}.txt.gz") for part in ("train", "test")]
    train, test = [(normalized_rows(as_features(data.x)), as_labels(data.y)) for data in both]
    if options.rows:
        rows = np.sort(keyed_order(train[0].shape[0], 1)[: options.rows])
        train = (train[0][rows], train[1][rows])
    if options.beside_tree:
        beside_tree(train, test)
        return
    more = settings_of(options.set)
    if options.weights:
        weights = {name: float(value) for name, value in (pair.split("=") for pair in options.weights.split(","))}
    else:
        weights = chosen_weights(train, WEIGHTS, options.choose_rows, options.folds, more)
    if options.choose_only:
        return
    table, curves = {"weights": weights}, {}
    own = {name.strip(): settings_of(text.strip()) for name, text in (part.split(":") for part in options.own)}
    if unknown := set(own) - set(variants(weights)):
        parser.error(f"--for must name variants ({'; '.join(variants(weights))}), but has {'; '.join(unknown)}")
    wanted = options.variants.split(";") if options.variants else None
    for name, settings in variants(weights).items():
        if wanted is not None and name not in wanted:
            continue
        started = time.process_time()
        runs = [
            curve(
                {**settings, **more, **own.get(name, {})}, train, test, seed, options.picture is not None and seed == 0
            )
            for seed in range(options.first_seed, options.first_seed + options.seeds)
        ]
        curves[name] = runs[0]
        last = np.array([run[-1] for run in runs])
        table[name] = {
            "train P@1": last[:, 0].tolist(),
            "P@1": last[:, 1].tolist(),
            "P@3": last[:, 2].tolist(),
            "P@5": last[:, 3].tolist(),
        }
        mean = last.mean(axis=0)
        print(
            f"{name:24s} P@1 {mean[1]:.2f} P@3 {mean[2]:.2f} P@5 {mean[3]:.2f} train P@1 {mean[0]:.2f} "
            f"gap {mean[0] - mean[1]:.2f} ({(time.process_time() - started) / options.seeds:.0f} CPU s a run)",
            flush=True,
        )
        if options.out:
            options.out.write_text(json.dumps(table, indent=1))
    if options.picture:
        shown = {name: points for name, points in curves.items() if "," not in name}
        draw(shown, options.picture, options.folder.name)


if __name__ == "__main__":
    main()
