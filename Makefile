# Every target sets up what it needs: a fresh Debian machine with python3.11+ and pip is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEV := $(VENV)/.dev

.PHONY: help demo test test-slow test-engines lint format docs bench bench-peers bench-lint fuzz soak ci clean

help:  ## what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(READY): pyproject.toml requirements.lock | $(VENV)/bin/python
	$(BIN)/python -m pip install -q --disable-pip-version-check -c requirements.lock -e .
	@touch $@

$(DEV): $(READY)
	$(BIN)/python -m pip install -q --disable-pip-version-check -c requirements.lock -e '.[dev,redis,sglang]'
	@touch $@

demo: $(READY)  ## the main job on this machine: engines, gateway, a public trace, three ways to route it
	$(BIN)/prefixgate demo

test: $(DEV)  ## the tests (3 to 5 minutes)
	$(BIN)/python -m pytest -x -q

test-slow: $(DEV)  ## the tests that take longer: the whole demo, soak
	$(BIN)/python -m pytest -q --durations=12 -m 'slow and not engines'

test-engines: $(DEV)  ## the tests on two real SGLang engines (installs them under .engines, 1.6 GB)
	$(BIN)/python examples/real_sglang_cpu/run.py setup
	$(BIN)/python -m pytest -q --durations=12 -n 0 -m engines -s tests/integration

lint: $(DEV)  ## ruff, formatting, types, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(DEV)  ## let ruff format and fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(DEV)  ## regenerate the generated pages
	$(BIN)/python -m telemetry.catalog > docs/metrics.md
	$(BIN)/python -m telemetry.grafana > examples/monitoring/grafana-dashboard.json
	$(BIN)/python -m lint.docs

bench: $(DEV)  ## cost of our own parts on this machine
	$(BIN)/python -m tests.bench.bench_prompt
	$(BIN)/python -m tests.bench.bench_router
	$(BIN)/python -m tests.bench.bench_telemetry
	$(BIN)/python -m tests.bench.bench_attribution
	$(BIN)/python -m tests.bench.bench_capture

bench-peers: $(DEV)  ## CPU and latency beside smg and sglang-router, in one run
	@if [ -f ../shared/bench/bench.py ]; then \
	  sh ../shared/bench/setup_peers.sh && \
	  BENCH_OUT=. PREFIXGATE=$(abspath $(BIN))/prefixgate $(PYTHON) ../shared/bench/bench.py; \
	else \
	  echo "The peer benchmark (bench.py, setup_peers.sh) is not part of this repository: put it at ../shared/bench,"; \
	  echo "or run any HTTP load against 'prefixgate serve' and a peer in front of the same engines."; \
	fi

bench-lint: $(DEV)  ## the linter beside kvlint, cachelint and promptcachelint on one log, in one run
	$(BIN)/python -m tests.bench.bench_lint --install
	$(BIN)/python -m tests.bench.lint_sources

fuzz: $(DEV)  ## half an hour of hostile input: streams, bodies, raw requests, the admin API
	$(BIN)/python -m tests.fuzz --minutes 30

soak: $(DEV)  ## half an hour at 70 % of a core with faults and leaving clients
	$(BIN)/python -m tests.soak --minutes 30

ci:  ## what CI runs
	bash .ci/run

clean:
	rm -rf $(VENV) .engines dist build
