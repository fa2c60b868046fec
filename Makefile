# mainpath: `make run` does the main job, `make test` proves that it works. See CONTRIBUTING.md.

SHELL := /bin/bash
CARGO ?= cargo
TASK ?= Look around in this folder and say in three sentences what is in it.
MODEL ?=
# More flags of `mainpath run`, such as FLAGS=--yes where nobody can be asked.
FLAGS ?=
SEEDS ?= 10000

.PHONY: run build test lint bench simulation mutants redis clean

## Build and give an agent a task: make run TASK="…" MODEL="openai-compatible:http://127.0.0.1:8080/v1#name"
run: build
	@if [ ! -t 0 ]; then exec </dev/null; fi; \
	./target/release/mainpath run $(FLAGS) $(if $(MODEL),--model '$(MODEL)') -- '$(subst ','\'',$(TASK))'

build:
	$(CARGO) build --release --locked -p mainpath-cli

## Everything that CI runs. Needs Rust, make and a C compiler; installs redis-server, against which redis_context is tested.
test: lint redis
	$(CARGO) test --workspace --locked
	@echo "tests done"

lint:
	@$(CARGO) clippy --version >/dev/null 2>&1 && $(CARGO) fmt --version >/dev/null 2>&1 || rustup component add clippy rustfmt
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) xtask tidy

## The table of the README. Takes about a minute after its build.
bench: build
	$(CARGO) run --release --locked -p mainpath-bench

## The seeded simulation of the core, at length.
simulation:
	MAINPATH_SEEDS=$(SEEDS) $(CARGO) test --release --locked -p mainpath-core --test it simulation

## Mutation testing of core and policy; survivors are explained in crates/core/MUTANTS.md.
mutants:
	@$(CARGO) mutants --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-mutants
	MAINPATH_SEEDS=60 $(CARGO) mutants -p mainpath-core -p mainpath-policy -j1 --timeout 20

# The tests start a server of their own on a free port; the machine's service is not touched.
redis:
	@command -v redis-server >/dev/null || apt-get install -y --no-install-recommends redis-server >/dev/null 2>&1 || \
	{ apt-get update && apt-get install -y --no-install-recommends redis-server; }

clean:
	$(CARGO) clean
