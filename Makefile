# Everything sets itself up: `make test` and `make demo` need Python 3.11+ and nothing else.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
JOBS   ?= 2
INSTALL := $(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable
# Compiled while the linters run, but for what is hardly imported: that is compiled when it is, and kept.
UNUSED := /tests?/|/testing/|/transformers/models/|/site-packages/(fontTools|mypyc?|pip|pygments|setuptools)/
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test lint format bench docs clean

demo: $(VENV)/.demo       ## train on toy data and write demo/index.html
	$(BIN)/python examples/demo.py --out demo

test: $(VENV)/.ready      ## lint, types, import contract, doctests and tests
	$(MAKE) --jobs 2 lint $(VENV)/.compiled
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

lint: $(VENV)/.ready      ## everything that reads the code without running it
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.ready    ## let ruff rewrite what it can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.ready     ## speed, as ratios against peers in one run, beside its targets
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks speed --out benchmarks/results
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks epochs --out benchmarks/results/epochs.json

docs: $(VENV)/.ready      ## build the documentation into site/; warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The pip that comes with Python takes twice as long to read an index.
$(VENV)/.pip:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tailormix needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --upgrade pip || true
	touch $@

$(VENV)/.demo: $(VENV)/.pip pyproject.toml constraints.txt
	$(INSTALL) '.[train]'
	touch $@

$(VENV)/.ready: $(VENV)/.pip pyproject.toml constraints.txt
	$(INSTALL) '.[dev]'
	touch $(VENV)/.demo $@

$(VENV)/.compiled: $(VENV)/.ready
	$(BIN)/python -W ignore -m compileall -qq -x '$(UNUSED)' $(VENV)/lib src || true
	touch $@

clean:                    ## remove everything that was made here
	rm -rf $(VENV) demo site .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
