"""The marker `torch`: a test whose model is trained with PyTorch, known by the model's name among its parameters."""

import signal

import pytest

# A test run in the background of a shell ignores Ctrl-C, and the programs that tests start and stop by it would too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

NEURAL = {"dxml", "elias", "glas", "neuralxc"}


@pytest.hookimpl(tryfirst=True)  # before `-m` selects by markers
def pytest_collection_modifyitems(items):
    for item in items:
        parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
        names = {value.removesuffix("-other") for value in parameters if isinstance(value, str)}
        if names & NEURAL:
            item.add_marker("torch")
