# make setup | build | test | accept | run | bench. Each does all the set-up it needs. On a fresh Debian 12, as root,
# nothing else is needed.
BUILD ?= build
MODEL ?=
SHAPE ?=
JOBS ?= $(shell nproc)

.PHONY: help setup build test accept run bench sanitize clean
help:
	@sed -n 's/^##//p' Makefile

## setup          packages (Debian) and the Python environment of tests and tools
setup: .venv/ready
.venv/ready: tools/setup.sh tools/requirements.txt tools/myl7.txt
	tools/setup.sh

CONFIGURE = cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=Release $(OPTIONS) > $(BUILD).log 2>&1 || (cat $(BUILD).log; exit 1)
CTEST = ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -j 2 --timeout 900

## build          build/suf, all tests and benches
build: setup
	$(CONFIGURE)
	ninja -C $(BUILD) -j $(JOBS)

# Builds only the program, for `make run`.
.PHONY: program
program: setup
	$(CONFIGURE)
	ninja -C $(BUILD) -j $(JOBS) suf

## test           the tier fast of the tests: 11 minutes on 2 cores
test: setup model
	$(CONFIGURE)
	ninja -C $(BUILD) -j $(JOBS) fast_tests
	$(CTEST) -L '^fast$$'

## test-all       the tiers fast and full (CONTRIBUTING.md says what each covers)
.PHONY: test-all
test-all: setup model
	tools/postgres.sh
	tools/clients.sh clients
	$(CONFIGURE)
	ninja -C $(BUILD) -j $(JOBS) full_tests
	@rm -f $(BUILD)/matrix.txt
	$(CTEST) -L '^(fast|full)$$'; status=$$?; cat $(BUILD)/matrix.txt; exit $$status

## nightly        all tiers, sweeps whole; adds to bench/results/nightly.jsonl; TESTS=PATTERN: some
.PHONY: nightly
nightly: build model
	tools/postgres.sh
	tools/clients.sh clients
	.venv/bin/python tools/nightly.py $(BUILD) $(if $(TESTS),"$(TESTS)")

## gpu-host-test  what the host does for a device, tested without a device
.PHONY: gpu-host-test
gpu-host-test: setup
	tools/gpu/host_test.sh $(BUILD)-gpu-host

## gpu-test       the tests that need a device, built and run here
.PHONY: gpu-test
gpu-test: OPTIONS = -DSUF_CUDA=ON
gpu-test: setup
	tools/cuda.sh
	$(CONFIGURE)
	ninja -C $(BUILD) -j $(JOBS) cuda_tests backends_test gates_test nn_test model_test simulatable_test suf
	tools/gpu/test.sh $(BUILD)
	tools/gpu/search.sh $(BUILD)

## accept         200 sentences by three processes and 40 by each of two other models, word for word; 200 searches
accept: build model
	.venv/bin/python tools/accept.py $(if $(MODEL),--model "$(MODEL)")

## run            three processes embed six sentences; MODEL=DIR: your model
run: program model
	tools/run.sh "$(MODEL)"

## bench          the tables of docs/measurements.md; SHAPE=PRESET: one shape
bench: build $(if $(SHAPE),,model)
	.venv/bin/python tools/bench.py $(if $(SHAPE),--shape "$(SHAPE)") $(if $(MODEL),--model "$(MODEL)")

## compat         the Python package under sentence-transformers (torch) and Ray, which take 6 GB
.PHONY: compat
compat: setup
	$(CONFIGURE)
	ninja -C $(BUILD) -j $(JOBS) suf suf_package
	tools/clients.sh compat
	.compat/bin/python tests/python/compat_test.py $(BUILD)/suf $(BUILD)/python

## wheel          the Python package in dist/, with the libraries that it needs
.PHONY: wheel
wheel: setup
	$(CONFIGURE)
	ninja -C $(BUILD) -j $(JOBS) suf_package
	tools/wheel.sh

## install        program, libsuf, headers and man page under PREFIX
PREFIX ?= /usr/local
.PHONY: install
install: build
	cmake --install $(BUILD) --prefix "$(PREFIX)"

## sanitize       unit tests and sessions under the sanitizers of clang++-19
sanitize: setup
	JOBS=$(JOBS) tools/sanitize.sh

## fuzz           every libFuzzer target for FUZZ_SECONDS
FUZZ_SECONDS ?= 60
.PHONY: fuzz
fuzz: setup
	fuzz/run.sh $(BUILD)-fuzz $(FUZZ_SECONDS)

.PHONY: model
model: setup
	@$(if $(MODEL),true,.venv/bin/python tools/fetch_model.py)

clean:
	rm -rf $(BUILD) $(BUILD).log build-asan build-asan.log build-tsan build-tsan.log
