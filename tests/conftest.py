"""The marker `torch`: a test whose model is trained with PyTorch, known by the model's name among its parameters."""

import pytest

from labelwood.models.registry import model_class, model_names

NEURAL = {name for name in model_names() if model_class(name).__module__.startswith("labelwood.models.neural.")}


@pytest.hookimpl(tryfirst=True)  # before `-m` selects by markers
def pytest_collection_modifyitems(items):
    for item in items:
        parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
        if any(isinstance(value, str) and value in NEURAL for value in parameters):
            item.add_marker("torch")
