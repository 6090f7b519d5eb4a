# The commands of this checkout. `make` prints the list.
#
# Everything longer than a line is in scripts/ (shell) or xtask/ (Rust), so this file stays an index.
# The checkout's owner builds, even under sudo, so that target/ has no file of root's; see scripts/as-owner.

.DEFAULT_GOAL := help

# What `make test` puts before the commands of all its jobs but one.
IN_BACKGROUND :=
AS_OWNER = $(IN_BACKGROUND) scripts/as-owner
CARGO = $(AS_OWNER) scripts/with-rust cargo
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
# The Python module is built and tested by make python-test.
WORKSPACE := --workspace --exclude tardy-python
# No documentation has code that would be run as a test: `cargo test -p xtask` refuses it.
TESTS := --lib --bins --tests
# What `make test` sets so that clippy and rustdoc check a crate while it is compiled for its tests. Each of them alone would read
# every crate and all that it depends on once more.
CHECKED :=
# What must be there before tests are compiled, if `make test` has put it into CHECKED.
BEFORE_TESTS :=
CARGO_TEST = env $(CHECKED) scripts/with-rust cargo test $(WORKSPACE)
# How long `make run` measures.
DURATION ?= 1m
# How many jobs of `make test` run at a time.
JOBS ?= $(shell expr $$(nproc) + 1)
# Which system `make fresh-machine-test` sets up, which user runs make there, and its goal.
RELEASE ?= bookworm
WHO ?= root
GOAL ?= run
# In which releases of Debian `make packages-test` installs the packages.
RELEASES ?= bookworm trixie sid

.PHONY: help
help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' Makefile

## For people who measure

.PHONY: run
run: build ## install what is missing, build, measure for a minute under load, write a report
	@scripts/first-run $(TARGET_DIR)/release/tardy $(DURATION)

.PHONY: build
build: rust ## build target/release/tardy, and install a compiler and Rust if they are missing
	@$(CARGO) build --release --package tardy

# What most users do not need is a program of its own.
.PHONY: all
all: rust ## build tardy and the programs that it starts: tardy-archive, tardy-lab, and tardy-picture for plots as PNG and PDF
	@$(CARGO) build --release --package tardy --package tardy-archive-command --package tardy-lab-command --package tardy-picture

.PHONY: guests
guests: rust ## build the lab: the program tardy-lab, and the programs of its guests
	@$(CARGO) build --release --package tardy-lab-command
	@scripts/as-owner scripts/with-rust scripts/make-guests $(TARGET_DIR)/release x86_64 aarch64
	@scripts/as-owner scripts/make-observer $(TARGET_DIR)/release

.PHONY: dist
dist: rust ## build static binaries for x86_64, aarch64, armv7 and armv5te, and their packages, in dist/
	@scripts/install-packages boards
	@scripts/install-packages dist
	@scripts/as-owner scripts/with-rust scripts/make-dist

.PHONY: web
web: page build ## build the static site: documents, page and reports, in dist/site/
	@scripts/as-owner scripts/with-rust scripts/make-site $(abspath $(TARGET_DIR)) dist/site

.PHONY: page
page: rust ## build the page that reads latency files in a browser, as one file: dist/site/tardy.html
	@scripts/install-packages page || echo "Without them the page is larger." >&2
	@scripts/as-owner scripts/with-rust scripts/make-page $(abspath $(TARGET_DIR)) dist/site/tardy.html

## For people who change tardy

.PHONY: check
check: fmt clippy tidy ## the quick part of `make test`, for use while editing

# The tests of loads and rates need the machine for themselves, but wait most of the time. The other jobs count instructions
# or only build, and get the CPU time that is left. Their policy is not SCHED_IDLE: without CAP_SYS_NICE no process
# leaves that, so a board's probe could not start.
.PHONY: test
test: rust test-packages ## everything that CI runs: what the four jobs below do, in parallel
	@$(MAKE) --no-print-directory --output-sync=target $(if $(filter -j%,$(MAKEFLAGS)),,-j$(JOBS)) \
		IN_BACKGROUND="nice -n 19" BOARDS=armv5te-parts CHECKED="RUSTC_WORKSPACE_WRAPPER=$(abspath scripts/check-and-compile) \
		CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__ TARDY_PROBE=$(TEST_PROBE)" BEFORE_TESTS=test-probe \
		fmt shellcheck checked-tests test-unit test-boards test-lab deny
	@echo "== all passed"

# The tests and whatever else clippy checks, compiled with the checks.
.PHONY: checked-tests
checked-tests: override IN_BACKGROUND :=
checked-tests: rust $(BEFORE_TESTS)
	@echo "== clippy and rustdoc, while the tests are compiled"
	@$(AS_OWNER) $(CARGO_TEST) --all-targets --no-run --quiet

.PHONY: test-unit
test-unit: override IN_BACKGROUND :=
test-unit: rust test-packages $(BEFORE_TESTS) ## cargo test: the crates' tests and those of the command line
	@echo "== cargo test"
	@$(AS_OWNER) $(CARGO_TEST) $(TESTS) --no-fail-fast

.PHONY: test-lint
test-lint: fmt shellcheck clippy rustdoc deny ## rustfmt, shellcheck, clippy, rustdoc and cargo-deny

.PHONY: test-lab
test-lab: rust test-packages $(BEFORE_TESTS) ## the lab: real kernels in an emulator, two dozen boots
	@echo "== the lab: real kernels in an emulator"
	@$(MAKE_TEST_GUESTS)
	@$(AS_OWNER) scripts/fetch-newer-qemu $(TARGET_DIR)/newer-qemu
	@$(LAB_TESTS)

.PHONY: test-boards
test-boards: BOARDS ?= armv5te armv7
test-boards: rust test-packages $(BEFORE_TESTS) ## binaries for 32-bit boards, on emulated processors; `make test` does parts of ARMv5TE only
	@echo "== binaries for 32-bit boards, on emulated processors"
	@scripts/install-packages boards
	@$(AS_OWNER) scripts/with-rust scripts/make-boards $(TARGET_DIR) $(BOARDS)
	@$(AS_OWNER) env TARDY_BOARDS=$(abspath $(TARGET_DIR)) \
		$(CARGO_TEST) --test boards -- --nocapture

# The probe's program of the lab's guests, which tardy's build script would otherwise build for the host, with the crates it needs.
TEST_PROBE = $(abspath $(TARGET_DIR))/guest-of-tests/tardy-probe
.PHONY: test-probe
test-probe: override IN_BACKGROUND :=
test-probe: rust
	@$(MAKE_TEST_GUESTS) probe

# Scenes run commands that the program for guests does not have, so they need all of tardy.
MAKE_TEST_GUESTS = $(AS_OWNER) env TARDY_PROFILE=guest-of-tests \
	scripts/with-rust scripts/make-test-guests $(TARGET_DIR)/guest-of-tests
# More threads than CPUs: a test waits for CPUs itself, and several wait for the boot that they share.
LAB_TESTS = $(AS_OWNER) env TARDY_LAB_GUESTS=$(abspath $(TARGET_DIR))/guest-of-tests \
	TARDY_NEWER_QEMU=$(abspath $(TARGET_DIR))/newer-qemu \
	$(CARGO_TEST) --test lab -- --nocapture --test-threads=64

.PHONY: fmt
fmt: rust
	@echo "== rustfmt"
	@$(CARGO) fmt --all --check

.PHONY: shellcheck
shellcheck: test-packages
	@echo "== shellcheck"
	@shellcheck $$(grep -lE "^#!/bin/(sh|bash)" .ci/run scripts/*)

.PHONY: clippy
clippy: rust
	@echo "== clippy"
	@$(CARGO) clippy $(WORKSPACE) --all-targets --quiet -- -D warnings

.PHONY: tidy
tidy: rust
	@echo "== rules of this repository (cargo test -p xtask)"
	@$(CARGO) test --package xtask --quiet

.PHONY: rustdoc
rustdoc: rust
	@echo "== rustdoc"
	@$(AS_OWNER) env RUSTDOCFLAGS="-D warnings" scripts/with-rust cargo doc $(WORKSPACE) --no-deps --document-private-items --quiet

.PHONY: deny
deny: rust
	@echo "== cargo-deny: licences, bans, sources, advisories"
	@$(AS_OWNER) scripts/with-rust scripts/check-dependencies

## Long jobs, by hand

.PHONY: report-test
report-test: rust test-packages ## ask a report in a browser, and print it; with TARDY_AXE=axe.min.js also check its accessibility
	@$(CARGO) test --package tardy-present --test all answers:: -- --ignored --nocapture

.PHONY: web-test
web-test: page ## drive the page in Node and Chromium, and compare its reports with those of the command line
	@$(CARGO) build --package tardy
	@scripts/as-owner scripts/with-rust scripts/web-test $(abspath $(TARGET_DIR)) dist/site/tardy.html $(TARGET_DIR)/debug/tardy

.PHONY: server-test
server-test: rust ## drive the server's pages in Chromium, its interface with schemathesis, its dashboard with Prometheus
	@$(CARGO) build --package tardy --package tardy-archive-command
	@scripts/as-owner scripts/with-rust scripts/server-test $(abspath $(TARGET_DIR)) $(abspath $(TARGET_DIR))/debug/tardy

.PHONY: long-tests
long-tests: rust test-packages ## repeated tests, of which `make test` runs a twentieth to a tenth: an hour, into target/long-tests/
	@$(MAKE_TEST_GUESTS)
	@scripts/as-owner scripts/with-rust scripts/record $(TARGET_DIR)/long-tests env RUST_TEST_THREADS=64 \
		TARDY_LAB_GUESTS=$(abspath $(TARGET_DIR))/guest-of-tests \
		cargo test --workspace -- --ignored --nocapture long_

.PHONY: kernel-tests
kernel-tests: rust test-packages ## build two small kernels of Debian's sources, one of them with another option once more, and boot them: half an hour and ten minutes
	@scripts/install-packages kernel
	@$(MAKE_TEST_GUESTS)
	@scripts/as-owner env TARDY_LAB_GUESTS=$(abspath $(TARGET_DIR))/guest-of-tests \
		TARDY_KERNEL_TESTS=$(abspath $(TARGET_DIR))/kernel-tests \
		$(CARGO_TEST) --test lab -- --ignored --nocapture --test-threads=1 builds_a_kernel

.PHONY: coverage
coverage: rust ## simulate how often intervals, bounds and refusals are wrong: the tables of docs/statistics.md, in minutes
	@$(CARGO) test --package tardy-analyse --package tardy-compare --package tardy-statistics --release -- --ignored --nocapture --test-threads=1
	@$(CARGO) test --package tardy-gate --release -- --nocapture longer_runs_decide

.PHONY: check-guest-program
check-guest-program: rust ## is the guest's program the same wherever it is built, and whatever changes outside it?
	@scripts/as-owner scripts/with-rust scripts/check-guest-program $(abspath $(TARGET_DIR))/guest-program

.PHONY: check-added-probe
check-added-probe: rust ## can a probe be added in six files? Adds one to a copy, builds it, runs it; a part of long-tests
	@$(CARGO) test --package xtask --test added_probe -- --ignored --nocapture long_

.PHONY: lab-numbers
lab-numbers: all guests ## run the lab, and write its numbers into README.md and docs/lab.md
	@scripts/as-owner $(TARGET_DIR)/release/tardy lab run --quiet --force -o $(TARGET_DIR)/lab-numbers >/dev/null
	@$(CARGO) run --quiet --package xtask -- lab-numbers $(TARGET_DIR)/lab-numbers

.PHONY: budgets
budgets: rust ## build each executable from nothing, and write its size and CPU seconds into ARCHITECTURE.md: half an hour
	@$(CARGO) run --quiet --package xtask -- budgets $(TARGET_DIR)/budgets

.PHONY: examples
examples: lab-numbers ## write examples/ anew, whose numbers the documents and some tests quote
	@scripts/as-owner scripts/make-examples $(TARGET_DIR)/release/tardy $(TARGET_DIR)/lab-numbers

.PHONY: worst-wakeups
worst-wakeups: all guests ## explain the worst wake-up under each load, and write docs/worst-wakeups.md
	@scripts/as-owner sh -c 'bench/worst_wakeups.py $(TARGET_DIR)/release/tardy >$(TARGET_DIR)/worst-wakeups.md'
	@scripts/as-owner mv $(TARGET_DIR)/worst-wakeups.md docs/worst-wakeups.md

.PHONY: python-test
python-test: all ## build the Python module, run its tests and its notebook, check its types (uses packages from PyPI)
	@scripts/install-packages python
	@$(CARGO) clippy --package tardy-python --quiet -- -D warnings
	@scripts/as-owner env TARDY_COMMAND=$(abspath $(TARGET_DIR))/release/tardy scripts/with-rust scripts/python-test

.PHONY: wheels
wheels: rust ## build the Python wheels in dist/, for the static programs that `make dist` has put there (uses packages from PyPI)
	@scripts/install-packages python
	@scripts/as-owner scripts/with-rust scripts/make-wheels

.PHONY: bench
bench: all ## measure tardy itself
	@bench/run

.PHONY: bench-tsn
bench-tsn: rust ## measure the switch's simulator and TSNKit's
	@$(CARGO) build --release --package tardy-tsn --examples
	@for mode in linux standard; do \
		$(TARGET_DIR)/release/examples/network_file recipes/tsn-two-flows.toml $$mode 1000; done
	@scripts/as-owner bench/against_tsnkit.py $(TARGET_DIR)/release/examples

.PHONY: warehouse-test
warehouse-test: rust ## give runs to ClickHouse's engine and an S3 service, compare with SQLite, read Parquet with DuckDB (uses packages from PyPI)
	@scripts/install-packages python
	@$(CARGO) build --package tardy --package tardy-archive-command
	@scripts/as-owner scripts/with-rust scripts/warehouse-test $(abspath $(TARGET_DIR))/debug/tardy

.PHONY: bench-warehouse
bench-warehouse: all ## measure SQLite against ClickHouse's engine, and the bytes of a run in each store: 15 minutes (uses packages from PyPI)
	@scripts/install-packages python
	@scripts/as-owner scripts/warehouse-python bench/warehouse_quantile.py
	@scripts/as-owner scripts/warehouse-python bench/warehouse_sizes.py $(abspath $(TARGET_DIR))/release/tardy

.PHONY: sanitize
sanitize: rust ## tardy-sys's tests under AddressSanitizer, and under Miri where it can run them (needs a nightly compiler)
	@scripts/as-owner scripts/sanitize

.PHONY: fuzz
fuzz: rust ## fuzz everything that parses hostile bytes for SECONDS each (needs a nightly compiler): SECONDS=60 TARGETS='rtla-hist map'
	@scripts/as-owner env SECONDS_EACH=$(or $(SECONDS),60) scripts/fuzz $(TARGETS)

.PHONY: soak
soak: rust ## tests marked `soak`, which run for hours to find what short tests miss
	@echo "== soak: tests that run for hours"
	@$(CARGO) test --workspace --release -- --ignored soak

.PHONY: fresh-machine-test
fresh-machine-test: ## try `make $(GOAL)` on a bare system: RELEASE=bookworm|trixie|jammy|noble WHO=root|user|sudo GOAL=run|test|dist
	@scripts/as-root scripts/fresh-machine-test $(RELEASE) $(WHO) $(GOAL)

.PHONY: packages-test
packages-test: ## install, use and remove the packages of dist/ in chroots: RELEASES='bookworm trixie sid'; needs root
	@scripts/install-packages packages-test
	@scripts/as-root scripts/packages-test $(RELEASES)

## Requirements of the other targets

.PHONY: rust
rust:
	@scripts/install-packages build
	@scripts/as-owner scripts/install-rust

.PHONY: test-packages
test-packages:
	@scripts/install-packages test

.PHONY: clean
clean: ## remove what was built
	@rm -rf dist
	@$(CARGO) clean --quiet
