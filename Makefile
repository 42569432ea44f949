# Two commands do everything: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check -qq
SOURCES := $(shell find src native -type f -not -name '*.pyc') CMakeLists.txt pyproject.toml README.md

.PHONY: demo test test-slow bench lint clean build stubs

demo: $(VENV)/.built
	$(BIN)/labelwood demo

test: lint $(VENV)/.dev
	$(BIN)/python -m pytest -m "not slow"

test-slow: $(VENV)/.dev
	$(BIN)/python -m pytest -m slow

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/run.py

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/mypy

build: $(VENV)/.built

$(VENV)/.venv: constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -c constraints.txt pip scikit-build-core nanobind cmake ninja
	touch $@

$(VENV)/.built: $(VENV)/.venv $(SOURCES)
	PATH="$(abspath $(BIN)):$$PATH" $(PIP) install -c constraints.txt --no-build-isolation --force-reinstall --no-deps . -C cmake.define.LABELWOOD_WERROR=ON
	$(PIP) install -c constraints.txt labelwood
	touch $@

$(VENV)/.dev: $(VENV)/.built
	$(PIP) install -c constraints.txt "labelwood[dev]"
	touch $@

# The type stub of the native module, made from its docstrings; commit the result.
stubs: $(VENV)/.built
	$(BIN)/python -m nanobind.stubgen -m labelwood._native -o src/labelwood/_native.pyi

clean:
	rm -rf build dist .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
