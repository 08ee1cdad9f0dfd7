# make try         a first job on the embedded SQLite, and its record
# make test        every test but the slow ones
# make test-slow   those
# make test-long   ten thousand random lives of a task on each store
# make check       ruff, its formatter, mypy
# make bench       the cost of once beside that of other tools, as ratios
# make completions the shells' files, written anew from the command tree
# make wheel       what a release would be
#
# Nothing is needed but make and a Python from 3.11 on. PYTHON=… names another, VENV=… keeps its environment apart:
#     make test PYTHON=python3.13 VENV=.venv3.13

PYTHON ?= python3
VENV ?= .venv
PYTEST_ARGS ?=
# Many tests wait for a process, a lease or cron's minutes more than they compute.
WORKERS ?= 4

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

.PHONY: try test test-slow test-long check bench completions wheel clean
.DELETE_ON_ERROR:

try: export PATH := $(abspath $(BIN)):$(PATH)
try: export ONCE_DB := local
try: export ONCE_STATE_DIR := $(CURDIR)/build/try
try: $(VENV)/installed
	@rm -rf build/try && mkdir -p build/try
	once run --task first-job --schedule "* * * * *" -- sh -c 'echo "This is the slot of $$ONCE_SLOT, run number $$ONCE_RUN."'
	@echo
	once runs first-job
	@echo
	once show first-job

test: $(VENV)/installed-test
	$(BIN)/python -m pytest -n $(WORKERS) $(PYTEST_ARGS)

test-slow: $(VENV)/installed-test
	$(BIN)/python -m pytest -n $(WORKERS) -m slow --durations 10 $(PYTEST_ARGS)

test-long: $(VENV)/installed-test
	ONCE_LIVES=10000 $(BIN)/python -m pytest -n $(WORKERS) -m slow tests/conformance/test_interleavings.py $(PYTEST_ARGS)

check: $(VENV)/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/installed-bench
	$(BIN)/python tests/benchmarks/bench.py

completions: $(VENV)/installed
	$(BIN)/python completions/generate.py

wheel: $(VENV)/installed-test
	$(PIP) wheel --no-deps --no-build-isolation --wheel-dir dist .

clean:
	rm -rf build dist $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/installed: pyproject.toml | $(VENV)/bin/python
	$(PIP) install --editable .
	@touch $@

$(VENV)/installed-test: pyproject.toml | $(VENV)/bin/python
	$(PIP) install --editable '.[test,check]'
	@touch $@ $(VENV)/installed

$(VENV)/installed-bench: pyproject.toml | $(VENV)/bin/python
	$(PIP) install --editable '.[bench]'
	@touch $@

# A PYTHON that was named is used or refused; otherwise the first that is new enough and can make an environment.
$(VENV)/bin/python:
	@for python in $(if $(filter file default undefined,$(origin PYTHON)),$(PYTHON) python3.13 python3.12 python3.11 python3.14 python3,$(PYTHON)); do \
	    if "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	        echo "making $(VENV) with $$python ($$("$$python" --version))"; \
	        exec "$$python" -m venv --clear $(VENV); \
	    fi; \
	done; \
	echo "No Python from 3.11 on with its venv module (looked for: $(PYTHON) and, unless that was named, python3.11 to 3.14)." >&2; \
	echo "Install one (Debian: apt install python3 python3-venv), or name it: make $(MAKECMDGOALS) PYTHON=/path/to/python3" >&2; \
	exit 1
