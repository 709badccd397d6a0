# SPDX-License-Identifier: Apache-2.0
# The front door. `make help` lists what there is; the work itself is in CMakeLists.txt and tools/.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help run build test quick sim tsan clang lint check tidy format bench compare picture clean \
  install deb

JOBS ?= $(shell nproc)
SEEDS ?= 10000
ROUNDS ?= 3
PREFIX ?= /usr/local
# Same cache entries for every checkout: paths are hashed relative to this folder.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
# What the user has set for their own store must not reach the tests.
unexport HOLT_STORE HOLT_INSTANCE

install = @tools/install-packages.sh
say = @echo "==>"
sub = @$(MAKE) -s
# flock: two makes at once must not build in the same folder.
compile = flock $(1)/.lock cmake --build $(1) -j $(JOBS) $(if $(2),--target $(2))
# --no-tests=error: a test run that finds no tests is broken, not green.
run_tests = ctest --test-dir $(1) -j $(or $(2),$(JOBS)) --output-on-failure --progress \
  --no-label-summary --no-tests=error
# Tests of real servers and processes share a busy machine: one that fails gets a second chance, and
# the log shows both. What needed it is a test, or a promise, to look at.
second_chance := --repeat until-pass:2

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## build Holt and show it: build/holt demo
	$(say) running build/holt demo
	@build/holt demo

build: ## the release binary, build/holt
	$(install) build
	$(sub) build/release/build.ninja
	$(say) building the release binary
	@$(call compile,build/release,holt holt_redis_module holt_postgres_module)
	@ln -sfn release/holt build/holt
	$(say) done: build/holt

test: ## everything CI runs: tidy, both compilers, all tests under ASan and UBSan
	$(install) build test
	$(sub) check clang build/test/build.ninja
	$(say) building the tests with ASan and UBSan
	@$(call compile,build/test)
	$(say) running all tests
	@$(call run_tests,build/test) $(second_chance)

# Twice as many as there are cores: these wait for leases to end more than they compute.
quick: ## tidy, unit tests and the contract on one server of each engine: the inner loop
	$(install) build test
	$(sub) tidy build/test/build.ninja
	$(say) building the unit and contract tests with ASan and UBSan
	@$(call compile,build/test,quick)
	$(say) running the unit and contract tests
	@$(call run_tests,build/test,$(shell echo $$((2 * $(JOBS))))) -L '^(unit|contract)$$' \
	  -E '^contract\.(Redis|Postgres)'

sim: ## simulate SEEDS=N seeds (default 10000), or replay one with SEED=K, on the optimised build
	$(install) build test
	$(sub) build/clang/build.ninja
	@$(call compile,build/clang,holt_sim)
	$(say) simulating $(if $(SEED),seed $(SEED),$(SEEDS) seeds)
	@build/clang/holt_sim $(if $(SEED),--seed=$(SEED) -v,--seeds=$(SEEDS))

tsan: ## the tests with threads in them, under ThreadSanitizer
	$(install) build test
	$(sub) build/tsan/build.ninja
	$(say) building with ThreadSanitizer
	@$(call compile,build/tsan,tsan)
	$(say) running the tests labelled tsan
	@$(call run_tests,build/tsan) -L '^tsan$$'

clang: ## build all with clang 19 at -O2 and run what needs no sanitizer on that
	$(install) build test
	$(sub) build/clang/build.ninja
	$(say) building everything with clang 19
	@$(call compile,build/clang)
	$(say) running unit, contract, install and example tests, and those that no sanitizer bears
	@$(call run_tests,build/clang) -L '^(unit|contract|coroutines|examples|linkage|unsanitized|install)$$' \
	  $(second_chance)

lint: ## tidy.py, clang-format and clang-tidy (ALL=1: every file, not only changed ones)
	$(install) build test
	$(sub) check build/clang/build.ninja
	$(say) running clang-tidy
	@tools/clang-tidy.sh $(if $(ALL),--all)

check: tidy ## tidy.py and clang-format, nothing is changed
	$(say) checking the layout with clang-format
	@tools/format.sh --check

tidy: ## the house rules alone
	$(say) checking the house rules
	@tools/tidy.py

format: ## rewrite the sources with clang-format
	$(install) test
	$(say) formatting
	@tools/format.sh

bench: ## run the benchmarks, ROUNDS=N times (default 3), and write docs/benchmarks.md
	$(install) build bench
	$(sub) build/bench/build.ninja
	$(say) building the benchmarks
	@$(call compile,build/bench,holt benchmarks)
	@tools/bench.py build/bench --rounds $(ROUNDS)

compare: ## the peer that is no Debian package: SyncGuard, installed by npm in SYNCGUARD=FOLDER
	$(install) build test compare
	@for package in syncguard ioredis postgres; do \
	  test -d '$(SYNCGUARD)'/node_modules/$$package || { \
	    echo "compare: SYNCGUARD=FOLDER must have $$package in node_modules" >&2; exit 1; } done
	@mkdir -p build/compare && cp tests/compare/holder.mjs build/compare/holder.mjs
	@ln -sfn '$(abspath $(SYNCGUARD))/node_modules' build/compare/node_modules
	@node -p "require('./build/compare/node_modules/syncguard/package.json').version" \
	  >build/compare/version
	$(sub) build/test/build.ninja
	@$(call compile,build/test,holt holt_compare_holder holt_redis_module holt_postgres_module)
	$(say) comparing what SyncGuard does with what docs/comparison.md says
	@HOLT_BINARY=$(CURDIR)/build/test/holt \
	  HOLT_COMPARE_HOLDER=$(CURDIR)/build/test/holt_compare_holder \
	  SYNCGUARD_HOLDER=$(CURDIR)/build/compare/holder.mjs tests/compare/libraries_test.py
	$(say) taking the same locks with SyncGuard and with Holt
	@HOLT_BINARY=$(CURDIR)/build/test/holt \
	  SYNCGUARD_HOLDER=$(CURDIR)/build/compare/holder.mjs tests/compare/interop_test.py

picture: build ## run the demo and draw what it shows: docs/demo.svg
	$(say) drawing the demo
	@tools/picture.py docs/demo.svg build/holt demo

install: ## the binary, library, headers and man pages into PREFIX (/usr/local), under DESTDIR
	$(install) build
	$(sub) build/release/build.ninja
	$(say) building the release binary and library
	@$(call compile,build/release,installable)
	$(say) installing into $(DESTDIR)$(PREFIX)
	@DESTDIR='$(DESTDIR)' cmake --install build/release --prefix '$(PREFIX)' >build/release/install.log
	$(say) done: $(DESTDIR)$(PREFIX)/bin/holt "(list of files: build/release/install.log)"

deb: ## Debian packages of the program, the library and its headers, in build/
	$(install) build deb
	$(sub) build/deb/build.ninja
	$(say) building the release binary and library
	@$(call compile,build/deb,installable)
	@packaging/build_deb.py build/deb build

clean: ## remove build/ (the compiler cache stays)
	$(say) removing build/
	@rm -rf build

# One build folder per purpose. CMake configures again by itself when a CMakeLists.txt changes.
options/release := -DCMAKE_BUILD_TYPE=Release
options/test := -DCMAKE_BUILD_TYPE=Debug -DHOLT_TESTS=ON -DHOLT_WERROR=ON -DHOLT_SANITIZE=address
options/tsan := -DCMAKE_BUILD_TYPE=Debug -DHOLT_TESTS=ON -DHOLT_WERROR=ON -DHOLT_SANITIZE=thread
options/clang := -DCMAKE_BUILD_TYPE=Release -DHOLT_TESTS=ON -DHOLT_WERROR=ON \
                 -DCMAKE_CXX_COMPILER=clang++-19
options/deb = -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr \
              -DCMAKE_INSTALL_LIBDIR=lib/$(shell g++ -print-multiarch)
options/bench := -DCMAKE_BUILD_TYPE=Release -DHOLT_BENCH=ON

build/%/build.ninja:
	$(say) configuring $(@D)
	@cmake -S . -B $(@D) -G Ninja --log-level=NOTICE $(options/$*)
