"""Contract: scikit-learn's conventions and the refusal of unknown names."""

import inspect

import pytest
from sklearn.base import clone

from labelwood.errors import ParamError
from labelwood.models.registry import model_class, model_names


def test_get_params_gives_what_the_constructor_got(make):
    assert make(seed=9, n_threads=2).get_params() == {**make().get_params(), "seed": 9, "n_threads": 2}


def test_get_params_are_the_declared_ones_in_order(make):
    model = make()
    assert (
        list(model.get_params()) == list(model.Parameters.ranges()) == list(inspect.signature(type(model)).parameters)
    )


def test_set_params_returns_the_model(make):
    model = make()
    assert model.set_params(seed=4) is model
    assert model.seed == 4


def test_clone_is_untrained_and_equal(trained):
    copy = clone(trained)
    assert type(copy) is type(trained)
    assert copy.get_params() == trained.get_params()
    assert not hasattr(copy, "n_labels_")


def test_the_constructor_sets_nothing_but_parameters(make):
    model = make()
    assert set(vars(model)) == set(model.get_params())


@pytest.mark.parametrize("use", ["constructor", "set_params"])
def test_unknown_parameters_are_refused_with_the_nearest_name(make, use):
    with pytest.raises(ParamError, match="unknown parameter 'sed'; did you mean 'seed'"):
        make(sed=3) if use == "constructor" else make().set_params(sed=3)


def test_defaults_are_within_their_own_ranges(make):
    cls = type(make())
    assert cls.Parameters.checked({}, cls.__name__).as_dict() == cls.Parameters.defaults()


def test_every_parameter_has_help(make):
    for name, default, allowed, help_text in type(make()).Parameters.table():
        assert name
        assert default
        assert allowed
        assert len(help_text) >= 5


def test_repr_shows_what_differs_from_the_defaults(make):
    model = make(seed=77)
    assert repr(model).startswith(type(model).__name__)
    assert "seed=77" in repr(model)


def test_registry_names_are_the_classes_names(name):
    assert model_class(name).name == name
    assert name in model_names()


def test_unknown_models_are_refused_with_the_nearest_name():
    with pytest.raises(ParamError, match="unknown model 'populr'; did you mean 'popular'"):
        model_class("populr")


def test_feature_rows_are_enough_by_default(make, trained):
    assert make().reads_texts is False
    assert trained.reads_texts is False
