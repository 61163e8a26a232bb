# One command equals CI: `make test` installs, checks and tests everything.
PYTHON ?= python3.11
VENV ?= .venv
BIN := $(VENV)/bin
PIP_FLAGS ?= --quiet --disable-pip-version-check
STAMP := $(VENV)/.installed

COVERAGE := 90
# Tests that mind nobody beside them run three at a time, because they wait as much as they compute; the
# others time, fill or fork-bomb the machine. The longest come first, or they would run alone at the end.
SIDE_BY_SIDE := $(addprefix tests/,training/test_usage_snippet.py data/test_tasks_judged.py \
	cuda/extension/test_extension_full_headers.py test_pipeline.py agents cheats config \
	cuda/analysis cuda/executors cuda/extension cuda/lint cuda/profiler cuda/toolchain \
	$(patsubst %,cuda/test_%.py,compiler_choice compiler_parity compiler_prelude_values contract \
	elements hostile_texts inputs judge_dtypes judge_hostile leftovers secrecy task_identity \
	verdict_memory) \
	$(patsubst %,cli/test_%.py,cli cli_data cli_plugins cli_rescore) data honest monitoring \
	orchestration $(patsubst %,evaluation/test_%.py,bench_sft comparison evaluate sampling) records test_layout.py $(patsubst %,training/test_%.py,cuda_performance_reward own_reward rescoring rl_cpu_engine \
	reward_properties rl_advantage rl_curves rl_export rl_overrides rl_presets rl_process_watch rl_step_reports \
	sft_by_agent sft_examples sft_packed sft_team sft_training))
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

.DEFAULT_GOAL := help
.PHONY: help setup quick-test test docker-test gpu-test coverage check system-test clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## Create .venv and install the package with every extra, at pinned versions

$(STAMP): pyproject.toml constraints.txt
	@echo "Installing into $(VENV) (a few minutes the first time)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install $(PIP_FLAGS) -c constraints.txt "torch==2.13.0"
	@$(BIN)/python -m pip install $(PIP_FLAGS) -c constraints.txt -e ".[train,verl,compare,watch,serve,dev]"
	@touch $@

quick-test: $(STAMP) ## Train a small model end to end without a GPU: SFT, GRPO under verl, evaluation, report
	@$(BIN)/python launch_complete_cuda_training.py --quick-test

test: check ## Install, check and run every test that this machine can run, with coverage
	@$(BIN)/python -m pytest --cov --cov-report= -n 3 --dist loadfile --no-loadscope-reorder $(SIDE_BY_SIDE)
	@$(BIN)/python -m pytest --cov --cov-append --cov-report= $(addprefix --ignore=,$(SIDE_BY_SIDE))
	@$(MAKE) --no-print-directory coverage

docker-test: $(STAMP) ## Start a private Docker engine (root, Debian), run the sandbox tests against it, stop it
	@trap 'scripts/docker_for_tests.sh stop' EXIT; scripts/docker_for_tests.sh start; \
		eval "$$(scripts/docker_for_tests.sh env)"; \
		CODING_FRAMEWORK_REQUIRE_DOCKER=1 $(BIN)/python -m pytest tests/cuda/sandbox

gpu-test: $(STAMP) ## On a GPU: cheats, honest candidates, throughput, leaks, two runs compared (half an hour)
	@PYTHON="$(abspath $(BIN))/python" scripts/check_on_gpu.sh runs/gpu-test

coverage: ## Coverage of the last test run; fails where the judge is covered by less than 90 %
	@rm -f .coverage.*
	@$(BIN)/python -m coverage report --skip-covered --sort=cover | tail -n 25
	@for part in '*/coding_framework/records/*' '*/coding_framework/cuda/*' '*/training/reward_functions/*'; do \
		echo "coverage of $$part"; \
		$(BIN)/python -m coverage report --include="$$part" --fail-under=$(COVERAGE) | tail -n 1; \
	done

check: $(STAMP) ## Lint, formatting, types and the direction of imports
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/mypy launch_complete_cuda_training.py test_complete_system.py
	@$(BIN)/lint-imports

system-test: $(STAMP) ## Check every component for real: passed, failed, or not available here and why
	@$(BIN)/python test_complete_system.py

clean: ## Remove the virtual environment and caches (runs are kept)
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .coverage*
