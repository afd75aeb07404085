# make demo   set up everything, and bench a real network on an emulated Cortex-M4 (BOARD=... PORT=... for another board)
# make demo-camera  set up the needs of the camera loop, and run a face detector on photographs, with the dashboard
# make test   set up compilers, emulators and a browser, and run the fast tests: a few minutes
# make test-all  set up everything, and run all tests, including those of the frameworks: about 45 minutes
# make sbom   list the packages of each installation, with hashes, in CycloneDX files
# make docs-site  build the documentation as a site in site/index.html
# make test-vm  test the camera with a real kernel driver in a virtual PC
# make test-arm64  test the camera loop on aarch64
.PHONY: setup demo demo-camera test test-all test-vm test-arm64 lint bench fuzz sizes docs docs-site locks sbom clean

ARENITE = .venv/bin/arenite
# This is not called PYTHON, because make would pass that to setup.sh, where it is the Python that the user chose.
VENV_PYTHON = .venv/bin/python
C_FILES = $(shell git ls-files 'firmware/**/*.[ch]' 'firmware/meter/*.cpp' 'converters/**/*.[ch]' 'host/emulator/plugin/*.[ch]' 'host/emulator/rtl/testbench/*.cpp' 'benchmarks/**/*.c')
# The variable NO_MKDOCS_2_WARNING stops Material for MkDocs from advertising its successor.
DOCS_SITE = NO_MKDOCS_2_WARNING=1 $(VENV_PYTHON) -m mkdocs build --quiet --strict
PY_DIRS = arenite/*.py converters firmware host models profiles tests benchmarks examples docs/_site setup.py

# COVERAGE=1 measures which lines the tests run. The pages are in out/coverage.
COVERAGE_OPTIONS = $(if $(COVERAGE),--cov --cov-report=term --cov-report=html)

setup:
	@./setup.sh dev

demo:
	@./setup.sh demo
	@$(ARENITE) demo $(if $(BOARD),--board $(BOARD)) $(if $(PORT),--port $(PORT))

# Set SOURCE=/dev/video0 to use a camera. Press Ctrl-C to stop.
demo-camera:
	@./setup.sh camera
	@mkdir -p out
	@$(ARENITE) camera --source $(or $(SOURCE),auto) --model blazeface --dashboard --duration $(or $(SECONDS),20) \
	    --output out/camera.jsonl --timeline out/camera-trace.json
	@echo "out/camera.jsonl has every answer; out/camera-trace.json opens in https://ui.perfetto.dev"

# Each of the processes starts with its share of the tests. The faster ones take tests from the others at the end. There are
# three for two cores, because tests often wait for an emulator, a port or a timer.
# WRITE_PASSED=FILE writes which tests passed, and SKIP_PASSED=FILE leaves those out of a second run on the same files.
# The options are written with "=": pytest would take a file after a space for the tests to run.
PASSED_OPTIONS = $(if $(WRITE_PASSED),--write-passed=$(WRITE_PASSED)) $(if $(SKIP_PASSED),--skip-passed=$(SKIP_PASSED))
PYTEST = $(VENV_PYTHON) -m pytest -n 3 --dist worksteal --durations=15 $(COVERAGE_OPTIONS) $(PASSED_OPTIONS)

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

# Why some warnings of cppcheck are suppressed:
# Shifting a negative integer right is arithmetic on every compiler for these cores, and the kernels rely on it.
# A window of an average pool always overlaps the image by at least one row, so its divisor is never zero.
# A window has at least one tap, and the sum of a softmax at least one leading zero bit, which cppcheck does not know.
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
	    --suppress=uninitvar:firmware/engine/depthwise/simd128/depthwise_conv_2d_s8_simd128.c \
	    --suppress=ctuuninitvar:firmware/engine/depthwise/simd128/depthwise_conv_2d_s8_simd128.c \
	    --suppress=shiftTooManyBits:firmware/engine/reduce/softmax_body.h \
	    --suppress=signConversionCond:firmware/engine/reduce/softmax_body.h \
	    --inline-suppr $(addprefix -I ,$(sort $(dir $(shell git ls-files 'firmware/**/*.h')))) \
	    firmware/engine firmware/boards firmware/agent firmware/duty firmware/state_store firmware/update
	@cppcheck --quiet --std=c99 --enable=warning,portability --error-exitcode=1 --suppress=shiftTooManyBitsSigned \
	    --suppress=shiftNegativeLHS:converters/anomaly/c/low_rank.c \
	    $(addprefix -I ,$(sort $(dir $(shell git ls-files 'converters/**/*.h')))) converters/processing/c converters/decision/c \
	    converters/anomaly/c
	$(DOCS_SITE)

# Measure the figures in README.md and docs/performance.md, for all models and all emulated boards.
bench: setup
	$(VENV_PYTHON) -m benchmarks.table

# Run long differential tests and long tests with hostile input. `make test-all` runs short ones. FUZZ_SECONDS is the
# time of each coverage-guided target; FUZZ_OPTIONS="--runs 1000000" gives a number of inputs instead.
FUZZ_SECONDS = 1800
FUZZ_OPTIONS = --seconds $(FUZZ_SECONDS)
fuzz: setup
	$(VENV_PYTHON) -m tests.fuzz --cases 20000 --seed 0 --jobs 2
	$(VENV_PYTHON) -m tests.fuzz.emulated --board qemu_mps2_an386 --cases 1000
	$(VENV_PYTHON) -m tests.fuzz.emulated --board qemu_mps3_an547 --cases 1000
	$(VENV_PYTHON) -m tests.fuzz.hostile_files --cases 100000 --seed 0
	$(VENV_PYTHON) -m tests.fuzz.coverage $(FUZZ_OPTIONS)

# Update the stored code sizes that `arenite fit` adds up. Run this after any change to C sources or compiler flags.
sizes: setup
	$(VENV_PYTHON) -m arenite.firmware.sizes.measure
	$(VENV_PYTHON) -m benchmarks.app_sizes

# Update the pages and tables that are generated from code and profiles. A test fails if one is out of date.
docs: setup
	$(VENV_PYTHON) -m arenite.host.report.boards_doc
	$(VENV_PYTHON) -m arenite.host.report.zoo_doc
	$(VENV_PYTHON) -m arenite.host.report.training_doc
	$(VENV_PYTHON) -m arenite.firmware.generator.operators_doc
	$(VENV_PYTHON) -m arenite.host.bench.tflm.document

# Build the documentation site. The build fails if a page is not in the navigation, or a link or an anchor is broken.
docs-site:
	@./setup.sh docs
	@$(DOCS_SITE)
	@echo "Open site/index.html; with search: $(VENV_PYTHON) -m http.server --directory site"

# Update versions and hashes of the packages that setup.sh installs, and of those in the environments of frameworks. Run
# this after a change to the requirements in pyproject.toml or to environments.toml. It needs uv (pip install uv).
locks: setup
	$(VENV_PYTHON) -m tests.supply_chain.project_locks
	$(VENV_PYTHON) -m arenite.converters.importers.make_locks

# Write the bills of materials of a release (CycloneDX) into out/sbom.
sbom: setup
	$(VENV_PYTHON) -m tests.supply_chain.bill_of_materials

clean:
	rm -rf .venv .cache out site .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
