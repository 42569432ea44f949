# Two commands do everything: `make demo` and `make test`.
PYTHON ?= python3
# `make test PYTHON=python3.13` works in .venv-3.13, whatever Python .venv has.
ifneq ($(PYTHON),python3)
VENV   ?= .venv-$(or $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])'),missing)
endif
VENV   ?= .venv
VENV   := $(VENV)
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check -qq
SOURCES := $(shell find src native -type f -not -name '*.pyc') CMakeLists.txt pyproject.toml README.md

.PHONY: demo test test-slow test-pythons sanitize bench bench-peers bench-scale lint docs clean build stubs

demo: $(VENV)/.built
	$(BIN)/labelwood demo

test: lint $(VENV)/.dev
	$(BIN)/python -m pytest -m "not slow" -n auto --dist worksteal
	$(if $(filter Linux,$(shell uname)),$(MAKE) sanitize)

# LABELWOOD_SOAK=full: every write meets a full disk once, 200 kills each, a hundred times the mixed load; hours.
test-slow: $(VENV)/.dev
	$(BIN)/python -m pytest -m slow

# The demo and the quick tests on every Python from 3.10 to 3.14 that this machine has, each in .venv-3.X.
test-pythons:
	$(PYTHON) tools/test_pythons.py $(PYTHONS)

# The native code under the address and undefined-behaviour sanitizers; the first finding ends the run (Linux, GCC).
# libstdc++ comes along because Python does not load it before the sanitizer looks for its exceptions.
SANITIZED := build/sanitize$(VENV:.venv%=%)
SANITIZERS = $(foreach lib,libasan.so libubsan.so libstdc++.so,$(shell $(CXX) -print-file-name=$(lib)))
SANITIZED_TESTS := tests/oracles $(foreach name,one_vs_all_damage damaged_rows fuzzed_files tfidf_arrays,tests/hostile/test_$(name).py) \
                   $(foreach name,matrix_round_trips tfidf_properties,tests/property/test_$(name).py)
# Only the tests get this environment: the compiler would be slow in it. Their stderr stays open for the findings.
RUN_SANITIZED = LD_PRELOAD="$(SANITIZERS)" ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
                PYTHONPATH=$(SANITIZED)/site $(BIN)/python
sanitize: $(SANITIZED)/.built
	$(RUN_SANITIZED) -c "from labelwood import _native; assert '$(SANITIZED)' in _native.__file__, _native.__file__"
	$(RUN_SANITIZED) -m pytest -q -p no:cacheprovider -p no:faulthandler --capture=sys -m "not slow" $(SANITIZED_TESTS)

$(SANITIZED)/.built: $(VENV)/.dev
	PATH="$(abspath $(BIN)):$$PATH" $(PIP) install --no-build-isolation --no-deps --upgrade --target $(SANITIZED)/site . \
	  -C build-dir=$(SANITIZED)/cmake -C install.strip=false -C cmake.define.LABELWOOD_SANITIZE=ON
	touch $@

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/run.py

# Every peer in an environment of its own, on all data sets: hours. It goes on where it was; OPTIONS="--data Bibtex --tools pecos".
bench-peers: $(VENV)/.dev
	$(BIN)/python benchmarks/peers/all.py $(OPTIONS)

bench-scale: $(VENV)/.dev
	$(BIN)/python benchmarks/scale/run.py $(OPTIONS)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/mypy

# The documentation as a site in build/site; a warning fails it. The variable silences an advertisement.
docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

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
	$(PIP) install -c constraints.txt "labelwood[dev,neural,text,report]"
	touch $@

# The type stub of the native module, made from its docstrings; commit the result.
stubs: $(VENV)/.built
	$(BIN)/python -m nanobind.stubgen -m labelwood._native -o src/labelwood/_native.pyi

clean:
	rm -rf build dist .venv .venv-3.* .mypy_cache .ruff_cache .pytest_cache .hypothesis
