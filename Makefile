# repertory: `make demo` and `make test` are all a new checkout needs.
# Each target installs what it needs into .venv once; a stamp file per set of extras remembers that.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# One thread per process: these networks are too small to share, and results must not depend on the machine.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=1
# Tests of one file stay together: they share what its fixtures made.
TWO_WORKERS := --numprocesses 2 --dist loadfile

.PHONY: help install demo test test-slow test-lowest test-newest lint format bench docs clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 13

install: $(VENV)/.installed ## make .venv and install repertory into it

$(VENV)/.made:
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/.made
	$(PIP_INSTALL) --editable .
	@touch $@

$(VENV)/.installed-%: $(VENV)/.installed
	$(PIP_INSTALL) --editable '.[$*]'
	@touch $@

demo: $(VENV)/.installed ## live a short lifetime of AdaptiveDQN9P on the 27-task Cartpole and draw it
	@rm -rf runs/demo
	$(ONE_THREAD) $(BIN)/repertory run --domain cartpole27 --learner dqn --policies 9 --selector epsilon-greedy \
		--blocks 150 --block-steps 20000 --set learner.learning_starts=5000 --out runs/demo

test: $(VENV)/.installed-test ## run the tests (under ten minutes on two cores)
	$(ONE_THREAD) $(BIN)/python -m pytest -m "not slow" $(TWO_WORKERS)

test-slow: $(VENV)/.installed-test ## run the long tests as well
	$(ONE_THREAD) $(BIN)/python -m pytest $(TWO_WORKERS)

# Both ends of what pyproject.toml allows, with the core dependencies alone: tests that need extras are skipped.
TEST_TOOLS := pytest pytest-xdist 'setuptools>=77'

test-lowest: .venv-lowest/.installed ## run the tests that need no extras on the lowest versions allowed
	$(ONE_THREAD) .venv-lowest/bin/python -m pytest -m "not slow" $(TWO_WORKERS)

.venv-lowest/.installed: pyproject.toml constraints-lowest.txt
	$(PYTHON) -m venv --clear .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints-lowest.txt \
		--editable . $(TEST_TOOLS)
	@touch $@

test-newest: ## and on the newest versions there are today
	$(PYTHON) -m venv --clear .venv-newest
	.venv-newest/bin/python -m pip install --quiet --disable-pip-version-check --editable . $(TEST_TOOLS)
	$(ONE_THREAD) .venv-newest/bin/python -m pytest -m "not slow" $(TWO_WORKERS)

lint: $(VENV)/.installed-lint ## ruff, mypy and the rules of who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(VENV)/.installed-lint ## let ruff rewrite what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.installed-bench ## speed and memory as ratios, measured on one thread; see docs/speed.md
	$(BIN)/repertory bench

docs: $(VENV)/.installed-docs ## build the documentation into build/docs
	$(BIN)/sphinx-build -q -W --keep-going -b html docs build/docs

clean: ## remove the environments and everything that can be made again
	rm -rf $(VENV) .venv-lowest .venv-newest build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
