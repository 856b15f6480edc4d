# Two commands do everything on a fresh machine: `make demo` and `make test`.

VENV ?= .venv
# On Windows run `make` in Git Bash, whose sh it uses; programs of an environment are in Scripts.
ifeq ($(OS),Windows_NT)
SHELL := sh.exe
PYTHON ?= python
PROGRAMS := Scripts
else
PYTHON ?= python3
PROGRAMS := bin
endif
BIN := $(VENV)/$(PROGRAMS)
SETUP := $(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip install --quiet --upgrade pip

.PHONY: help demo test suite coverage lint style types format bench experiments peers figures docs test-oldest browser dist dist-check clean

help:
	@echo "make demo         run the main job on the bundled example and write its report"
	@echo "make test         lint, types, layers and the full test suite"
	@echo "make coverage     the suite, and which lines it ran"
	@echo "make test-oldest  the suite on the oldest supported packages"
	@echo "make bench        speed side by side with peers (QUICK=1 for a short run)"
	@echo "make experiments  published figures beside ours (QUICK=1 for a short run)"
	@echo "make peers        scikit-learn's own tests on our methods, against the known differences"
	@echo "make figures      both once more, kept as the pages of the docs (QUICK=1 for a short run)"
	@echo "make docs         the documentation with its gallery, docs/_build/html/index.html"
	@echo "make format       let ruff format and fix"
	@echo "make dist         wheel and source distribution, in dist/"
	@echo "make dist-check   both built, and the wheel installed and run in an empty environment"

$(VENV)/.installed: pyproject.toml
	$(SETUP)
	$(BIN)/python -m pip install --quiet -e .
	@touch $@

# pycanon, an independent checker of anonymity, names exact versions of NumPy and pandas although its
# checks run on any: installed alone, it leaves those of the environment as they are.
PYCANON := $(BIN)/python -m pip install --quiet --no-deps pycanon==1.3.6

$(VENV)/.installed-dev: pyproject.toml
	$(SETUP)
	$(BIN)/python -m pip install --quiet -e ".[dev]"
	$(PYCANON)
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: pyproject.toml
	$(SETUP)
	$(BIN)/python -m pip install --quiet -e ".[docs]"
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-bench: pyproject.toml
	$(SETUP)
	$(BIN)/python -m pip install --quiet -e ".[bench,docs,data]"
	$(PYCANON)
	@touch $@ $(VENV)/.installed

demo: $(VENV)/.installed
	$(BIN)/sidelight demo --output sidelight-demo

# Types are checked while the suite runs.
test: $(VENV)/.installed-dev browser style
	$(MAKE) --jobs 2 types suite

# Each worker takes neighboring tests, which share fitted models and compiled kernels. Bytecode is
# kept whatever the shell says: without it, collecting takes twice as long.
suite coverage: export PYTHONDONTWRITEBYTECODE =
suite: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)

# The same with a count of the lines that were run, which takes almost twice as long.
coverage: $(VENV)/.installed-dev browser
	$(BIN)/python -m pytest -n 2 --dist worksteal --cov --cov-report=term $(ARGS)

lint: style types

style: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: $(VENV)/.installed-dev
	$(BIN)/mypy

format: $(VENV)/.installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The report is looked at in a real browser.
browser:
	@for name in chromium chromium-browser google-chrome; do \
	  if command -v $$name >/dev/null 2>&1; then exit 0; fi; \
	done; \
	if command -v apt-get >/dev/null 2>&1; then \
	  sudo=$$(command -v sudo || true); \
	  $$sudo apt-get update -qq && $$sudo apt-get install -y -qq chromium; \
	else echo "Install Chromium or Chrome to run the browser tests."; fi

# Its own environment: the oldest versions that pyproject.toml admits, minus format and type checks.
test-oldest: browser
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/$(PROGRAMS)/python -m pip install --quiet --upgrade pip
	.venv-oldest/$(PROGRAMS)/python -m pip install --quiet -e ".[test]" -c requirements/oldest.txt
	.venv-oldest/$(PROGRAMS)/python -m pip install --quiet --no-deps pycanon==1.3.6
	.venv-oldest/$(PROGRAMS)/python -m pytest -n 2 --dist worksteal $(ARGS)

bench: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks.harness $(if $(QUICK),--quick)

experiments: $(VENV)/.installed-bench
	$(BIN)/python -m experiments.harness $(if $(QUICK),--quick)

# scikit-learn's own tests on our methods; what differs and why is in tests/peers/expected.csv.
peers: $(VENV)/.installed-dev
	$(BIN)/python -m tests.peers $(ARGS)

# Benchmarks and experiments, kept as Markdown with pictures in docs/results.
figures: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks.harness --keep $(if $(QUICK),--quick)
	$(BIN)/python -m experiments.harness --keep $(if $(QUICK),--quick)

docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

dist: $(VENV)/.installed-dev
	rm -rf dist
	$(BIN)/python -m build --outdir dist .

# The suite checks the same with the packages at hand; this fetches all of them anew.
dist-check: $(VENV)/.installed-dev
	SIDELIGHT_DIST_CHECK=1 $(BIN)/python -m pytest tests/test_package.py

clean:
	rm -rf .venv .venv-oldest dist docs/_build docs/auto_examples docs/api/generated sidelight-demo
