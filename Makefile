# Everything a person or a machine runs on this repository. "make" alone lists the targets.

UV_VERSION := 0.13.9
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
RUNTIME_LISTS := .ci/packages.txt $(wildcard environments/*/packages.txt)
TEST_LISTS := tests/packages.txt

# The first Python on PATH that is new enough; set PYTHON to choose another.
PYTHON ?= $(firstword $(foreach name,python3 python3.13 python3.12 python3.11 python3.14,$(shell \
  $(name) -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $(name))))

# What "make demo" runs: a suite and agents, into a folder that is made anew each time.
DEMO_SUITE ?= benchmark/suites/first_light.toml
DEMO_AGENTS ?= oracle
DEMO_OUT := runs/demo

# Tests mostly wait for desktops, so they run side by side, a file at a time. PYTEST_ARGS="-k loading" narrows them.
JOBS ?= $(shell nproc)
PYTEST_ARGS ?=

# Nothing outside this repository steers Python, and uv never fetches one.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV
export UV_PYTHON_DOWNLOADS := never
export UV_PROJECT_ENVIRONMENT := $(VENV)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help setup demo test check format bench clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-8s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(STAMPS)/test-packages $(STAMPS)/test-python ## Install everything for working on CRAB: system packages, .venv

demo: $(STAMPS)/runtime-python ## Install what running needs, run a small suite, print the table and the report's path
	@rm -rf $(DEMO_OUT)
	@$(BIN)/crab run --suite $(DEMO_SUITE) --agent $(DEMO_AGENTS) --out $(DEMO_OUT)

test: setup check ## Run every check and every test
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadfile $(PYTEST_ARGS)

check: setup ## Check style, types and architecture
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-cache >$(STAMPS)/lint-imports.log || { cat $(STAMPS)/lint-imports.log; exit 1; }

format: setup ## Put the code into the one format
	@$(BIN)/ruff check --fix --quiet
	@$(BIN)/ruff format --quiet

bench: setup ## Measure the budgets; fails on a miss over 25 %
	@$(BIN)/python -m tests.benchmarks

clean: ## Remove .venv, builds and caches
	@rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMPS)/runtime-packages: $(RUNTIME_LISTS) .ci/install-packages
	@.ci/install-packages $(RUNTIME_LISTS)
	@mkdir -p $(@D) && touch $@

$(STAMPS)/test-packages: $(STAMPS)/runtime-packages $(TEST_LISTS)
	@.ci/install-packages $(TEST_LISTS)
	@touch $@

# Debian ships ensurepip apart from Python, so the system packages come first.
$(STAMPS)/uv: $(STAMPS)/runtime-packages
	@test -n "$(PYTHON)" || { echo "CRAB needs Python 3.11 or newer on PATH; set PYTHON to name one" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip --upgrade >/dev/null
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --root-user-action ignore uv==$(UV_VERSION)
	@touch $@

# "--inexact" keeps uv and pip themselves.
$(STAMPS)/runtime-python: $(STAMPS)/uv pyproject.toml uv.lock
	@$(BIN)/uv sync --quiet --frozen --inexact --no-dev --extra ubuntu
	@touch $@

$(STAMPS)/test-python: $(STAMPS)/uv pyproject.toml uv.lock
	@$(BIN)/uv sync --quiet --frozen --inexact --all-extras --group dev
	@touch $@ $(STAMPS)/runtime-python
