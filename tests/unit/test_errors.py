"""Errors: one base class, and messages that name the nearest known name."""

import pytest

from labelwood import errors


@pytest.mark.parametrize("name", ["DataError", "ParamError", "NotFittedError", "ModelFileError", "BudgetError"])
def test_every_error_is_a_labelwood_error(name):
    assert issubclass(getattr(errors, name), errors.LabelwoodError)


def test_errors_are_also_what_other_libraries_expect():
    assert issubclass(errors.DataError, ValueError)
    assert issubclass(errors.ParamError, ValueError)
    assert issubclass(errors.NotFittedError, AttributeError)


def test_unknown_name_gives_the_nearest_and_all():
    message = errors.unknown_name("model", "one-vs-al", ["popular", "one-vs-all"])
    assert message == "unknown model 'one-vs-al'; did you mean 'one-vs-all'? (known: one-vs-all, popular)"


def test_unknown_name_without_anything_near_only_lists():
    assert errors.unknown_name("model", "zzz", ["popular"]) == "unknown model 'zzz' (known: popular)"


def test_unknown_name_takes_any_iterable():
    assert "'b'" in errors.unknown_name("thing", "b ", (name for name in ["b"]))
