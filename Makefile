# Set-up and checks. `make demo` and `make test` need nothing but Python 3.11+ and make.
.DEFAULT_GOAL := help
.PHONY: help demo docs test net test-all test-bounds explore mutate nightly check bench gallery dist clean
SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
PIP := $(VENV)/bin/python -m pip --disable-pip-version-check --quiet install $(PIP_OPTIONS) --constraint constraints.txt
# What builds the package has the pinned versions too: older pip reads the one, newer the other.
export PIP_CONSTRAINT := constraints.txt
export PIP_BUILD_CONSTRAINT := constraints.txt
# Each process that a test starts, and each that shares the tests, would compile every module anew.
unexport PYTHONDONTWRITEBYTECODE
# There is a test on every core: threads of a product of matrices or a table would wait.
export OPENBLAS_NUM_THREADS := 1
test net test-all explore: export POLARS_MAX_THREADS := 1
# Pins are of one kernel of OpenBLAS: those of other processors round otherwise.
ifeq ($(shell uname -m),x86_64)
export OPENBLAS_CORETYPE := Haswell
endif
PYTEST := $(VENV)/bin/python -m pytest --numprocesses=auto --dist=worksteal

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.demo  ## Audit sample_data/ and say where the report lies
	@sh scripts/demo.sh $(VENV)/bin/audit

test: $(VENV)/.test  ## Run all tests but the slow ones, on fewer examples
	$(PYTEST) -m 'not slow' --hypothesis-profile=few $(PYTEST_ARGS)

net: $(VENV)/.test  ## Run what holds on to public doors alone: laws, cases, commands, papers
	$(PYTEST) tests/laws tests/cases tests/commands tests/papers tests/kernels $(PYTEST_ARGS)

test-all: $(VENV)/.test  ## Run every test on all examples, as CI does
	$(PYTEST) $(PYTEST_ARGS)

test-bounds: $(VENV)/.test  ## Audit the sample with the oldest and the newest versions of all packages
	$(VENV)/bin/python scripts/test_bounds.py

explore: $(VENV)/.test  ## Run the property tests on random examples, by a seed that is printed
	@seed=$${SEED:-$$($(VENV)/bin/python -c 'import secrets; print(secrets.randbelow(10**9))')}; \
	repeat="make explore SEED=$$seed PYTEST_ARGS='$(PYTEST_ARGS)'"; \
	echo "To draw these examples again: $$repeat"; \
	$(PYTEST) -m hypothesis --hypothesis-profile=explore --hypothesis-seed=$$seed $(PYTEST_ARGS) \
	|| { status=$$?; echo "To see this failure again: $$repeat"; exit $$status; }

mutate: $(VENV)/.test  ## Try small faults of each room (ROOMS="readers checks") on TESTS; hours
	$(PIP) pytest-cov
	$(VENV)/bin/python scripts/mutate.py $(and $(ROOMS),--rooms $(ROOMS)) --tests $(or $(TESTS),tests) --faults $(or $(FAULTS),30) --seed $(or $(SEED),4)

nightly: test-bounds  ## Run what takes hours: bounds, mutants of every room, more examples, other Pythons
	$(MAKE) mutate
	$(MAKE) explore
	@for python in python3.11 python3.12 python3.13 python3.14; do \
		if command -v $$python >/dev/null; then \
			$(MAKE) test PYTHON=$$python VENV=.venv-$$python || exit; \
		else \
			echo "$$python is not there"; \
		fi \
	done

check: $(VENV)/.test  ## Lint and check types
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

bench: $(VENV)/.test  ## Measure commands, BEFORE=REVISION in turns
	$(VENV)/bin/python benchmarks/commands.py $(and $(BEFORE),--before $(BEFORE))

docs: $(VENV)/.demo  ## Make the site of docs/ in site/, every warning an error
	$(PIP) --editable '.[docs]'
	$(VENV)/bin/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs site
	@echo 'Links that leave the site, which are not checked:'
	@grep -rhoE '\]\(https?://[^)]+' docs --include='*.md' | cut -c3- | sort -u

gallery: $(VENV)/.test  ## Take the pictures of the README again
	$(VENV)/bin/python scripts/make_gallery.py

dist: $(VENV)/.test  ## Build wheel and source distribution, always to the same bytes
	$(PIP) hatchling
	$(VENV)/bin/python -m hatchling build

clean:  ## Remove the environment and what the demo left
	rm -rf $(VENV) audit-run site

$(VENV)/bin/python:
	@sh scripts/make_venv.sh $(PYTHON) $(VENV)

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) --editable .
	@touch $@

$(VENV)/.test: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) --editable '.[test]'
	@touch $@ $(VENV)/.demo
