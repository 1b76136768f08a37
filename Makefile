# Set-up and checks. `make demo` and `make test` need nothing but Python 3.11+ and make.
.DEFAULT_GOAL := help
.PHONY: help demo docs test slow shard shards test-bounds explore mutate nightly check bench gallery dist clean
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
test slow shard shards explore: export POLARS_MAX_THREADS := 1
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

slow: $(VENV)/.test  ## Run the slow tests that every change runs: pins, pages, PDFs, the package
	$(PYTEST) -m slow tests/cases/test_pins.py tests/pages tests/commands $(wildcard tests/*/test_package.py) $(PYTEST_ARGS)

shard: $(VENV)/.test $(if $(filter 6 7,$(SHARD)),$(VENV)/.extras)  ## Run an eighth of the files, every test on all examples: SHARD=0 to 7
	$(PYTEST) --shard=$(SHARD) $(PYTEST_ARGS)

shards: $(VENV)/.extras  ## Run all eight: before a release
	$(PYTEST) $(PYTEST_ARGS)

test-bounds: $(VENV)/.test  ## Audit the sample with the oldest and the newest versions of all packages
	$(VENV)/bin/python scripts/test_bounds.py

explore: $(VENV)/.test  ## Run the property tests on random examples, by a seed that is printed
	@seed=$${SEED:-$$($(VENV)/bin/python -c 'import secrets; print(secrets.randbelow(10**9))')}; \
	repeat="make explore SEED=$$seed PYTEST_ARGS='$(PYTEST_ARGS)'"; \
	echo "To draw these examples again: $$repeat"; \
	$(PYTEST) -m hypothesis --hypothesis-profile=explore --hypothesis-seed=$$seed $(PYTEST_ARGS) \
	|| { status=$$?; echo "To see this failure again: $$repeat"; exit $$status; }

mutate: $(VENV)/.test  ## Try small faults of each room (ROOMS="readers checks") on TESTS, resumed from KEEP
	$(VENV)/bin/python scripts/mutate.py $(and $(ROOMS),--rooms $(ROOMS)) $(and $(KEEP),--keep $(KEEP)) --tests $(or $(TESTS),tests) --faults $(or $(FAULTS),30) --seed $(or $(SEED),4)

nightly: test-bounds shards  ## Run what takes hours: bounds, shards, mutants, more examples, other Pythons
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
	$(VENV)/bin/python -m benchmarks.commands $(and $(BEFORE),--before $(BEFORE))

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

# Without these their tests skip; the last are what only tests compare with.
$(VENV)/.extras: $(VENV)/.test
	$(PIP) --editable '.[spark,model,explain,docs]' concept-erasure opendataloader-pdf \
		flask flask-cors mlcroissant 'moto[s3]' pre-commit
	@touch $@
