# `make demo` and `make test` work on a fresh machine: they install what the build needs and say how to get Rust.
# One profile (release) throughout: HiGHS takes minutes to compile and is built once per profile.

RATS := target/release/rats
DEMO := instances/demo/testbed.json
DEMO_SECONDS ?= 60

.PHONY: demo testbed-demo test docs bench baselines best-known families family-table deps build fmt clippy

demo: build ## Solves the shipped instance, checks the plan and explains one job of it.
	$(RATS) info $(DEMO)
	$(RATS) solve $(DEMO) --time-limit $(DEMO_SECONDS) -o target/demo-plan.json
	$(RATS) check $(DEMO) target/demo-plan.json

testbed-demo: build ## Simulated GPUs: discover, profile, fit, build, solve, execute, report; checks what it promises.
	instances/testbed-demo/run.sh target/testbed-demo

test: deps ## Everything that must hold before a change lands.
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets -- -D warnings
	cargo test --release --workspace
	cargo bench --workspace --no-run
	RUSTDOCFLAGS="-D warnings" cargo doc --release --workspace --no-deps
	$(MAKE) smoke

.PHONY: smoke
smoke: build ## The pipeline from instance to checked plan, through the real program.
	$(RATS) solve instances/tiny/04-bridge-the-short-gap.json --solver milp -o target/smoke-plan.json
	$(RATS) check instances/tiny/04-bridge-the-short-gap.json target/smoke-plan.json
	$(RATS) solve instances/tiny/23-infeasible-cap-meets-chains.json; test $$? -eq 1
	$(RATS) export instances/tiny/04-bridge-the-short-gap.json --format mps -o target/smoke.mps

docs: build ## Writes the generated documents: code index and JSON Schemas.
	$(RATS) schema codes > docs/codes.md
	$(RATS) schema instance > docs/schema/instance.schema.json
	$(RATS) schema plan > docs/schema/plan.schema.json
	$(RATS) schema profile > docs/schema/profile.schema.json
	$(RATS) schema model > docs/schema/model.schema.json
	$(RATS) schema pairs > docs/schema/pairs.schema.json
	$(RATS) schema gpu > docs/schema/gpu.schema.json
	$(RATS) schema fabric > docs/schema/fabric.schema.json
	$(RATS) schema inventory > docs/schema/inventory.schema.json

best-known: build ## Records the optima of the tiny instances, through the checker.
	$(RATS) record instances/tiny/*.json --solver exhaustive --into instances/best_known.toml

families: build ## Generates the shipped benchmark instances again, byte for byte; see instances/README.md.
	@mkdir -p instances/small instances/medium instances/large
	@for seed in 1 2 3 4 5 6 7 8 9 10 11 12; do for family in small medium; do \
	  $(RATS) generate $$family --seed $$seed -o instances/$$family/$$family-v1-$$(printf %02d $$seed).json || exit 1; done; done
	@for pair in 1:100 4:150 7:200 9:300 10:400 11:1000; do seed=$${pair%%:*}; \
	  $(RATS) generate large --seed $$seed --jobs $${pair##*:} -o instances/large/large-v1-$$(printf %02d $$seed).json || exit 1; done

FAMILY_FILES = $(wildcard instances/small/*.json instances/medium/*.json instances/large/*.json)

family-table: build ## Prints the table of the shipped instances in instances/README.md.
	@$(RATS) info --table --best-known instances/best_known.toml $(FAMILY_FILES)

bench: deps ## Measures; compare ratios within one run.
	cargo bench --workspace

BASELINES_VENV := target/baselines-venv
BASELINES_STAMP := $(BASELINES_VENV)/installed-$(shell cksum < benches/baselines/requirements.txt | cut -d' ' -f1)

baselines: $(BASELINES_STAMP) ## Installs what `rats bench --solvers cp_sat,highs_cli` needs, and tests both models.
	RATS_BASELINES_PYTHON=$(BASELINES_VENV)/bin/python cargo test --release -p rats --test it baselines

$(BASELINES_STAMP):
	python3 -m venv $(BASELINES_VENV)
	$(BASELINES_VENV)/bin/python -m pip install --quiet -r benches/baselines/requirements.txt
	@touch $@

build: deps
	cargo build --release --workspace

deps: ## What compiling HiGHS needs: cmake, a C++ compiler and libclang.
	@command -v cargo >/dev/null || { echo "Rust is missing: see https://rustup.rs, then run make again." >&2; exit 2; }
	@if command -v cmake >/dev/null && command -v c++ >/dev/null && \
	    { ls /usr/lib/llvm-*/lib/libclang*.so* /usr/lib/*/libclang*.so* /usr/lib64/libclang*.so* 2>/dev/null | grep -v cpp | grep -q . \
	      || [ -n "$$LIBCLANG_PATH" ] || [ "$$(uname)" = Darwin ]; }; then :; \
	elif command -v apt-get >/dev/null; then \
	  sudo=; [ "$$(id -u)" = 0 ] || sudo=sudo; \
	  $$sudo apt-get update -qq && $$sudo apt-get install -y -qq cmake g++ libclang-dev; \
	else \
	  echo "cmake, a C++ compiler or libclang is missing: install them with your package manager, then run make again." >&2; exit 2; \
	fi
