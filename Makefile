# make setup | build | test | accept | run | bench. Each does all the set-up it needs; on a fresh Debian 12 as root nothing else is needed.
BUILD ?= build
MODEL ?=
SHAPE ?=
JOBS ?= $(shell nproc)

.PHONY: help setup build test accept run bench sanitize clean
help:
	@sed -n 's/^##//p' Makefile

## setup    install packages (Debian) and the Python environment that tests and tools use
setup: .venv/ready
.venv/ready: tools/setup.sh tools/requirements.txt tools/myl7.txt
	tools/setup.sh

CONFIGURE = cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=Release > $(BUILD).log 2>&1 || (cat $(BUILD).log; exit 1)
CTEST = ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -j 2 --timeout 900

## build    build/suf, all tests and benches
build: setup
	$(CONFIGURE)
	ninja -C $(BUILD) -j $(JOBS)

# the program alone, which is what `make run` needs
.PHONY: program
program: setup
	$(CONFIGURE)
	ninja -C $(BUILD) -j $(JOBS) suf

## test     the tier fast of the tests (ctest); fetches the real model first if it is not in the cache
test: setup model
	$(CONFIGURE)
	ninja -C $(BUILD) -j $(JOBS) fast_tests
	$(CTEST) -L '^fast$$'

## test-all the tiers fast and full, and the tests of gpu-host-test (nvcc, fetched if the machine has none)
.PHONY: test-all
test-all: setup model
	$(CONFIGURE)
	ninja -C $(BUILD) -j $(JOBS) full_tests
	@rm -f $(BUILD)/matrix.txt
	$(CTEST) -L '^(fast|full)$$'; status=$$?; cat $(BUILD)/matrix.txt; exit $$status

## nightly  every test, sweeps whole, fuzzers, sanitizers, a second compiler; appends to bench/results/nightly.jsonl, continues if called again
.PHONY: nightly
nightly: build model
	ninja -C $(BUILD) -j $(JOBS) full_tests
	.venv/bin/python tools/nightly.py $(BUILD)

## gpu-host-test  what the host does for a device, tested without one: for changes in suf/*/cuda, backends/lower, ring, fss
.PHONY: gpu-host-test
gpu-host-test: setup
	tools/gpu_host_test.sh $(BUILD)-gpu-host

## gpu-test the tests that need a device: builds them here (nvcc) and runs them here
.PHONY: gpu-test
gpu-test: setup
	tools/cuda.sh
	cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=Release -DSUF_CUDA=ON > $(BUILD).log 2>&1 || (cat $(BUILD).log; exit 1)
	ninja -C $(BUILD) -j $(JOBS) cuda_tests backends_test gates_test nn_test model_test simulatable_test suf
	tools/gpu_test.sh $(BUILD)

## accept   200 sentences through three processes, every output word against the simulator
accept: build model
	.venv/bin/python tools/accept.py $(if $(MODEL),--model "$(MODEL)")

## run      three processes on this machine embed a handful of sentences; MODEL=DIR takes a local model and no network
run: program model
	tools/run.sh "$(MODEL)"

## bench    the tables of docs/measurements.md, as JSON lines and for reading; SHAPE=bert-base: a random model of that preset at 128 tokens
bench: build $(if $(SHAPE),,model)
	.venv/bin/python tools/bench.py $(if $(SHAPE),--shape "$(SHAPE)") $(if $(MODEL),--model "$(MODEL)")

## install  program, libsuf, headers, suf.pc and man page under PREFIX (/usr/local); cmake --install
PREFIX ?= /usr/local
.PHONY: install
install: build
	cmake --install $(BUILD) --prefix "$(PREFIX)"

## sanitize unit tests and a session under the sanitizers of clang++-19 (build-asan, build-tsan); not part of `test`
sanitize: setup
	JOBS=$(JOBS) tools/sanitize.sh

## fuzz     every libFuzzer target (clang++-19) for FUZZ_SECONDS over its committed corpus
FUZZ_SECONDS ?= 60
.PHONY: fuzz
fuzz: setup
	fuzz/run.sh $(BUILD)-fuzz $(FUZZ_SECONDS)

.PHONY: model
model: setup
	@$(if $(MODEL),true,.venv/bin/python tools/fetch_model.py)

clean:
	rm -rf $(BUILD) $(BUILD).log build-asan build-asan.log build-tsan build-tsan.log
