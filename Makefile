# Two commands do everything, set-up included: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test bench reproduce results clean help

help:
	@echo "make demo       install, compare the plain policies in the paper's world, draw the curves (a minute)"
	@echo "make test       install the development tools, run every check and test"
	@echo "make bench      speed of episodes, of population DP and of the planner, as ratios measured in one run"
	@echo "make reproduce  the paper's table and figure beside ours, with a report (resumable; SCALE=--quick takes minutes)"
	@echo "make results    every comparison of docs/results.md (hours; resumable)"
	@echo "make clean      remove the environment, caches and results"

$(VENV)/installed: pyproject.toml constraints.txt
	@echo "Installing peerfront into $(VENV) ..."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "peerfront needs Python 3.11 or newer; found $$($(PYTHON) --version). Run: make PYTHON=python3.11 ..."; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@$(INSTALL) -e .
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	@echo "Installing the development tools ..."
	@$(INSTALL) -e '.[dev]'
	@touch $@

demo: $(VENV)/installed
	@$(BIN)/peerfront simulate --policy threshold:cutoff=0.9,at_least=12
	@$(BIN)/peerfront compare --episodes 200 --out results/demo --overwrite
	@echo
	@echo "Made in results/demo:"
	@echo "  curves-icpsr22140.png   recruits and discounted reward by round, like the paper's figure (also .svg)"
	@echo "  table.md                the tables above"
	@echo "  episodes.csv, rounds.csv.gz, summary.csv, differences.csv   the data behind them"
	@echo "Next: $(BIN)/peerfront worlds, $(BIN)/peerfront policies, $(BIN)/peerfront compare --help"

test: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest --cov --cov-report=term

bench: $(VENV)/installed-dev
	$(BIN)/python benchmarks/episodes.py
	$(BIN)/python benchmarks/population_dp.py
	$(BIN)/python benchmarks/planner.py

reproduce: $(VENV)/installed
	OMP_NUM_THREADS=1 $(BIN)/peerfront reproduce $(SCALE)

results: $(VENV)/installed
	PEERFRONT=$(BIN)/peerfront bash benchmarks/results.sh

clean:
	rm -rf $(VENV) results build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage .coverage.*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
