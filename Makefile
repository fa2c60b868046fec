# mainpath: `make run` does the main job, `make test` proves that it works. See CONTRIBUTING.md.

SHELL := /bin/bash
CARGO ?= cargo
TASK ?= Look around in this folder and say in three sentences what is in it.
MODEL ?=
# More flags of `mainpath run`, such as FLAGS=--yes where nobody can be asked.
FLAGS ?=
SEEDS ?= 10000

.PHONY: run serve quick build dist test ui ui-built ui-browser advisories sbom package-check hardening mcp-servers schemathesis openai-sdk skills-ref skill-collections lint bench simulation mutants redis promtool clean

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
dist:
	$(CARGO) rustc --profile dist --locked -p mainpath-cli --bin mainpath -- -C strip=symbols $(DIST_LINK)

## Everything that CI runs. Needs Rust, make, a C compiler, Node.js with npm and Python 3; installs the servers that the MCP
## tests talk to and the reference validator of skills below target/, and redis-server, promtool and Chromium (apt-get, as root) where
## they are missing.
test: lint redis promtool mcp-servers skills-ref schemathesis openai-sdk ui-built
	$(CARGO) test --workspace --locked
	$(MAKE) ui-browser
	@echo "tests done"

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

## The pages in a real browser, against the server as `cargo build` makes it. What a busy machine makes late is tried again.
ui-browser: ui/node_modules/.installed mcp-servers
	$(CARGO) build --locked -p mainpath-cli
	cd ui && npm run types -- --check && npx playwright test --retries 2

## The reference servers, the conformance package and the browser of the MCP tests, at pinned versions.
MCP := target/mcp-servers
mcp-servers: $(MCP)/.installed
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
	  || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; }

$(MCP)/.installed: $(addprefix crates/mcp/tests/servers/,package.json package-lock.json requirements.txt)
	@mkdir -p $(MCP)
	cp $^ $(MCP)/
	cd $(MCP) && PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci --no-audit --no-fund --loglevel=error
	cd $(MCP) && python3 -m venv venv && venv/bin/pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

## The reference validator of the Agent Skills specification, which ours must agree with, at a pinned version.
SKILLS_REF := target/skills-ref
skills-ref: $(SKILLS_REF)/.installed

$(SKILLS_REF)/.installed: crates/skills/tests/requirements.txt
	@mkdir -p $(SKILLS_REF)
	python3 -m venv $(SKILLS_REF)/venv
	$(SKILLS_REF)/venv/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

## What fuzzes the server from its own document, at a pinned version.
SCHEMATHESIS := target/schemathesis
schemathesis: $(SCHEMATHESIS)/.installed

$(SCHEMATHESIS)/.installed: crates/server/tests/requirements.txt
	@mkdir -p $(SCHEMATHESIS)
	python3 -m venv $(SCHEMATHESIS)/venv
	$(SCHEMATHESIS)/venv/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

## OpenAI's own clients for Python and Node, which talk to the server in its tests, at pinned versions.
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

lint:
	@$(CARGO) clippy --version >/dev/null 2>&1 && $(CARGO) fmt --version >/dev/null 2>&1 || rustup component add clippy rustfmt
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) clippy -p mainpath --no-default-features --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --no-deps --workspace --exclude mainpath-bench --exclude mainpath-testkit --exclude xtask
	$(CARGO) xtask tidy
	$(CARGO) xtask deps

## Known weaknesses of what is depended on, by cargo-deny. It needs the database of RustSec, from github.com.
advisories:
	@$(CARGO) deny --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-deny
	$(CARGO) deny check

## What the program is made of, as CycloneDX.
sbom:
	@$(CARGO) xtask sbom

## Packages every crate that is published, and runs the program of README.md against the packages. Minutes.
package-check:
	$(CARGO) xtask package-check

## What is tried at length before a release: docs/robustness.md. Less than 20 minutes.
hardening:
	MAINPATH_HARDENING=1 $(CARGO) test --locked -p mainpath-cli --test it -- hardening:: --nocapture

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

# The tests start a server of their own on a free port; the machine's service is not touched.
redis:
	@command -v redis-server >/dev/null || apt-get install -y --no-install-recommends redis-server >/dev/null 2>&1 || \
	{ apt-get update && apt-get install -y --no-install-recommends redis-server; }

# What holds /metrics to the format of Prometheus.
promtool:
	@command -v promtool >/dev/null || apt-get install -y --no-install-recommends prometheus >/dev/null 2>&1 || \
	{ apt-get update && apt-get install -y --no-install-recommends prometheus; }

clean:
	$(CARGO) clean
