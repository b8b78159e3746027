# Two commands do everything, set-up included: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# Processes that run tests side by side: one a core, or WORKERS=0 for none but this.
WORKERS ?= auto

.PHONY: demo checks test test-all coverage bench soak reproduce results docs wheel sbom audit clean help

help:
	@echo "make demo       install, then a made-up study from its file to a coupon sheet and a report (two minutes)"
	@echo "make test       install the development tools, run every check and all tests that a change can break (20 minutes)"
	@echo "make test-all   the same with slow tests: wheels, the site, soak, the whole corpus of hostile input"
	@echo "make coverage   which lines the tests run"
	@echo "make bench      speed of episodes, of population DP and of the planner, as ratios measured in one run"
	@echo "make soak       a live study under load on both databases, and faults of every kind that it must survive (two hours)"
	@echo "make reproduce  the paper's table and figure beside ours, with a report (resumable; SCALE=--quick takes minutes)"
	@echo "make results    every comparison of docs/results.md (hours; resumable)"
	@echo "make docs       the documents as a site, with the reference of commands and library, into build/site"
	@echo "make wheel      the package, in build/wheel: the same bytes from the same commit"
	@echo "make sbom       what a coordinator's environment holds, as CycloneDX: build/sbom.json"
	@echo "make audit      known weaknesses of the pinned versions (asks a database in the network)"
	@echo "make clean      remove the environment, caches and results"

$(VENV)/installed: pyproject.toml constraints.txt
	@echo "Installing peerfront into $(VENV) ..."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "peerfront needs Python 3.11 or newer; found $$($(PYTHON) --version). Run: make PYTHON=python3.11 ..."; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@$(INSTALL) -e '.[live]'
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	@echo "Installing the development tools ..."
	@$(INSTALL) pip # one that knows dependency groups
	@$(INSTALL) -e '.[dask,ray,live,research]' --group dev
	@touch $@

DEMO := results/demo
ORDER := --budget 60 --deadline 2024-07-31 --target 550
TODAY := 2024-04-29

demo: $(VENV)/installed
	@rm -rf $(DEMO)
	@$(BIN)/peerfront example --out $(DEMO)
	@$(BIN)/peerfront check $(DEMO)/study.csv --valid-days 30 --out $(DEMO)/checked
	@$(BIN)/peerfront fit $(DEMO)/study.csv --schema $(DEMO)/checked/schema.toml --as-of $(TODAY) --out $(DEMO)/model --budget 60 --rounds 6 --people 41
	@$(BIN)/peerfront plan $(DEMO)/model --study-file $(DEMO)/study.csv --as-of $(TODAY) $(ORDER) --out $(DEMO)/sheet.csv
	@$(BIN)/peerfront forecast $(DEMO)/model --study-file $(DEMO)/study.csv --as-of $(TODAY) $(ORDER) --out $(DEMO)/forecast
	@$(BIN)/peerfront report $(DEMO)/model $(DEMO)/study.csv --as-of $(TODAY) $(ORDER) --out $(DEMO)/report.html
	@echo
	@echo "The same as a running study, in one command a week:"
	@$(BIN)/peerfront week $(DEMO)/study.csv --folder $(DEMO)/running $(ORDER) --valid-days 30 --date $(TODAY)
	@echo
	@echo "Made in $(DEMO):"
	@echo "  report.html                 everything on one page"
	@echo "  sheet.csv, sheet-curve.csv  who gets how many coupons now, and what other numbers would lose"
	@echo "  forecast/                   what to expect week by week"
	@echo "  running/                    the same as a running study: its log, and a folder for each week"
	@echo "  model/                      the fitted model; it holds nobody's row"
	@echo "  checked/schema.toml         how the file was read; edit it to leave columns out"
	@echo "  study.csv, frontier.csv     the made-up study it all comes from"
	@echo "Next: the same commands with your own file (docs/how-to/plan-this-week.md); $(BIN)/peerfront --help"
	@echo "Or all of it in a browser, on this computer only: $(BIN)/peerfront app"

PYTEST := $(BIN)/python -m pytest --numprocesses=$(WORKERS) --dist=loadfile --max-worker-restart=0

checks: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: checks
	$(PYTEST) -m "not slow"

test-all: checks
	$(PYTEST)

coverage: $(VENV)/installed-dev
	$(PYTEST) --cov --cov-report=term

bench: $(VENV)/installed-dev
	$(BIN)/python benchmarks/episodes.py
	$(BIN)/python benchmarks/population_dp.py
	$(BIN)/python benchmarks/planner.py
	$(BIN)/python benchmarks/national.py --quick

soak: $(VENV)/installed-dev
	$(BIN)/python benchmarks/live_soak.py --database sqlite --clients 50 --coupons 1000
	$(BIN)/python benchmarks/live_soak.py --database postgresql --clients 50 --coupons 1000
	for database in sqlite postgresql; do for part in clock handlers server access; do \
		$(BIN)/python benchmarks/live_faults.py $$part --database $$database || exit 1; done; done
	$(BIN)/python benchmarks/live_faults.py postgresql --database postgresql
	@echo "The parts with a full disk need root: $(BIN)/python benchmarks/live_faults.py disk --database sqlite (postgresql)"
	$(BIN)/python benchmarks/live_speed.py --database sqlite
	$(BIN)/python benchmarks/live_speed.py --database postgresql

reproduce: $(VENV)/installed
	$(BIN)/peerfront reproduce $(SCALE)

results: $(VENV)/installed
	PEERFRONT=$(BIN)/peerfront bash benchmarks/results.sh

docs: $(VENV)/installed-dev
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open build/site/index.html (to search in it: $(BIN)/python -m http.server -d build/site)"

# Dates of files in the wheel are those of the last commit, or 2024 where there is no history.
wheel: $(VENV)/installed
	@mkdir -p build && rm -rf build/wheel
	@SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct 2>/dev/null || echo 1704067200) $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/wheel .
	@ls build/wheel/*.whl

RELEASE := build/release
PLAIN := build/coordinator

$(RELEASE)/installed: pyproject.toml constraints.txt
	@$(PYTHON) -m venv $(RELEASE)
	@$(RELEASE)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt pip
	@$(RELEASE)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --group release
	@touch $@

$(PLAIN)/installed: pyproject.toml constraints.txt
	@$(PYTHON) -m venv $(PLAIN)
	@$(PLAIN)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt '.[live]'
	@touch $@

sbom: $(RELEASE)/installed $(PLAIN)/installed
	@$(RELEASE)/bin/cyclonedx-py environment $(PLAIN)/bin/python --pyproject pyproject.toml --output-reproducible --output-file build/sbom.json
	@echo "Written: build/sbom.json"

audit: $(RELEASE)/installed
	@$(RELEASE)/bin/pip-audit --requirement constraints.txt --no-deps --disable-pip

clean:
	rm -rf $(VENV) results build dist site src/*.egg-info htmlcov .coverage .coverage.*
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .grimp_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
