"""Contract: every preset is what its paper prints, and trains."""

import pytest

from labelwood.errors import ParamError
from labelwood.labelindex.build import build_tree
from labelwood.models import hsoftmax
from labelwood.models.linear import tree_choice
from labelwood.models.registry import model_class, model_names

# (model, preset) -> the values printed in the paper, with the place
PUBLISHED = {
    # Baharav et al., CIKM 2021, section 5.4.2: "the number of trees to 1 ... 10 for the maximum number of paths ... 100
    # for the maximum number of labels in a leaf, and 1 for the misclassification penalty for all nodes", teacher
    # forcing, squared hinge; 5.4.3: "round the alpha after each iteration", "gamma = 0.1"; lambda' = 0 is Parabel.
    ("linear-tree", "paper"): {
        "n_trees": 1,
        "arity": 2,
        "beam": 10,
        "max_leaf": 100,
        "C": 1.0,
        "C_cluster": 1.0,
        "rare_power": 0.0,
        "negatives": "tfn",
        "loss": "squared-hinge",
        "link": "hinge2",
        "balance_ratio": 0.0,
        "smoothing": 0.1,
        "round_each": True,
        "wide_trees": False,
    },
    # Prabhu et al., WWW 2018, section 5: three trees, otherwise the same.
    ("linear-tree", "parabel"): {"n_trees": 3, "wide_trees": False, "beam": 10, "max_leaf": 100, "arity": 2, "C": 1.0},
    # Section 5.4.2: "hierarchical softmax for the loss function, 0.5 for the learning rate, 200 for the number of
    # epochs, 128 for the dimension of the embeddings, 2 for the minimal number of word occurrences"; 5.4.3: gamma 0.1.
    ("hsoftmax", "paper"): {
        "loss": "hs",
        "rate": 0.5,
        "epochs": 200,
        "dim": 128,
        "min_count": 2,
        "tree": "interpolated",
        "smoothing": 0.1,
        "round_each": True,
        "start": pytest.approx(128**-0.5),
        "shuffle": False,
    },
    # fastText 0.9.2, src/args.cc (supervised): lr 0.1, dim 100, epoch 5, minCount 1; vectors start in +-1 / dim.
    ("hsoftmax", "fasttext"): {
        "loss": "hs",
        "rate": 0.1,
        "epochs": 5,
        "dim": 100,
        "min_count": 1,
        "tree": "huffman",
        "ties": "chance",  # dictionary.cc: std::sort by count, which leaves equal ones in any order
        "start": pytest.approx(0.1),
        "shuffle": False,
    },
    # fastText 0.9.2, args.cc: softmax, neg 5, dim 100, epoch 5, lr 0.1, minCount 1; vectors in +-1 / dim.
    ("fasttext", "fasttext"): {
        "loss": "softmax",
        "negatives": 5,
        "dim": 100,
        "epochs": 5,
        "rate": 0.1,
        "start": 0.1,
        "min_count": 1,
        "shuffle": False,
    },
    # Zhang et al., ICMR 2018, algorithms 1 and 2 (edges without weights, DeepWalk, means of label vectors, the nearest
    # cluster, mean of the neighbours' labels) and section 4.1: W1 d x 256, l = 100 for small data sets, 512 and 300 for
    # large ones; dropout after the last linear layer, then length 1; SGD, momentum 0.9, decay 0.0005, fixed rate 0.015.
    ("dxml", "paper"): {
        "embedding": "deepwalk",
        "weighted": False,
        "self_weight": 0.0,
        "targets": "raw",
        "hidden": 256,
        "dim": 100,
        "residual": False,
        "input_dropout": 0.0,
        "dropout_at": "output",
        "out_norm": True,
        "optimizer": "sgd",
        "learning_rate": 0.015,
        "weight_decay": 0.0005,
        "n_models": 1,
        "nprobe": 1,
        "temperature": 1000.0,  # all neighbours alike (algorithm 2); of equal votes the nearer ones win
        "blend": 0.0,
        "n_neighbors": None,
    },
    ("dxml", "paper-large"): {"hidden": 512, "dim": 300, "targets": "raw", "optimizer": "sgd"},
    # "Extreme Classification using Autoencoders", section 3: three networks, no path beside them; the numbers are those
    # of the authors' code (a = b = 0.01, batch 64, Adam 3e-4, weight decay 1e-4), as the paper prints none.
    ("neuralxc", "paper"): {
        "input_weight": 0.01,
        "output_weight": 0.01,
        "latent_weight": 0.0,
        "batch_size": 64,
        "rate": 3e-4,
        "weight_decay": 1e-4,
        "dropout": 0.0,
        "shortcut": False,
        "plain": True,
    },
    # Section 4.1: complete linkage on minus the number of shared rows; 256 numbers of code on Bibtex.
    ("hierarchicalxc", "paper"): {
        "distance": "counts",
        "ties": "chain",
        "encoding_dim": 256,
        "autoencoder": "neural",  # section 4: "identical to that in NeuralXC"
        "kernel_features": 1000,  # the code: SVC(), a Gaussian kernel with C = 1
        "gamma": None,
        "C": 1.0,
        "rare_power": 0.0,
    },
    # Gupta et al., NeurIPS 2022, section 4 ("an ensemble of 3 models", K = 2000, b = 20, "weight decay applied only to
    # non-gain and non-bias parameters", "update ... at every k training steps, where k=10"), D.2 (top 100, T + p q).
    ("elias", "paper"): {
        "n_models": 3,
        "shortlist": 2000,
        "beam": 20,
        "shortlist_loss": 0.05,
        "stage1_lambda": 0.05,
        "label_every": 10,
        "bias_decay": False,
        "label_decay": 0.01,
        "weight_decay": 0.01,
        "edge_start": "uniform",
        "max_parents": 0,
        "negatives": "shortlist",
        "scoring": "product",
        # D.2: "top 100 predictions made by trained ELIAS", equation 17 (log of the sigmoid), "5000 data points"
        "ranker_top": 100,
        "ranker_loss": "logistic",
        "most_held_out": 5000,
        "candidates": 0,
        "trees": 0,
        "encoder": "auto",  # texts where there are some; figure 2: "the text encoder" is trained end to end
        "text_training": "end-to-end",
        "own_encoders": True,  # section 4: three models, each with its own
        "pooling": "cls",
        "layer_decay": 1.0,
    },
    **{
        # Table 4 (section C.1), row by row: max-len, C, alpha, epochs of both stages, rates of W and phi, batch size.
        ("elias", name): {
            "max_tokens": tokens,
            "n_clusters": clusters,
            "alpha": alpha,
            "beta": 150,
            "kappa": 1000,
            "shortlist_loss": 0.05,
            "shortlist": 2000,
            "beam": 20,
            "stage1_epochs": epochs // 3,
            "stage2_epochs": 2 * epochs // 3,
            "lr": rate,
            "text_lr": text_rate,
            "batch_size": batch,
        }
        for name, tokens, clusters, alpha, epochs, rate, text_rate, batch in (
            ("lf-amazontitles-131k", 32, 2048, 10, 60, 0.02, 1e-4, 512),
            ("amazon-670k", 128, 8192, 10, 60, 0.01, 1e-4, 256),
            ("wikipedia-500k", 128, 8192, 10, 45, 0.005, 5e-5, 256),
            ("amazon-3m", 128, 32768, 20, 45, 0.002, 2e-5, 64),
        )
    },
    # Guo et al., NeurIPS 2019, section 4 and table 1: "GLaS regularizer with regularization weight lambda = 10, input
    # dropout with rho = 0.8, batch size B = 4096, and a non-linear embedding map with embedding dimension d = 1024";
    # algorithm 2, one label drawn for each row; "up to 10 epochs and apply early stopping".
    ("glas", "paper"): {
        "regularizer": "glas",
        "weight": 10.0,
        "keep": 0.8,
        "batch_size": 4096,
        "fit_batch": False,
        "map": "nonlinear",
        "dim": 1024,
        "positives": "one",
        "loss": "margin",
        "epochs": 10,
        "weight_norm": True,
    },
    # "we have used the softmax-cross-entropy loss for the Delicious-200K dataset"
    ("glas", "delicious-200k"): {"loss": "softmax", "weight": 10.0, "keep": 0.8, "batch_size": 4096, "dim": 1024},
}
PRESETS = [(name, preset) for name in model_names() for preset in model_class(name).PRESETS]
TRAINED = [
    pytest.param(*pair, marks=pytest.mark.torch) if PUBLISHED.get(pair, {}).get("autoencoder") == "neural" else pair
    for pair in PRESETS
]


def test_every_preset_is_compared_with_its_paper():
    assert set(PUBLISHED) == set(PRESETS)


@pytest.mark.parametrize(("name", "preset"), PRESETS)
def test_a_preset_has_the_published_values(name, preset):
    settings = model_class(name).preset(preset).get_params()
    published = PUBLISHED[name, preset]
    assert {parameter: settings[parameter] for parameter in published} == published


@pytest.mark.parametrize(("name", "preset"), TRAINED)
def test_a_preset_trains_and_answers(name, preset, data):
    model = model_class(name).preset(preset, n_threads=1, seed=3).fit(data.x, data.y)
    assert model.parameters_.seed == 3
    assert (model.predict(data.x[:5], 3).labels[:, 0] >= 0).all()


def test_changes_come_on_top_of_a_preset():
    model = model_class("linear-tree").preset("paper", beam=20, seed=4)
    assert (model.beam, model.seed, model.max_leaf) == (20, 4, 100)
    with pytest.raises(ParamError, match="unknown parameter 'bem'"):
        model_class("linear-tree").preset("paper", bem=20)


def test_unknown_presets_are_refused_with_the_known_ones():
    with pytest.raises(ParamError, match=r"LinearTree: unknown preset 'papr'; did you mean 'paper'"):
        model_class("linear-tree").preset("papr")
    with pytest.raises(ParamError, match="Popular has no presets, but 'paper' was asked for"):
        model_class("popular").preset("paper")


@pytest.mark.parametrize("name", ["linear-tree", "hsoftmax"])
@pytest.mark.parametrize("change", [{"smoothing": 5.0}, {"rounding": "left"}, {"round_each": False}])
def test_the_tree_builder_gets_its_settings(name, change, data, monkeypatch):
    """gamma, rounding and round-each of the interpolated tree are parameters of both models on such trees."""
    module = tree_choice if name == "linear-tree" else hsoftmax
    given = []

    def listening(kind, **settings):
        given.append(settings)
        return build_tree(kind, **settings)

    monkeypatch.setattr(module, "build_tree", listening)
    model_class(name)(balance_ratio=1.0, n_threads=1, **change).fit(data.x, data.y)
    assert change.items() <= given[0].items()


def test_trees_are_built_alike_without_wide_ones(data, monkeypatch):
    kinds = []
    build = tree_choice.build_tree
    monkeypatch.setattr(tree_choice, "build_tree", lambda kind, **rest: kinds.append(kind) or build(kind, **rest))
    for wide_trees in (True, False):
        model_class("linear-tree")(n_trees=3, max_leaf=3, wide_trees=wide_trees, n_threads=1).fit(data.x, data.y)
    assert kinds == ["interpolated", "interpolated", "wide", "interpolated", "interpolated", "interpolated"]
