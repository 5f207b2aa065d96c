# Verbs: setup demo quick test browser trust scale-test check wheel docs bench align-eval paper. Each sets up what it needs; a fresh machine needs make and Python 3.11 to 3.13.
PYTHON ?= python3
BIN := .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: setup demo quick test browser trust scale-test check wheel docs bench align-eval paper clean

setup: .venv/dev

.venv/base: pyproject.toml constraints.txt
	@echo "Setting up .venv, once. 1 of 3: an empty environment, a few seconds."
	@$(PYTHON) -m venv .venv
	@echo "2 of 3: numpy, numba and what else polyref needs, about 350 MB: a minute or two."
	@$(BIN)/pip install --quiet --constraint constraints.txt --editable .
	@echo "3 of 3: polyref's inner loops as machine code, about a minute."
	@$(BIN)/polyref compile --in-package --quiet || echo "Not done: the first large run does it instead."
	@echo "Done: the command is $(BIN)/polyref."
	@touch $@

# torch first and by itself, so that it can be chosen: make setup TORCH="torch --index-url URL" (docs/install.md).
TORCH ?= torch
.venv/dev: .venv/base
	@echo "Adding what the tests need: torch first, then the others; some minutes."
	$(BIN)/pip install --quiet --constraint constraints.txt $(TORCH)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[dev]"
	@touch $@

demo: .venv/base
	@mkdir -p build
	$(BIN)/polyref demo --output build/demo.html
	$(BIN)/polyref expand src/polyref/data/sample.jsonl --tokenizer characters --per-example 20 --output build/expanded.jsonl
	$(BIN)/polyref stats build/expanded.jsonl --tokenizer characters --output build/run.html > /dev/null

check: .venv/dev
	$(BIN)/ruff check src tests benchmarks examples *.py
	$(BIN)/ruff format --check src tests benchmarks examples *.py
	$(BIN)/mypy

# A wheel in dist/ with the compiled kernels in it: of the versions in constraints.txt, for x86-64 since about 2015.
wheel: .venv/base
	$(BIN)/polyref compile --in-package
	rm -rf build/lib  # which may hold kernels of an older version
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .

# A site of the pages in docs, with a search and the reference of Python: build/site/index.html. Needs no torch.
.venv/docs: .venv/base
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[docs]"
	@touch $@

docs: .venv/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# What says most in the least time: under 90 seconds on two cores, once the kernels are compiled.
QUICK := tests/paper tests/align tests/lattice tests/schedule tests/score tests/text tests/data/test_read.py \
	tests/test_rooms.py tests/test_expansion.py tests/cli/test_golden.py
quick: .venv/dev
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile $(QUICK)

# Two processes, each with a thread of its own: more of either would only wait for each other.
test: check
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile

# The tests in a real browser, which is installed where that is allowed. make test runs them too where Chromium is there.
browser: .venv/dev
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || { \
		test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq chromium chromium-driver; \
	} || { echo "install chromium and chromium-driver first"; exit 2; }
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/explore/test_browser.py

# Damaged input, signals, kills, power cuts and full disks, for as long as one likes: make trust MINUTES=30 TIMES=100
MINUTES := 2
TIMES := 5
trust: .venv/dev
	OMP_NUM_THREADS=1 $(BIN)/python tests/trust/fuzz.py --minutes $(MINUTES)
	OMP_NUM_THREADS=1 $(BIN)/python tests/trust/signals.py --times $(TIMES)
	OMP_NUM_THREADS=1 $(BIN)/python tests/trust/resume.py --times $(TIMES)
	POLYREF_KILLS=$(TIMES) OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/experiment/test_running.py -k killed

# The tests that need the extra ray: two nodes on this machine.
scale-test: .venv/dev
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[ray]"
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/scale

# Writes docs/benchmarks.md. POLYREF_DATA names a folder with real data sets; without it, generated ones are used.
bench: .venv/dev
	$(BIN)/python -m benchmarks

# Alignment against pairs that people aligned; POLYREF_DATA names the folder with the data sets.
align-eval: .venv/dev
	$(BIN)/python -m benchmarks.alignment

# Tables and figures, drawn anew from the records in results/. docs/results.md shows some of the figures.
RECORDS := $(dir $(wildcard results/*/grid.json))
paper: .venv/dev
	@test -n "$(RECORDS)" || { echo "results/ holds no records yet; run polyref experiment on a grid of grids/study"; exit 2; }
	@mkdir -p build
	$(BIN)/polyref expand src/polyref/data/sample.jsonl --align soft --per-example 20 --keep-lattice --output build/case.jsonl
	$(BIN)/polyref report $(RECORDS) --case build/case.jsonl --output docs/report
	$(BIN)/python grids/study/contrasts.py results docs/report
	cp docs/report/flickr8k-table4-curves-1.svg docs/pictures/results-methods.svg
	cp docs/report/flickr8k-table4-curves-3.svg docs/pictures/results-numbers.svg
	cp docs/report/flickr8k-equal-curves-1.svg docs/pictures/results-equal.svg
	cp docs/report/e2e-techniques-curves-1.svg docs/pictures/results-techniques.svg
	cp docs/report/tatoeba-table2-curves-1.svg docs/pictures/results-translation-methods.svg
	cp docs/report/tatoeba-table2-curves-3.svg docs/pictures/results-translation-numbers.svg
	cp docs/report/flickr8k-table4-possible.svg docs/pictures/results-lattices.svg
	cp docs/report/contrasts.svg docs/pictures/results-contrasts.svg
	cp docs/report/case.svg docs/pictures/results-case.svg

clean:
	rm -rf .venv build
