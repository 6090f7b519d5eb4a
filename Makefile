# What can be done in this checkout. `make` alone prints the list.
#
# Everything longer than a line lives in scripts/ (shell) or xtask/ (Rust), so that this file stays an index.
# Building is done by the checkout's owner even under sudo, so that no file of root's is left in target/;
# see scripts/as-owner.

.DEFAULT_GOAL := help
# The steps of a test print headings in an order that means something, and cargo is parallel by itself.
.NOTPARALLEL:

CARGO := scripts/as-owner scripts/with-rust cargo
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
# How long `make run` measures.
DURATION ?= 1m
# Which machine `make fresh-machine-test` makes, who acts on it, and what is made there.
RELEASE ?= bookworm
WHO ?= root
GOAL ?= run

.PHONY: help
help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' Makefile

## For people who measure

.PHONY: run
run: build ## install what is missing, build, measure for a minute under load and write a report
	@scripts/first-run $(TARGET_DIR)/release/tardy $(DURATION)

.PHONY: build
build: rust ## build target/release/tardy, installing a compiler and Rust where they are missing
	@$(CARGO) build --release --package tardy

.PHONY: guests
guests: rust ## the static tardys that run inside the lab's guests
	@scripts/as-owner scripts/with-rust scripts/make-guests $(TARGET_DIR)/release x86_64 aarch64

.PHONY: dist
dist: rust ## static binaries for x86_64, aarch64, armv7 and armv5te, with man pages and checksums, in dist/
	@scripts/install-packages boards
	@scripts/as-owner scripts/with-rust scripts/make-dist

## For people who change tardy

.PHONY: check
check: rust fmt clippy tidy ## the quick part of `make test`, for while one edits

.PHONY: test
test: rust test-packages fmt shellcheck clippy unit-tests lab-tests board-tests rustdoc deny ## everything that CI runs
	@echo "== all passed"

.PHONY: fmt
fmt:
	@echo "== rustfmt"
	@$(CARGO) fmt --all --check

.PHONY: shellcheck
shellcheck:
	@echo "== shellcheck"
	@shellcheck $$(grep -lE "^#!/bin/(sh|bash)" .ci/run scripts/*)

.PHONY: clippy
clippy:
	@echo "== clippy"
	@$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings

.PHONY: tidy
tidy:
	@echo "== rules of this repository (cargo test -p xtask)"
	@$(CARGO) test --package xtask --quiet

.PHONY: unit-tests
unit-tests:
	@echo "== cargo test"
	@$(CARGO) test --workspace

.PHONY: lab-tests
lab-tests: rust
	@echo "== the lab: real kernels in an emulator"
	@scripts/as-owner env TARDY_PROFILE=guest-of-tests \
		scripts/with-rust scripts/make-guests $(TARGET_DIR)/guest-of-tests x86_64 aarch64
	@scripts/as-owner env TARDY_LAB_GUESTS=$(abspath $(TARGET_DIR))/guest-of-tests \
		scripts/with-rust cargo test --package tardy --test lab -- --nocapture --test-threads=2

.PHONY: board-tests
board-tests:
	@echo "== binaries for 32-bit boards, on emulated processors"
	@scripts/install-packages boards
	@scripts/as-owner scripts/with-rust scripts/make-boards $(TARGET_DIR)
	@scripts/as-owner env TARDY_BOARDS=$(abspath $(TARGET_DIR)) \
		scripts/with-rust cargo test --package tardy --test boards -- --nocapture

.PHONY: rustdoc
rustdoc:
	@echo "== rustdoc"
	@scripts/as-owner env RUSTDOCFLAGS="-D warnings" scripts/with-rust cargo doc --workspace --no-deps --document-private-items --quiet

.PHONY: deny
deny:
	@echo "== cargo-deny: licences, bans, sources, advisories"
	@scripts/as-owner scripts/with-rust scripts/check-dependencies

## Long jobs, by hand

.PHONY: agreement
agreement: guests ## the simulator of switches against the kernel, all 50 files
	@scripts/as-owner env TARDY_LAB_GUESTS=$(abspath $(TARGET_DIR))/release \
		scripts/with-rust cargo test --package tardy --test lab -- --ignored --nocapture fifty_switches

.PHONY: bench
bench: build ## measure tardy itself
	@bench/run

.PHONY: bench-tsn
bench-tsn: rust ## measure the switch's simulator, beside TSNKit's
	@$(CARGO) build --release --package tardy-tsn --examples
	@for mode in linux standard; do \
		$(TARGET_DIR)/release/examples/network_file recipes/tsn-two-flows.toml $$mode 1000; done
	@scripts/as-owner bench/against_tsnkit.py $(TARGET_DIR)/release/examples

.PHONY: fuzz
fuzz: rust ## fuzz every importer for SECONDS each (needs a nightly compiler): SECONDS=60 TARGETS='rtla-hist xenomai'
	@scripts/as-owner env SECONDS_EACH=$(or $(SECONDS),60) scripts/fuzz $(TARGETS)

.PHONY: soak
soak: rust ## hours, not minutes: the tests marked `soak`, which look for what only time brings out
	@echo "== soak: tests that are ignored elsewhere because they run for hours"
	@$(CARGO) test --workspace --release -- --ignored soak

.PHONY: fresh-machine-test
fresh-machine-test: ## try `make $(GOAL)` on a bare system: RELEASE=bookworm|trixie|jammy|noble WHO=root|user|sudo GOAL=run|test|dist
	@scripts/as-root scripts/fresh-machine-test $(RELEASE) $(WHO) $(GOAL)

## What the others stand on

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
