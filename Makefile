# make demo   set up everything and bench a real network on an emulated Cortex-M4 (BOARD=... PORT=... for another board)
# make demo-camera  set up what the camera loop needs, and serve photographs to a face detector, with its dashboard
# make test   set up compilers, emulators and a browser, and run the fast tests: a few minutes
# make test-all  set up everything and run all tests, those of the frameworks too: up to half an hour
# make docs-site  build the documentation as a site, into site/index.html
# make test-vm, make test-arm64  the camera against a real kernel driver in a virtual PC; the loop on aarch64
.PHONY: setup demo demo-camera test test-all test-vm test-arm64 lint bench fuzz sizes docs docs-site locks clean

ARENITE = .venv/bin/arenite
# Not called PYTHON: make would hand that to setup.sh, which takes from it the Python that a user asked for.
VENV_PYTHON = .venv/bin/python
C_FILES = $(shell git ls-files 'firmware/**/*.[ch]' 'firmware/meter/*.cpp' 'converters/**/*.[ch]' 'host/emulator/plugin/*.[ch]' 'benchmarks/**/*.c')
# Material for MkDocs advertises its successor unless it is told not to.
DOCS_SITE = NO_MKDOCS_2_WARNING=1 $(VENV_PYTHON) -m mkdocs build --quiet --strict
PY_DIRS = arenite/*.py converters firmware host models profiles tests benchmarks examples docs/_site setup.py

# COVERAGE=1: measure which lines the tests run; the pages are in out/coverage.
COVERAGE_OPTIONS = $(if $(COVERAGE),--cov --cov-report=term --cov-report=html)

setup:
	@./setup.sh dev

demo:
	@./setup.sh demo
	@$(ARENITE) demo $(if $(BOARD),--board $(BOARD)) $(if $(PORT),--port $(PORT))

# SOURCE=/dev/video0 for a camera; Ctrl-C ends it.
demo-camera:
	@./setup.sh camera
	@mkdir -p out
	@$(ARENITE) camera --source $(or $(SOURCE),auto) --model blazeface --dashboard --duration $(or $(SECONDS),20) \
	    --output out/camera.jsonl --timeline out/camera-trace.json
	@echo "out/camera.jsonl has every answer; out/camera-trace.json opens in https://ui.perfetto.dev"

# Each process begins with one half of the tests, and helps the other one at the end.
PYTEST = $(VENV_PYTHON) -m pytest -n 2 --dist worksteal --durations=15 $(COVERAGE_OPTIONS)

test:
	@./setup.sh test
	@$(PYTEST) -m "not slow and not frameworks and not vm"

test-all: setup
	@$(PYTEST) -m "not vm"

test-vm:
	@./setup.sh dev vm
	$(VENV_PYTHON) -m tests.vm

test-arm64:
	@./setup.sh dev arm64
	$(VENV_PYTHON) -m tests.arm64

# Shifting a negative integer right is arithmetic on every compiler for these cores, and the kernels rely on it.
# A window of an average pool always meets the image: at least one of its rows is there.
lint: setup
	$(VENV_PYTHON) -m ruff check $(PY_DIRS)
	$(VENV_PYTHON) -m ruff format --check $(PY_DIRS)
	$(VENV_PYTHON) -m mypy
	$(VENV_PYTHON) -m pyright --pythonpath $(VENV_PYTHON)
	.venv/bin/lint-imports
	$(VENV_PYTHON) -m tests.structure.import_cycles
	@echo "clang-format, cppcheck"
	@.venv/bin/clang-format --dry-run --Werror $(C_FILES)
	@cppcheck --quiet --std=c99 --enable=warning,portability --error-exitcode=1 \
	    --suppress=shiftTooManyBitsSigned --suppress=zerodiv:firmware/engine/pool/average_pool_2d_s8.c \
	    --inline-suppr $(addprefix -I ,$(sort $(dir $(shell git ls-files 'firmware/**/*.h')))) \
	    firmware/engine firmware/boards firmware/duty
	@cppcheck --quiet --std=c99 --enable=warning,portability --error-exitcode=1 --suppress=shiftTooManyBitsSigned \
	    $(addprefix -I ,$(sort $(dir $(shell git ls-files 'converters/**/*.h')))) converters/processing/c
	$(DOCS_SITE)

# Figures of the README and of docs/performance.md: all models, all emulated boards.
bench: setup
	$(VENV_PYTHON) -m benchmarks.table

# The long differential and hostile-input runs; `make test-all` runs short ones.
fuzz: setup
	$(VENV_PYTHON) -m tests.fuzz --cases 20000 --seed 0 --jobs 2
	$(VENV_PYTHON) -m tests.fuzz.emulated --board qemu_mps2_an386 --cases 1000
	$(VENV_PYTHON) -m tests.fuzz.emulated --board qemu_mps3_an547 --cases 1000
	$(VENV_PYTHON) -m tests.fuzz.hostile_files --cases 100000 --seed 0

# Stored code sizes that `arenite fit` adds up; run after any change to C sources or compiler flags.
sizes: setup
	$(VENV_PYTHON) -m arenite.firmware.sizes.measure

# Pages and tables that are generated from code and profiles; tests fail when one is out of date.
docs: setup
	$(VENV_PYTHON) -m arenite.host.report.boards_doc
	$(VENV_PYTHON) -m arenite.host.report.zoo_doc
	$(VENV_PYTHON) -m arenite.host.report.training_doc
	$(VENV_PYTHON) -m arenite.firmware.generator.operators_doc
	$(VENV_PYTHON) -m arenite.host.bench.tflm.document

# The site, strict: a page outside the navigation, a link or an anchor that leads nowhere fails it.
docs-site:
	@./setup.sh docs
	@$(DOCS_SITE)
	@echo "Open site/index.html; with search: $(VENV_PYTHON) -m http.server --directory site"

# Versions and hashes of what pip installs into the environments of frameworks; run after a change to environments.toml.
locks: setup
	$(VENV_PYTHON) -m arenite.converters.importers.make_locks

clean:
	rm -rf .venv .cache out site .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
