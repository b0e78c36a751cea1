# Everything a newcomer needs: `make demo` and `make test`. Both go through `make install`, which builds into .venv.

.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# maturin and ruff come from the environment that we build.
export PATH := $(CURDIR)/$(BIN):$(PATH)
STAMP := $(VENV)/.installed
SOURCES := $(shell find crates models -name '*.rs' -o -name "*.toml" 2>/dev/null) Cargo.toml Cargo.lock pyproject.toml

.PHONY: help install demo test check lab vectors ladder clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

install: $(STAMP) ## build and install into .venv (system packages through apt when root)

$(STAMP): $(SOURCES)
	@PYTHON=$(PYTHON) sh tools/bootstrap.sh
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check 'maturin>=1.7,<2'
	$(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation --editable '.[test]'
	@touch $@

demo: install ## measure the storage under this folder, judge it, write the report
	@$(BIN)/seekwise tune . --budget 2m

test: install ## every test: Rust, Python, and with root the kernel's own schedulers
	cargo test --workspace --quiet
	$(BIN)/python -m pytest

lab: install ## fetch Debian's kernels and build the guests of `seekwise lab` (kept in ~/.cache/seekwise/lab)
	@$(BIN)/seekwise lab --build

LIST ?= tests/vectors/lists
OUT ?= vectors
vectors: install ## record LIST=FILE (ARGS='--kernel 6.1 --scheduler bfq …') on real kernels into OUT=FOLDER, replayable by `seekwise verify vectors`
	@$(BIN)/python -m seekwise.lab.vectors $(if $(wildcard $(LIST)/*),$(wildcard $(LIST)/*.list),$(LIST)) --out $(OUT) $(ARGS)

LADDER_DB ?= ladder.db
ladder: lab ## rung 4, the long form: every study of studies/ladder in the laboratory, kept in tests/vectors/ladder, and the simulator against it
	@for study in disk flash arrays flash-arrays buffered-reads buffered-writes buffered-flash; do $(BIN)/seekwise lab studies/ladder/$$study.toml --db $(LADDER_DB) || exit; done
	@$(BIN)/python -m seekwise.lab.ladder $(LADDER_DB) tests/vectors/ladder
	@$(BIN)/seekwise verify ladder tests/vectors/ladder

check: install ## formatting and lints
	cargo fmt --check
	rustfmt --check --edition 2021 crates/sched/src/*.rs crates/sched/src/*/mod.rs
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	$(BIN)/ruff check python tests
	$(BIN)/ruff format --check python tests

clean: ## remove what was built
	rm -rf target $(VENV)
