# Each target sets up what it needs: a virtual environment in .venv, made anew when its recipe changes.
#   PYTHON=python3.12   which Python the environment is made with
#   ARGS="-k window"    more arguments for pytest
#   SEED=123            the seed of a random run; without it one is made, and printed
#   EXAMPLES=1000       how many random examples a test draws
#   TEST=tests/…::…     one test, as its failure names it
#   MINUTES=60          how long to fuzz, or to soak
#   WORKERS="-n 0"      how many processes test at a time; a file of tests stays in one of them,
#                       and all tests of Spark in one

PYTHON ?= python3
ARGS ?=
MINUTES ?= 10
WORKERS ?= $(if $(TEST),-n 0,-n auto --dist loadfile)
ONE = $(if $(TEST),"$$TEST")
DRAW = $(if $(SEED),--seed=$(SEED)) $(if $(EXAMPLES),--examples=$(EXAMPLES)) $(ONE)

BIN := .venv/bin
READY := .venv/.ready
# One test compiles what it needs; all of them need all kernels, which are compiled once before.
CODE := $(if $(TEST),$(READY),machine-code)

# Compiled modules are kept, whatever the environment says: the tests start hundreds of programs and
# workers of Spark, each of which would compile the package anew, and the tests themselves.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help demo audit test test-quick test-random test-heavy test-rest test-long test-naive environments release-check fuzz soak mutants coverage lint format-code machine-code wheel site clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(READY) ## make a day of readings, find the thefts in it, then check and format queries
	@$(BIN)/python examples/demo.py

test: $(CODE) ## run the tests, with the same random examples every time (ten minutes)
	@echo "test: all but the heavy ones"
	@$(BIN)/python -m pytest -m "not heavy" $(WORKERS) $(ONE) $(ARGS)

test-quick: $(CODE) ## run what takes little time, with few random examples (two minutes)
	@echo "test-quick: what takes little time"
	@$(BIN)/python -m pytest -m "not heavy and not slow" --hypothesis-profile=quick $(WORKERS) $(ONE) $(ARGS)

test-random: $(CODE) ## run the random tests with fresh examples (four minutes)
	@echo "test-random: fresh examples"
	@$(BIN)/python -m pytest -m "hypothesis or random" --hypothesis-profile=random $(WORKERS) $(DRAW) $(ARGS)

test-heavy: $(CODE) ## run what both leave out: killed processes, checked indexes, experiments (seven)
	@echo "test-heavy: what the others leave out"
	@$(BIN)/python -m pytest -m "heavy and not (hypothesis or random)" $(WORKERS) $(ONE) $(ARGS)

# In one run, so that tests are collected, and processes and Spark are started, once.
test-rest: $(CODE) ## run both of these in one run: all that test leaves out, and fresh examples
	@echo "test-rest: fresh examples, and what the others leave out"
	@$(BIN)/python -m pytest -m "hypothesis or random or heavy" --hypothesis-profile=random $(WORKERS) $(DRAW) $(ARGS)

test-long: $(CODE) ## run everything, with hundreds of times more random examples
	@echo "test-long: everything, with many more random examples"
	@$(BIN)/python -m pytest --hypothesis-profile=long $(WORKERS) $(DRAW) $(ARGS)

test-naive: $(READY) ## run 20,000 fresh cases against the naive matcher, by every recipe
	@echo "test-naive: fresh cases, every recipe, fused and not"
	@$(BIN)/python -m tests.drawing.many_cases $(if $(SEED),--seed=$(SEED)) $(if $(EXAMPLES),--cases=$(EXAMPLES))

environments: $(READY) ## test the wheel with the oldest and the newest versions and by other Pythons
	@echo "environments: other versions, outside the tree"
	@.ci/environments

fuzz: $(READY) ## give hostile documents to whatever reads some, for MINUTES (10), with a fresh SEED
	@echo "fuzz: $(MINUTES) minutes"
	@$(BIN)/python -m tests.fuzz --seconds $$(($(MINUTES) * 60)) $(if $(SEED),--seed $(SEED)) $(ARGS)

soak: $(READY) ## push streams of keys that never repeat for MINUTES (10): memory stays, matches are the batch's
	@echo "soak: $(MINUTES) minutes"
	@$(BIN)/python -m tests.soak --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(ARGS)

mutants: $(READY) ## put faults into copies of the code: the suite must notice each
	@$(BIN)/python -m tests.mutants.run $(ARGS)

# Also where tests fail, but not where none has run.
coverage: $(CODE) ## count the lines and branches that the tests run
	@echo "coverage: lines and branches of sase/ that the tests run"
	@rm -f .coverage .coverage.*
	@status=0; $(BIN)/python -m coverage run -m pytest -m "not heavy" $(WORKERS) $(ONE) $(ARGS) || status=$$?; \
	    [ $$status -le 1 ] || exit $$status; \
	    $(BIN)/python -m coverage combine --quiet; \
	    $(BIN)/python -m coverage report; exit $$status

lint: $(READY) ## check style, format and types
	@echo "lint: style, format and types"
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --quiet --check
	@$(BIN)/mypy --no-error-summary

audit: $(READY) ## ask for known holes in what is installed; where nobody can be asked, say so
	@$(BIN)/python .ci/audit

format-code: $(READY) ## format the Python code in place
	@echo "format-code: imports and layout, in place"
	@$(BIN)/ruff check --quiet --select I --fix
	@$(BIN)/ruff format --quiet

# By way of the source distribution, so that both are whole, and no file left in build/ slips in.
# Then the machine code of all kernels is compiled, unless it is there, and put into the wheel.
wheel: $(READY) ## build the wheel, with compiled kernels, and the source distribution in dist/
	@echo "wheel: dist/"
	@rm -rf dist
	@log=$$($(BIN)/python -m build --no-isolation -C kernels=none --outdir dist 2>&1) || { \
	    echo "$$log" >&2; exit 1; }
	@$(BIN)/python .ci/machine-code dist/*.whl

release-check: $(READY) ## build what a release has, install it in empty environments, and run it there
	@echo "release-check: dist/"
	@.ci/release-check

# For this CPU alone, unless it is there of the same sources: of `make wheel`, for example.
machine-code: $(READY)
	@$(BIN)/python .ci/machine-code

# In an environment of its own, as nothing else needs these packages.
site: .venv-site/.ready ## build the site of docs/ in build/site; links that lead nowhere are errors
	@echo "site: build/site/index.html; to search in it:  python -m http.server -d build/site"
	@NO_MKDOCS_2_WARNING=1 .venv-site/bin/python -m mkdocs build --quiet --strict

.venv-site/.ready: setup.cfg pyproject.toml
	@echo "setting up .venv-site (once, about a minute)"
	@$(PYTHON) -m venv .venv-site
	@.venv-site/bin/python -m pip install -qq --disable-pip-version-check --no-input --editable '.[docs]'
	@touch $@

clean: ## remove all that the other targets made
	@echo "clean: the environment, builds and caches"
	@rm -rf sase/engine/kernels/machine_code .venv .venv-site build dist *.egg-info .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): setup.cfg pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "Python 3.11 or newer is needed; name one, as in  make $(MAKECMDGOALS) PYTHON=python3.12" >&2; \
	    exit 1; }
	@echo "setting up .venv (once, about a minute)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-input --editable '.[dev]'
	@touch $@
