# One command each, from a clean clone, with nothing but python3, make and a C++ compiler.
#   make demo      check examples/, as a new user would     make test      everything that must hold
#   make lint      ruff, mypy, clang-format                 make bench     speed, as ratios of one run
#   make fuzz      N=20000 damaged inputs, the battery, random tests for SECONDS=60      make sanitize  the tests under ASan and UBSan
#   make corpus    our litmus corpus (corpus-promote to accept new results)      make dist      sdist and wheel
#   make mutants   planted faults that the tests must notice              make docs      the site of the documentation
PYTHON  ?= python3
VENV    ?= .venv
BUILD   ?= build/dev
DEFINES ?= --config-settings=cmake.define.TEETOTAL_WERROR=ON
SECONDS ?= 60
N       ?= 20000
BIN     := $(VENV)/bin
PIP     := $(BIN)/pip install --quiet --disable-pip-version-check
CORE    := $(shell find core runtime CMakeLists.txt -name '*.cpp' -o -name '*.hpp' -o -name imports.txt -o -name CMakeLists.txt)
SOURCES := src tests benchmarks examples

.PHONY: demo test build lint format bench fuzz mutants sanitize sanitized sanitize-runtime corpus corpus-promote dist docs clean

# The environment: made once, and again when what it needs changes.
$(VENV)/installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) "scikit-build-core>=0.10" "nanobind>=2.4" cmake ninja
	$(PIP) --no-build-isolation --config-settings=build-dir=$(BUILD) $(DEFINES) --editable ".[test,dev]"
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
	$(BIN)/python -m pytest -n 2

corpus: build
	$(BIN)/python tests/promote.py

corpus-promote: build
	$(BIN)/python tests/promote.py --promote

lint: build
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $$(find core runtime -name '*.cpp' -o -name '*.hpp')

format: build
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/clang-format -i $$(find core runtime -name '*.cpp' -o -name '*.hpp')

bench: build
	@for script in benchmarks/bench_*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

fuzz: build
	$(BIN)/python tests/fuzz_inputs.py $(N) --seed $$(date +%s)
	PYTHONPATH=tests $(BIN)/python -m battery
	$(BIN)/python tests/fuzz.py $(SECONDS) -n 2

# Faults planted in a copy of the tree, each with the test that must notice it; AREAS="models search" for some of them.
mutants: build
	PYTHONPATH=tests $(BIN)/python -m mutants $(AREAS)

# Without what runs C programs, since the disassembler is loaded in a way that the address sanitizer refuses, and without
# what measures memory, since the sanitizer keeps what is freed: docs/explanation/c-runtime.md says what that leaves out.
COMPILE_C := unit/test_facade.py::test_check_takes_paths_and_programs_and_options_as_keywords \
             unit/test_facade.py::test_fence_and_verify_and_replay unit/test_facade.py::test_every_answer_shows_itself_with_the_verdict_first \
             system/test_goals.py::test_json_is_the_same_for_any_number_of_workers \
             system/test_replay_commands.py::test_a_c_program_with_awkward_names_and_arguments \
             system/test_check.py::test_c_that_is_not_even_text_is_a_compile_error \
             property/test_explore_crowds.py::test_an_assertion_of_a_c_program_fails_in_whatever_order_its_threads_are_created
sanitize: sanitized
	LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)" ASAN_OPTIONS=detect_leaks=0 \
	  TEETOTAL_PERCENT=5 .venv-sanitize/bin/python -m pytest -n 2 --ignore-glob='*/test_c_*' --ignore-glob='*/test_fence_*' \
	  --ignore=tests/golden/test_docs.py --ignore-glob='*/test_promela_spin*' --ignore=tests/system/test_inputs.py \
	  $(addprefix --deselect tests/,$(COMPILE_C) system/test_monitor_verb.py::test_memory_does_not_grow_with_the_trace)
	$(MAKE) sanitize-runtime

sanitized:
	$(MAKE) VENV=.venv-sanitize BUILD=build/sanitize build \
	  DEFINES="$(DEFINES) --config-settings=cmake.define.TEETOTAL_SANITIZE=ON"

# The explorer of C programs alone, under an ordinary Python: its sanitizers tell in files, since it has no output. A word
# from them is a failure, whatever the tests say: to the explorer it is the program that died.
RUNTIME := .venv-sanitize/lib/python3*/site-packages/teetotal/teetotal-runtime
TOLD    := $(CURDIR)/build/sanitize/told
HANDLED := use_sigaltstack=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0
SAMPLE  := golden/test_c_words.py property/test_c_semantics.py property/test_c_snapshots.py property/test_c_synchronisation.py \
           system/test_c_copies.py system/test_c_ends.py system/test_c_front.py
SLOW    := every_class_of_interleavings or whatever_order or random_programs or both_exact_monitors
sanitize-runtime: build sanitized
	rm -f $(TOLD).*
	TEETOTAL_RUNTIME="$$(echo $(CURDIR)/$(RUNTIME))" UBSAN_OPTIONS=print_stacktrace=1:log_path=$(TOLD) \
	  ASAN_OPTIONS=detect_leaks=0:$(HANDLED):log_path=$(TOLD) \
	  $(BIN)/python -m pytest -n 2 $(addprefix tests/,$(SAMPLE)) -k "not ($(SLOW))"; \
	  status=$$?; cat $(TOLD).* 2>/dev/null && status=1; exit $$status

# A wheel built from the sdist alone must work in an environment of its own, and nothing stray may be in either.
dist: build
	$(PIP) build
	rm -rf dist build/try
	$(BIN)/python -m build
	! tar tzf dist/*.tar.gz | grep -E '__pycache__|\.(so|pyc|o)$$|/(build|dist|\.venv[^/]*|\.hypothesis|\.[a-z]+_cache)/'
	$(PYTHON) -m venv build/try
	build/try/bin/pip install --quiet --disable-pip-version-check dist/*.whl
	PATH="$(CURDIR)/build/try/bin:$$PATH" sh examples/demo.sh >/dev/null
	@echo "dist: the wheel works"

docs: build
	$(PIP) "mkdocs-material>=9"
	$(BIN)/mkdocs build --quiet
	@echo "docs: build/site/index.html"

clean:
	rm -rf build dist .venv .venv-sanitize
