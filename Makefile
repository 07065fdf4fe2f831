# Every target sets up what it needs; nothing has to be installed before but python3 and make.
RUN := .venv/bin/
# Agents, Spark's workers and hundreds of commands in tests start sooner from compiled modules.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup demo test lint format bench bench-failover docs clean
.DEFAULT_GOAL := demo

setup: .venv/.ready

.venv/.ready: pyproject.toml constraints.txt tools/setup.sh tools/brokers.sh tools/apt.sh
	@sh tools/setup.sh

demo: setup
	@$(RUN)ropewalk demo

test: setup
	@sh tools/test.sh

lint: setup
	@$(RUN)ruff check
	@$(RUN)ruff format --check
	@$(RUN)mypy
	@$(RUN)lint-imports --no-cache

format: setup
	@$(RUN)ruff check --fix
	@$(RUN)ruff format

bench: setup
	@for one in $(filter-out benchmarks/failover.py,$(wildcard benchmarks/[!_]*.py)); do \
		$(RUN)python $$one || exit 1; done

bench-failover: setup
	@$(RUN)python benchmarks/failover.py
	@$(RUN)python benchmarks/agent_throughput.py

docs: setup
	@$(RUN)python tools/reference.py
	@$(RUN)zensical build --clean

clean:
	rm -rf .venv build dist site demo .mypy_cache .pytest_cache .ruff_cache .hypothesis
