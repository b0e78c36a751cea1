# Everything a newcomer needs: `make demo` and `make test`. Both go through `make install`, which builds into .venv.

.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Commands that the demo prints are typed where this is the path.
TYPED_PATH := $(PATH)
# maturin and ruff come from the environment that we build.
export PATH := $(CURDIR)/$(BIN):$(PATH)
STAMP := $(VENV)/.installed
# `test,dask` also tests the spreading over Dask's workers, as CI does.
EXTRAS ?= test
# One time for all that is packed: the last commit's. Same sources, same bytes.
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null)
SOURCES := $(shell find crates proof/crates models -name '*.rs' -o -name "*.toml" 2>/dev/null) Cargo.toml Cargo.lock pyproject.toml proof/pyproject.toml papers/pyproject.toml

.PHONY: help bootstrap install rust-tests demo test quick instructions checked slow lowest newest test-all check lab vectors figures ladder clean wheel sdist deb packages notice release docs


help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

bootstrap:
	@PYTHON=$(PYTHON) sh tools/bootstrap.sh

install: $(STAMP) ## build and install into .venv (system packages through apt when root)

$(STAMP): $(SOURCES)
	@PYTHON=$(PYTHON) sh tools/bootstrap.sh
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check 'maturin>=1.9.4,<2' 'setuptools>=77'
	$(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation --editable '.[$(EXTRAS)]' --editable proof --editable papers
	@touch $@

demo: install ## measure the storage under this folder, judge it, write the report; where that is not possible, simulate a drive like it
	@export PATH='$(TYPED_PATH)'; $(BIN)/seekwise tune . --budget 2m || case $$? in 3|4) echo; $(BIN)/seekwise tune model:nearest ;; *) exit 1 ;; esac

# Files are kept together: tests of one file may share a loop device.
PYTEST := $(BIN)/python -m pytest
TOGETHER := -n 2 --dist loadfile

rust-tests:
	cargo test --release --workspace --quiet

# Extensions and Rust tests have one profile (Cargo.toml): whichever comes second finds its crates built.
test: bootstrap ## the tests: Rust, Python, and with root the kernel's own schedulers
	@$(MAKE) --no-print-directory -j2 --output-sync=line install rust-tests
	$(PYTEST) -m 'not slow' $(TOGETHER)

slow: install
	$(PYTEST) -m slow $(TOGETHER)

# The least that is promised: the lowest version of every range in pyproject.toml. Representative: where the libraries are used (screens, pages,
# verdicts, records, workers, notebooks), not every test; LOWEST_TESTS=tests runs all fast ones.
LOWEST := target/lowest
LOWEST_TESTS ?= tests/cli/test_terminal.py tests/cli/test_help.py tests/report tests/judge tests/store tests/measure/test_spread.py tests/library

$(LOWEST)/.installed: pyproject.toml tools/lowest.py
	@rm -rf $(LOWEST)
	@$(PYTHON) -m venv $(LOWEST)
	@$(LOWEST)/bin/python tools/lowest.py > $(LOWEST)/versions.txt
	$(LOWEST)/bin/pip install --quiet --disable-pip-version-check --only-binary :all: --requirement $(LOWEST)/versions.txt
	@touch $@

SITE := -c 'import site; print(site.getsitepackages()[0])'

ifeq ($(shell $(PYTHON) -c 'import sys; print(sys.version_info < (3, 13))'),True)
# Our own packages as they are installed there: they are built once.
lowest: install $(LOWEST)/.installed ## representative fast tests with the lowest declared version of every Python library
	@cp -r $$($(BIN)/python $(SITE))/*seekwise* $$($(LOWEST)/bin/python $(SITE))
	$(LOWEST)/bin/python -m pytest -m 'not slow' $(TOGETHER) $(LOWEST_TESTS)
else
lowest:
	@echo "lowest: skipped: the lowest versions of NumPy and SciPy have no build for this Python; PYTHON=python3.12 has them"
endif

newest: install ## the highest version of every Python library into .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --upgrade --upgrade-strategy eager --no-build-isolation --editable '.[$(EXTRAS)]' --editable proof --editable papers

instructions: install ## instructions per simulated I/O against benches/instructions.toml, which WRITE=--write makes anew
	$(BIN)/python tools/instructions.py $(WRITE)

checked: ## the Rust tests again, with assertions and overflow checks
	cargo test --workspace --quiet

test-all: newest test checked slow lowest ## all with the highest versions, some with the lowest, and what takes longer: real kernels in qemu, calibration, thousands of mutated inputs per reader, an error and a kill at every system call, racing attackers, a browser

lab: install ## fetch Debian's kernels and build the guests of `seekwise lab` (kept in ~/.cache/seekwise/lab)
	@$(BIN)/seekwise lab --build

LIST ?= tests/vectors/lists
OUT ?= vectors
vectors: install ## record LIST=FILE (ARGS='--kernel 6.1 --scheduler bfq …') on real kernels into OUT=FOLDER, replayable by `seekwise verify vectors`
	@$(BIN)/python -m seekwise_proof.testbed.vectors $(if $(wildcard $(LIST)/*),$(wildcard $(LIST)/*.list),$(LIST)) --out $(OUT) $(ARGS)

figures: install ## run the checks of README's accuracy table again and write the figures of all pages anew
	@$(BIN)/python tools/figures.py

LADDER_DB ?= ladder.db
ladder: lab ## validation level 4, the long form: every study of studies/ladder in the VM testbed, kept in tests/vectors/ladder, and the simulator against it
	@for study in disk flash arrays flash-arrays buffered-reads buffered-writes buffered-flash; do $(BIN)/seekwise lab studies/ladder/$$study.toml --db $(LADDER_DB) || exit; done
	@$(BIN)/python -m seekwise_proof.validate._ladder_tables $(LADDER_DB) tests/vectors/ladder
	@$(BIN)/seekwise verify ladder tests/vectors/ladder

dist/.wheel: $(SOURCES) $(shell find python proof papers packaging -name '*.py' -o -name '*.sh' -o -name '*.toml' -o -name '*.md' 2>/dev/null)
	@rm -f dist/*.whl dist/*.cyclonedx.json
	@PYTHON=$(PYTHON) sh tools/bootstrap.sh && PYTHON=$(PYTHON) sh packaging/wheel.sh
	@touch $@

wheel: dist/.wheel ## the packages for pip, pipx and uv: dist/seekwise-….whl, and those of proof and papers

sdist: dist/.wheel ## the sources with the crates that they need, which build without network: dist/seekwise-….tar.gz
	@rm -f dist/seekwise-*.tar.gz
	@$(PYTHON) packaging/sdist.py dist/seekwise-*-manylinux*_x86_64.whl dist

deb: dist/.wheel ## packages for Debian 12 and 13: dist/seekwise_….deb
	@rm -f dist/seekwise_*.deb
	@for release in 12 13; do PYTHON=target/package-venv/bin/python sh packaging/deb.sh $$release || exit; done

packages: wheel sdist deb ## everything in dist/, with the list of crates (CycloneDX) and SHA256SUMS
	@cd dist && sha256sum seekwise* > SHA256SUMS && cat SHA256SUMS

notice: ## NOTICE anew: licences of the crates that are compiled in
	@$(PYTHON) packaging/notice.py > NOTICE.new && mv NOTICE.new NOTICE

# Those without a toolchain here are named and left out (packaging/wheel.sh).
TARGETS ?= x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu x86_64-unknown-linux-musl
# The tag comes last: what could not be built leaves a commit that `git reset --hard HEAD~` takes back.
release: ## everything of a release: make release VERSION=0.2.0, on a clean tree, then its tag
	@$(PYTHON) packaging/set_version.py --check '$(VERSION)'
	@$(PYTHON) packaging/set_version.py '$(VERSION)'
	@$(MAKE) --no-print-directory notice
	@git commit --quiet --all --message "Release $(VERSION)"
	@rm -rf dist && SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) TARGETS='$(TARGETS)' $(MAKE) --no-print-directory packages
	@$(PYTHON) packaging/set_version.py --notes '$(VERSION)' > dist/NOTES.md
	@git tag --annotate 'v$(VERSION)' --message 'Seekwise $(VERSION)' && echo "dist/ is the release; its page is dist/NOTES.md; then: git push --follow-tags"

docs: install ## the site, into site/: strict, readable without network
	@$(BIN)/python -c 'import material' 2>/dev/null || $(BIN)/pip install --quiet --disable-pip-version-check 'mkdocs>=1.6,<2' 'mkdocs-material>=9.5,<10'
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet && echo site/index.html

quick: ## after a change, within a minute: formatting and types of the changed files, the tests nearest to them
	@$(BIN)/python tools/quick.py

check: install ## formatting, lints and types
	cargo fmt --check
	rustfmt --check --edition 2021 crates/sched/src/*.rs crates/sched/src/*/mod.rs
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	$(BIN)/ruff check python proof papers tests tools conftest.py
	$(BIN)/ruff format --check python proof papers tests tools conftest.py
	$(BIN)/mypy
	$(BIN)/python tools/words.py
	$(BIN)/python tools/created_files.py
	$(BIN)/python tools/lines.py --check

clean: ## remove what was built
	rm -rf target dist site $(VENV)
