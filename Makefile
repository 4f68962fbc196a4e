# `make audit` runs the main job, `make test` the tests, `make docs` builds the documentation. Each sets up what it needs, once.
PYTHON ?= python3
BIN := .venv/bin
TORCH := torch==2.13.0
AXE := axe-core@4.14.1
WORKERS ?= 2

TENSORS := tests/measures tests/exact tests/models tests/attribution tests/battery tests/training tests/token_scores tests/test_attacks.py
QUICK := tests/measures tests/exact tests/schema tests/settings tests/store tests/data tests/verdict tests/report tests/test_architecture.py
empty :=
space := $(empty) $(empty)
comma := ,
CHECKED := $(subst $(space),$(comma),$(addprefix heedful.,attacks attribution battery exact measures models token_scores training types))

# Idle threads of torch must wait, not spin: on a busy machine that is a hundredfold difference.
export OMP_WAIT_POLICY := PASSIVE

.PHONY: audit test quick test-data check format docs lock benchmarks clean

audit: .venv/ready
	$(BIN)/heedful audit

# Where tensors are made, every call is checked against its types as the tests run. That doubles their time, so what is
# built on top of it (audits, commands, pages) is tested as it is used, without.
test: check
	$(BIN)/pytest -q -n $(WORKERS) --dist worksteal $(TENSORS) --jaxtyping-packages=$(CHECKED),beartype.beartype
	$(BIN)/pytest -q -n $(WORKERS) --dist worksteal $(addprefix --ignore=,$(TENSORS))

# The inner loop: format, types, and the tests that need no training and no other process.
quick: check
	$(BIN)/pytest -q -n $(WORKERS) --dist worksteal -m "not slow and not cluster and not browser and not data" $(QUICK)

# Those of them that read the folders of HEEDFUL_DATA and HEEDFUL_GOLDEN.
test-data: .venv/ready-dev
	$(BIN)/pytest -q -n $(WORKERS) --dist worksteal -m data tests

check: .venv/ready-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright

format: .venv/ready-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Every warning is an error: a broken link, a page that no other names, an unknown reference.
docs: .venv/ready-docs
	$(BIN)/sphinx-build --builder html --fail-on-warning --keep-going --nitpicky --quiet docs docs/site
	@echo docs/site/index.html

# constraints.txt anew, from pyproject.toml in an empty environment. What is pinned stays; `make lock KEEP=` takes the newest.
KEEP := --constraint constraints.txt
lock:
	$(PYTHON) -m venv --clear .venv/lock
	.venv/lock/bin/pip install --quiet $(TORCH)
	.venv/lock/bin/pip install --quiet $(KEEP) '.[captum,hf,vectors,docs,dev]'
	echo '# The versions that the tests ran with: pip takes these and no others. torch is pinned in the Makefile. Made by `make lock`.' > .venv/constraints.txt
	.venv/lock/bin/pip freeze --exclude heedful --exclude torch >> .venv/constraints.txt
	mv .venv/constraints.txt constraints.txt
	rm -r .venv/lock

# Without those that are given a model or tables.
benchmarks: .venv/ready-dev
	for file in $(filter-out %/hugging_face.py %/other_libraries.py %/third_party_outcomes.py,$(wildcard benchmarks/*.py)); do $(BIN)/python $$file; done

clean:
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis docs/site

# torch first and exactly: a looser pin may fetch gigabytes that nothing here needs.
.venv/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Heedful needs Python 3.11 or newer; PYTHON=... names one."; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet $(TORCH)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable .
	touch $@

# axe-core checks the pages in the browser tests; they skip without it.
.venv/ready-dev: .venv/ready
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[hf,vectors,docs,dev]'
	npm install --silent --no-save --prefix .venv $(AXE) || echo "no axe-core to be had: its tests skip"
	touch $@

.venv/ready-docs: .venv/ready
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[hf,docs]'
	touch $@
