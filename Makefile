# `make run` and `make test` do all the set-up: see README.md.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
STAMP := $(VENV)/.ready

# Compiled modules are kept: every process that the tests start would compile them again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test fast check bench nightly pictures packages translations clean

run: $(STAMP)
	@sh packaging/run.sh

test: $(STAMP)
	@sh packaging/test.sh $(ARGS)

fast: $(STAMP)
	@WORKERS=2 sh packaging/test.sh -m fast $(ARGS)

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/pytest -q tests/test_floors.py

bench: $(STAMP)
	$(BIN)/python benchmarks

nightly: $(STAMP)
	@HYPOTHESIS_PROFILE=nightly sh packaging/test.sh $(ARGS)

pictures: $(STAMP)
	@sh packaging/pictures.sh $(ARGS)

packages:
	@PYTHON="$(PYTHON)" nice sh packaging/packages.sh

# Texts that are new in the code get an empty place in each catalogue; texts that are gone leave it.
WORDS := $(shell mktemp -u)
translations: $(STAMP)
	$(BIN)/pybabel -q extract -k tr -k tr_plural:1,2 -k tr_in:1c,2 -k tr_later --no-location \
		--no-wrap --sort-output -o $(WORDS) studio/ui
	for catalogue in resources/translations/*.po; do \
		$(BIN)/pybabel -q update -i $(WORDS) -o $$catalogue -l $$(basename $$catalogue .po) \
		--no-wrap --no-fuzzy-matching --ignore-obsolete --ignore-pot-creation-date || exit; done
	rm $(WORDS)

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis

$(STAMP): pyproject.toml packaging/setup.sh packaging/system.txt
	@PYTHON="$(PYTHON)" sh packaging/setup.sh $(VENV)
	@touch $(STAMP)
