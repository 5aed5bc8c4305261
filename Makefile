# `make train` and `make test` work on a fresh machine: each makes the virtual environment first.
PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2
BIN := $(VENV)/bin
READY := $(VENV)/.ready

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore

.PHONY: help train test lint types tests format bench docs site notebooks venv clean

help:           ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /make \1	/' | expand -t 16

train: $(READY) ## train a first bot, evaluate it, export it, check the export
	$(BIN)/kolkhoz quickstart

test: lint tests ## lint, types and all tests

lint: $(READY)  ## ruff, and mypy on the packages
	$(BIN)/ruff check .
	$(BIN)/mypy

tests: $(READY) ## all tests, without lint
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup tests

format: $(READY) ## sort imports and mend what ruff can mend
	$(BIN)/ruff check --fix .

bench: $(READY) ## decisions per second of every part
	$(BIN)/kolkhoz bench

docs: $(READY)  ## the pages that are written from the code
	$(BIN)/python -m kolkhoz_env.documentation docs/environment.md
	$(BIN)/python tools/results.py write

site: $(READY)  ## the pages and notebooks as a site, in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

notebooks: $(READY) ## run the notebooks again and keep their outputs
	$(BIN)/python tools/run_notebooks.py

venv: $(READY)  ## the virtual environment with everything in it

clean:          ## remove the virtual environment and caches; runs stay
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(READY): pyproject.toml setup.py constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $@
