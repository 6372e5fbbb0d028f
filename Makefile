# One command each, from a clean clone, with nothing but python3, make and a C++ compiler.
#   make demo    check examples/, as a new user would        make test    everything that must hold
#   make lint    ruff, mypy, clang-format                    make bench   speed, as ratios of one run
#   make fuzz    long random runs (SECONDS=60)               make sanitize  the tests under ASan and UBSan
PYTHON  ?= python3
VENV    ?= .venv
BIN     := $(VENV)/bin
SECONDS ?= 60
CORE    := $(shell find core CMakeLists.txt -name '*.cpp' -o -name '*.hpp' -o -name CMakeLists.txt)
BUILD   := build/dev

.PHONY: demo test build lint format bench fuzz sanitize corpus dist clean

# The environment: made once, and again when what it needs changes.
$(VENV)/installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check "scikit-build-core>=0.10" "nanobind>=2.4" cmake ninja
	$(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation \
	  --config-settings=build-dir=$(BUILD) --config-settings=cmake.define.TEETOTAL_WERROR=ON --editable ".[test,dev]"
	touch $@ $(VENV)/built

# The core: after a change only what changed is compiled again.
$(VENV)/built: $(VENV)/installed $(CORE)
	$(BIN)/cmake --build $(BUILD)
	$(BIN)/cmake --install $(BUILD) --prefix "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))')" >/dev/null
	touch $@

build: $(VENV)/built

demo: build
	@PATH="$(BIN):$$PATH" sh examples/demo.sh

test: build
	$(BIN)/python -m pytest

lint: build
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $$(find core -name '*.cpp' -o -name '*.hpp')

format: build
	$(BIN)/ruff check --fix src tests benchmarks examples
	$(BIN)/ruff format src tests benchmarks examples
	$(BIN)/clang-format -i $$(find core -name '*.cpp' -o -name '*.hpp')

clean:
	rm -rf build dist .venv
