# `make run` and `make test` need nothing but make, Python 3.11 and a C++ compiler. `make help` lists the rest.

PYTHON ?= python3
PORT ?= 8000
# Where ad servers ask; 0 is the port after that of the pages.
SERVING_PORT ?= 0
VENV := .venv/bin
LAUNCHER := $(VENV)/python -m exchange.launcher
# Each process has its own Postgres, Redis and Spark; JOBS=0 runs in one, which a debugger needs.
JOBS ?= 2
PYTEST := $(VENV)/python -m pytest -n $(JOBS) --dist loadfile

.DEFAULT_GOAL := help
.PHONY: help setup run stop check test unit lint bench soak look clean distclean

help:  ## list the commands
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /make \1|/' | column -t -s '|'

setup:  ## make .venv, install the locked dependencies, build the engine
	@for python in $(PYTHON) python3.13 python3.12 python3.11 python3.14; do \
		$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && \
			exec $$python exchange/launcher/bootstrap.py; \
	done; echo "setup: Python 3.11 or newer not found; on Debian 12 or newer: apt-get install python3" >&2; exit 1

run: setup  ## start everything on http://127.0.0.1:8000 (PORT=.. for another port); Ctrl-C ends it
	@$(LAUNCHER) run --port $(PORT) --serving-port $(SERVING_PORT)

stop:  ## end what `make run` started from another terminal
	@$(LAUNCHER) stop

check: setup  ## start everything, ask for one visit's eligible campaigns, print the answer
	@$(LAUNCHER) check

test: setup  ## the whole suite: unit, database, Celery, Spark, browser
	@$(PYTEST) $(ARGS)

unit: setup  ## the quick suite: what needs no server, no Spark and no browser
	@$(PYTEST) tests/targeting tests/matcher_ext tests/routing $(ARGS)

lint: setup  ## ruff, ruff format, cython-lint, mypy, import-linter, missing migrations
	@$(VENV)/ruff check .
	@$(VENV)/ruff format --check .
	@PATH="$(CURDIR)/$(VENV):$$PATH" $(VENV)/cython-lint matcher_ext  # calls pycodestyle
	@$(VENV)/mypy
	@$(VENV)/lint-imports
	@$(VENV)/python -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run  # needs no database

bench: setup  ## the benchmark programs; writes a table into bench/results
	@$(VENV)/python -m bench $(ARGS)

soak: setup  ## the long tests; PART=faults, fuzzing, large or containers for one part
	@$(VENV)/python -m pytest -m "soak$(if $(PART), and $(PART))" --timeout 3600 $(ARGS)

look: setup  ## pictures of every page and state, light and dark, narrow and wide, into var/look; axe over all
	@$(VENV)/python -m pytest -n 0 -m look tests/look $(ARGS)

clean:  ## end what runs; remove .venv and everything built; keep the data in var
	@test ! -x $(VENV)/python || $(LAUNCHER) stop
	rm -rf .venv build dist *.egg-info static_collected .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find matcher_ext -name '*.so' -delete
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean  ## clean, and remove the data as well
	rm -rf var
