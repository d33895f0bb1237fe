.DEFAULT_GOAL := help
# Tests of what depends on a server: the gate plays them on the oldest PostgreSQL and on the newest, by `make contract`.
CONTRACT := hosts::host_folders hosts::id_types attacks::search_path attacks::privileges promises::scan_cost kinds::candidate_views \
	promises::rival_sweepers promises::network_faults::cut_connections requests::rivals hosts::paperclip
.PHONY: help demo run test test-agents test-mcp test-hosts test-otlp test-page test-postgres contract check check-deploy components bench bench-peers dist test-dist documents loops migrate picture release site times

help: ## Say what each target does
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Watch a sweep at work on a small made-up company, in a new SQLite file
	@tests/prerequisites build
	@test -e target/debug/sweep || echo "Compiling sweep: about three minutes on two cores, once. Then a made-up company is swept."
	@cargo build --locked
	@cargo run --locked --quiet -- demo $(ARGS)

run: ## Run sweep: make run ARGS="--dry-run --database sqlite://path"
	@tests/prerequisites build
	@cargo build --locked
	@cargo run --locked --quiet -- $(ARGS)

test: ## Run the tests, beside a throw-away PostgreSQL and Paperclip's own schema
	@tests/prerequisites test
	@tests/paperclip
	@export RUST_TEST_THREADS=$${RUST_TEST_THREADS:-8} PROPTEST_CASES=$${PROPTEST_CASES:-64}; tests/postgres run cargo test --locked -- $(CONTRACT:%=--skip=%)
	@cargo run --locked --quiet --example stall >/dev/null

test-agents: ## Play real agents under sweep watch, with a stand-in for their models: make test-agents ARGS="claude-*"
	@tests/prerequisites build
	@tests/agents/install
	@cargo build --locked
	@tests/agents/test.py $(ARGS)

test-mcp: ## Ask sweep mcp by the protocol's official clients (installs 110 MB once): make test-mcp ARGS="paperclip*"
	@tests/prerequisites test
	@tests/mcp/install >/dev/null
	@tests/paperclip
	@cargo build --locked
	@tests/postgres run tests/mcp/test.py $(ARGS)

test-postgres: ## Run the suite on another PostgreSQL, 14 to 18 (fetches it once): make test-postgres VERSION=18 ARGS=rival
	@tests/prerequisites test
	@tests/paperclip
	@RUST_TEST_THREADS=$${RUST_TEST_THREADS:-8} tests/postgres-version $(VERSION) tests/postgres run cargo test --locked --test suite -- $(ARGS)

test-hosts: ## Play the real servers beside sweep (installs 1.7 GB once), or one: make test-hosts ARGS=prefect
	@tests/prerequisites test
	@tests/hosts/run $(ARGS)

test-otlp: ## Look at what a collector of OpenTelemetry's gets (builds the feature otlp)
	@tests/prerequisites test
	@cargo test --locked --features otlp --test otlp -- $(ARGS)

test-page: ## Look at the page with a real Chromium, axe-core and the keyboard
	@tests/prerequisites test
	@tests/page/install >/dev/null
	@cargo build --locked
	@tests/postgres run tests/page/run

picture: ## Take the pictures of the page, and record the demo: docs/images
	@tests/prerequisites test
	@cargo build --locked
	@tests/page/run picture

times: ## Show where the time of the build and of the suite goes: make times, or without the build make times ARGS=kinds::
	@tests/prerequisites test
	@tests/paperclip
	@tests/times $(or $(ARGS),--build $(CONTRACT:%=--skip=%))

contract: ## Play what depends on a server on one PostgreSQL, with its roles: make contract VERSION=14
	@$(MAKE) test-postgres VERSION=$(VERSION) ARGS="--include-ignored $(CONTRACT) rival listen run_end $(ARGS)"
	@tests/postgres-version $(VERSION) tests/postgres run tests/roles

check: ## Check format, lints and documentation
	@tests/prerequisites build
	cargo fmt --check
	cargo clippy --locked --features otlp --all-targets -- -D warnings
	cargo clippy --locked --features otlp --test hosts -- -D warnings
	cargo clippy --locked --no-default-features --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --lib --examples --document-private-items

check-deploy: ## Check deploy/ with the tools that know such files
	@tests/prerequisites deploy
	@tests/deploy $(ARGS)

components: ## List what the program is built from, in CycloneDX's format: target/sweep.cdx.json
	@tests/prerequisites build
	@cargo cyclonedx --version >/dev/null 2>&1 || tests/fetch cargo-cyclonedx cargo install --quiet --debug --locked cargo-cyclonedx@0.5.9
	@cargo cyclonedx --quiet --features dist --format json --spec-version 1.5 --override-filename sweep.cdx
	@mkdir -p target && mv sweep.cdx.json target/

dist: ## Build what people install: target/dist-artefacts. Another processor: make dist ARCH=aarch64; a part: make dist ARGS=deb
	@tests/prerequisites dist
	@deploy/dist $(ARGS)

test-dist: ## Install and use what make dist has built, as root, or a part: make test-dist ARGS=deb
	@tests/prerequisites dist
	@tests/dist $(ARGS)

bench: ## Measure, beside a throw-away PostgreSQL that does fsync
	@tests/prerequisites test
	@tests/paperclip
	@cargo bench --locked --bench detectors
	@tests/postgres run --fsync cargo bench --locked --bench sweep

bench-peers: ## Measure beside other systems that recover work (installs 1.8 GB once), or one: make bench-peers ARGS=pg-boss
	@tests/prerequisites test
	@tests/paperclip
	@cargo build --profile dist --locked
	@tests/postgres run --fsync benches/peers/run $(ARGS)

release: ## Make a release, of which nothing is pushed: make release VERSION=0.2.0, or first ARGS=--dry-run
	@tests/prerequisites test
	@tests/paperclip
	@deploy/release "$(VERSION)" $(ARGS)

site: ## Build the pages as a site with a search: target/site
	@deploy/site/build

documents: ## Write into README.md and docs/ what their examples print today
	@tests/prerequisites test
	@BLESS=1 tests/postgres run cargo test --locked --test suite -- documents::

loops: ## Measure how well loops are distinguished from work: make loops ARGS="my.log", else on tests/logs
	@tests/prerequisites build
	@cargo bench --locked --bench loops -- $(ARGS)

migrate: ## Bring a database's schema up to date: make migrate ARGS="--database postgres://…"
	@tests/prerequisites build
	@cargo run --locked -- migrate $(ARGS)
