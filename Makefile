# mainpath: `make run` does the main job, `make test` proves that it works. See CONTRIBUTING.md.

SHELL := /bin/bash
# Cargo has jobs of its own; make's would be named in a warning of each call.
CARGO ?= env -u MAKEFLAGS -u MFLAGS cargo
TASK ?= Look around in this folder and say in three sentences what is in it.
MODEL ?=
# More flags of `mainpath run`, such as FLAGS=--yes where nobody can be asked.
FLAGS ?=
SEEDS ?= 10000

# The tests mostly wait for the processes that they start, so more of them run at a time than there are cores.
THREADS ?= $(shell echo $$(( 2 * $$(nproc 2>/dev/null || echo 2) )))

.PHONY: check core-test tree run serve quick build dist test test-tools test-rust lint ui ui-built ui-browser debian-packages \
	mcp-servers skills-ref schemathesis openai-sdk hardening clients-test cluster packages-test release-repro conformance everything \
	skill-collections injections simulation mutants advisories sbom bench clean

## The first command while you work: format, lints, the tests of the core libraries, the rules of the tree, its size. It installs nothing.
## Of random lives and texts it tries a part, and not whether the lines of a test do in bash what they are listed for: `make test` tries all.
check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --lib --bins --locked -- -D warnings
	$(CARGO) build --quiet --locked -p xtask
	$(MAKE) -j2 -O core-test tree

core-test:
	MAINPATH_SEEDS=100 PROPTEST_CASES=64 RUST_TEST_THREADS=$(THREADS) $(CARGO) test --quiet --locked -p mainpath-core -p mainpath-policy -p mainpath-store -p mainpath-runtime \
	  -- --skip what_is_called_a_way_round_is_one_in_real_bash

## The rules of the tree, what is depended on, and the lines of code of each crate.
tree:
	$(CARGO) xtask tidy
	$(CARGO) xtask deps
	$(CARGO) xtask lines

## Build and give an agent a task; without TASK, MODEL and any model that is set up, play the demonstration: make run TASK="…" MODEL="openai-compatible:http://127.0.0.1:8080/v1#name"
run: quick
	@if [ ! -t 0 ]; then exec </dev/null; fi; \
	$(if $(filter file,$(origin TASK)),$(if $(MODEL),,if ./target/quick/mainpath doctor | grep -q '^warn no model'; then exec ./target/quick/mainpath demo; fi;)) \
	./target/quick/mainpath run $(FLAGS) $(if $(MODEL),--model '$(MODEL)') -- '$(subst ','\'',$(TASK))'

## Serve traces, runs and approvals over HTTP, with agents that work in this folder: docs/server.md. make serve FLAGS="--address 127.0.0.1:9000"
serve: build
	./target/release/mainpath serve $(FLAGS)

## The program for a first look and for work on it: soon built, not optimised.
quick:
	$(CARGO) build --profile quick --locked -p mainpath-cli

## The program for use.
build:
	$(CARGO) build --release --locked -p mainpath-cli

## The program as it is handed out: target/dist/mainpath, smaller than what `make build` builds, and longer to build.
# A crate with an optimisation of its own has `strip` from the profile that this one inherits, so it is said here. Where Rust brings its
# own linker, that folds functions that are the same, and what a run calls is put together: a run then needs half of the memory, which is
# mostly the program's own pages.
ifeq ($(shell uname -s -m),Linux x86_64)
DIST_LINK := -C link-arg=-Wl,--icf=all $(if $(shell command -v python3),-C linker=$(CURDIR)/tools/link_in_order.py)
endif
# ORDER names a `mainpath.order` of another build, to put functions into the same order.
dist:
	MAINPATH_LINK_ORDER=$(ORDER) $(CARGO) rustc --profile dist --locked -p mainpath-cli --bin mainpath -- -C strip=symbols $(DIST_LINK)

# Records when a target last passed; `make everything` prints it.
define passed
@mkdir -p target/passed && echo "$$(date -u '+%F %H:%M UTC') at $$(git describe --always --dirty)" > target/passed/$@
endef

## Everything that CI runs. It installs what the tests need: the servers, clients and validators that they talk to below target/, and
## redis-server, promtool and Chromium with apt-get (as root) where they are missing.
test:
	$(MAKE) -j2 -O lint test-tools ui-built
	$(MAKE) test-rust
	$(MAKE) ui-browser
	$(passed)
	@echo "tests done"

test-rust:
	RUST_TEST_THREADS=$(THREADS) $(CARGO) test --workspace --locked

## What the tests talk to and are checked with. Each has a pinned version.
test-tools: debian-packages mcp-servers skills-ref schemathesis openai-sdk ui/node_modules/.installed

## The pages of the server: their source is in ui/, what is built of it in crates/server/ui.
ui: ui/node_modules/.installed
	cd ui && npm run build

ui/node_modules/.installed: ui/package.json ui/package-lock.json
	cd ui && PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci --no-audit --no-fund --loglevel=error
	@touch $@

## That the built pages are those of their source, and their unit tests.
ui-built: ui/node_modules/.installed
	cd ui && npm run check && npx vite build --outDir ../target/ui-built --emptyOutDir --logLevel warn
	diff -r target/ui-built crates/server/ui || { echo "the built pages are not those of their source: make ui"; exit 1; }
	cd ui && npx vitest run

## The pages in a real browser, against the server that the tests of the command use. (Built by `-p mainpath-cli` alone it would have other
## features, and almost everything would be compiled again.)
ui-browser: ui/node_modules/.installed debian-packages
	$(CARGO) test --workspace --locked --no-run
	cd ui && npm run types -- --check && npx playwright test

## The reference servers and the conformance package of the MCP tests.
MCP := target/mcp-servers
mcp-servers: $(MCP)/.installed

$(MCP)/.installed: $(addprefix crates/mcp/tests/servers/,package.json package-lock.json requirements.txt)
	@mkdir -p $(MCP)
	cp $^ $(MCP)/
	cd $(MCP) && PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci --no-audit --no-fund --loglevel=error
	cd $(MCP) && python3 -m venv venv && venv/bin/pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

## The reference validator of the Agent Skills specification, which ours must agree with.
SKILLS_REF := target/skills-ref
skills-ref: $(SKILLS_REF)/.installed

$(SKILLS_REF)/.installed: crates/skills/tests/requirements.txt
	@mkdir -p $(SKILLS_REF)
	python3 -m venv $(SKILLS_REF)/venv
	$(SKILLS_REF)/venv/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

## What fuzzes the server from its own document.
SCHEMATHESIS := target/schemathesis
schemathesis: $(SCHEMATHESIS)/.installed

$(SCHEMATHESIS)/.installed: crates/server/tests/requirements.txt
	@mkdir -p $(SCHEMATHESIS)
	python3 -m venv $(SCHEMATHESIS)/venv
	$(SCHEMATHESIS)/venv/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

## OpenAI's own clients for Python and Node, which talk to the server in its tests.
OPENAI_SDK := target/openai-sdk
openai-sdk: $(OPENAI_SDK)/.installed $(OPENAI_SDK)-node/.installed

$(OPENAI_SDK)/.installed: crates/server/tests/openai/requirements.txt
	@mkdir -p $(OPENAI_SDK)
	python3 -m venv $(OPENAI_SDK)/venv
	$(OPENAI_SDK)/venv/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

$(OPENAI_SDK)-node/.installed: $(addprefix crates/server/tests/openai/,package.json package-lock.json)
	@mkdir -p $(OPENAI_SDK)-node
	cp $^ $(OPENAI_SDK)-node/
	cd $(OPENAI_SDK)-node && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

## Every skill of some published collections is loaded and judged as the reference validator does. It downloads them, by pip and npm, below target/.
COLLECTIONS := target/skill-collections
skill-collections: skills-ref
	@mkdir -p $(COLLECTIONS)/packages
	@[ -e $(COLLECTIONS)/.unpacked ] || { \
	  pip download --quiet --disable-pip-version-check --no-deps --dest $(COLLECTIONS)/packages adclaw==1.0.33 agent-skills-bundle==0.1.0 && \
	  npm pack --silent --pack-destination $(COLLECTIONS)/packages @framers/agentos-skills@0.10.1 shopify-cc-kit@2.0.3 && \
	  for package in $(COLLECTIONS)/packages/*; do \
	    to=$(COLLECTIONS)/unpacked/$$(basename $$package); mkdir -p $$to; \
	    case $$package in *.whl) python3 -m zipfile -e $$package $$to;; *.tgz) tar -xzf $$package -C $$to;; esac; \
	  done && touch $(COLLECTIONS)/.unpacked; }
	$(CARGO) test --locked -p mainpath-skills --test it -- --ignored --nocapture collections

## The injections at length, also those of the published package agentdojo. It downloads that, by pip, below target/.
DOJO := target/agentdojo
injections: $(DOJO)/.installed
	MAINPATH_HARDENING=1 $(CARGO) test --locked -p mainpath-cli --test it -- hardening::injections hardening::dojo --nocapture

$(DOJO)/.installed: crates/cli/tests/servers/dojo-requirements.txt
	@mkdir -p $(DOJO)
	python3 -m venv $(DOJO)/venv
	$(DOJO)/venv/bin/pip install --quiet --disable-pip-version-check -r $<
	$(DOJO)/venv/bin/pip install --quiet --disable-pip-version-check --no-deps agentdojo==0.1.35
	@touch $@

lint:
	@$(CARGO) clippy --version >/dev/null 2>&1 && $(CARGO) fmt --version >/dev/null 2>&1 || rustup component add clippy rustfmt
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) clippy -p mainpath --no-default-features --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --no-deps --workspace
	$(CARGO) xtask tidy
	$(CARGO) xtask deps

## Known weaknesses of what is depended on, by cargo-deny. It needs the database of RustSec, from github.com.
advisories:
	@$(CARGO) deny --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-deny
	$(CARGO) deny check

## What the program is made of, as CycloneDX.
sbom:
	@$(CARGO) xtask sbom

# Long forms: each installs what it needs. `make test` has the short form of each.
LONG := hardening clients-test cluster packages-test release-repro conformance

## Runs the tests and all long forms, and prints when each last passed. Hours.
everything:
	@failed=; \
	for form in test $(LONG); do $(MAKE) $$form || failed="$$failed $$form"; done; \
	for form in test $(LONG); do printf '%-15s last passed: %s\n' $$form "$$(cat target/passed/$$form 2>/dev/null || echo never)"; done; \
	[ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }

## Attacks and faults at length: docs/robustness.md.
hardening: debian-packages $(DOJO)/.installed
	MAINPATH_HARDENING=1 $(CARGO) test --locked -p mainpath-cli --test it -- hardening:: at_once:: --nocapture
	MAINPATH_HARDENING=1 $(CARGO) test --locked -p mainpath --test it -- first_writes:: deciders:: --nocapture
	$(passed)

## Published clients at length: OpenAI's for Python and Node, and Schemathesis with many requests for each operation.
clients-test: openai-sdk schemathesis
	MAINPATH_FUZZ=60 $(CARGO) test --locked -p mainpath-server --test it -- openai_sdk:: fuzz:: --nocapture
	$(passed)

## Several servers and many processes on the same data, ROUNDS times.
ROUNDS ?= 10
cluster: debian-packages
	for round in $$(seq $(ROUNDS)); do \
	  $(CARGO) test --locked -p mainpath-cli --test it -- machines:: elsewhere:: sessions:: left_runs::killed crash:: || exit 1; \
	  $(CARGO) test --locked -p mainpath-server --test it -- peers:: once:: || exit 1; \
	done
	$(passed)

## Packages every crate that is published, and runs the program of README.md against the packages. Minutes.
packages-test:
	$(CARGO) xtask package-check
	$(passed)

## Builds the program as it is handed out twice, in two folders, and compares the bytes. The second build gets the order of functions that
## the first one has found.
release-repro:
	CARGO_TARGET_DIR=target/repro/one $(MAKE) dist
	CARGO_TARGET_DIR=target/repro/two $(MAKE) dist ORDER=$(CURDIR)/target/repro/one/dist/mainpath.order
	cmp target/repro/one/dist/mainpath target/repro/two/dist/mainpath
	$(passed)

## Specifications and contracts at length: MCP's own conformance suite and reference servers, every store, published collections of
## skills against the reference validator, and the seeded simulation of the core.
conformance: debian-packages mcp-servers skill-collections simulation
	$(CARGO) test --locked -p mainpath-mcp -p mainpath-store -p mainpath-sessions -p mainpath-skills
	$(passed)

## The table of docs/figures.md. Takes about a minute after its build.
bench: build
	$(CARGO) run --release --locked -p mainpath-bench

## The seeded simulation of the core, at length.
simulation:
	MAINPATH_SEEDS=$(SEEDS) $(CARGO) test --release --locked -p mainpath-core --test it simulation

## Mutation testing of core and policy; survivors are explained in crates/core/MUTANTS.md.
mutants:
	@$(CARGO) mutants --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-mutants
	MAINPATH_SEEDS=60 $(CARGO) mutants -p mainpath-core -p mainpath-policy -j1 --timeout 20 \
		-- --lib --tests --examples -- --skip what_is_called_a_way_round_is_one_in_real_bash

# What the tests use of Debian's packages: redis-server, promtool (it checks the format of /metrics), Chromium, and strace, which makes system
# calls fail. One call installs what is missing, since apt-get runs once at a time.
DEBIAN := $(if $(shell command -v redis-server),,redis-server) $(if $(shell command -v strace),,strace) $(if $(shell command -v promtool),,prometheus) \
	$(if $(shell command -v chromium || command -v chromium-browser || command -v google-chrome),,chromium)
debian-packages:
	@[ -z "$(strip $(DEBIAN))" ] || { apt-get update -qq && apt-get install -y -qq --no-install-recommends $(DEBIAN) >/dev/null; }

clean:
	$(CARGO) clean
