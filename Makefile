# The commands for developers. `make help` lists them.
.DEFAULT_GOAL := help
SHELL := /bin/sh

# The folders where installers and images put Swift, in case it is not on PATH.
export PATH := $(PATH):/opt/swift/usr/bin:/usr/local/swift/usr/bin

# Folders of Swift code that swift-format reads.
SWIFT_FOLDERS := Sources Tests Plugins Benchmarks Examples Package.swift

# One binary. The machine where it runs needs libpq, but no Swift. docs/decisions/size-of-the-program.md says what is in it.
RELEASE := swift build -c release --product brocot -Xswiftc -static-stdlib -Xlinker --strip-all

# Tests that run the program as a process run a release build of it. Package.swift says what OPTIMIZE_TESTED_CODE does.
TEST := swift build -c release --product brocot && \
	PROGRAM_UNDER_TEST="$$(swift build -c release --show-bin-path)/brocot" OPTIMIZE_TESTED_CODE=1 .ci/failures-last swift test

.PHONY: help dependencies build test test-versions test-model test-ranks test-traces test-faults test-attacks schema-pages memory-check benchmark bench bench-quick instructions simulation demo dev example format lint clean

help: ## List these targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

dependencies: ## Install PostgreSQL, PgBouncer and libpq's headers where missing (apt-get; sudo unless root)
	@.ci/dependencies

build: dependencies ## Build the release binary, and print its path
	$(RELEASE)
	@echo "$$($(RELEASE) --show-bin-path)/brocot"

test: dependencies ## Run the tests against real servers of their own; the attacks are a target of their own
	$(TEST) --skip AttackTests

test-versions: dependencies ## Run all tests on PostgreSQL of this system, and on 16 and 18 from PyPI; ARGUMENTS="--filter …"
	@.ci/test-versions $(ARGUMENTS)

schema-pages: dependencies ## Write the pages of docs/schema again, from a migrated database
	export BROCOT_WRITE_SCHEMA_PAGES=1; $(TEST) --filter SchemaPageTests

memory-check: dependencies ## Run the tests of the libpq wrapper under AddressSanitizer and LeakSanitizer
	@.ci/memory-check

REQUESTS ?= 1000000
DIRECT_MOVES ?= 5000
test-model: dependencies ## Compare batches in memory, and then the queue, with plain arrays, over REQUESTS=1000000 random moves each; moves at once over DIRECT_MOVES=5000
	export BROCOT_MODEL_REQUESTS=$(REQUESTS) BROCOT_DIRECT_MOVES=$(DIRECT_MOVES); $(TEST) --filter ModelTests

RANK_GAPS ?= 1000000
test-ranks: dependencies ## Compare ranks chosen by SQL with the library's, in RANK_GAPS=1000000 random gaps
	OPTIMIZE_TESTED_CODE=1 BROCOT_RANK_GAPS=$(RANK_GAPS) swift test --filter RankFunctionTests

test-traces: dependencies ## Replay every recording of human editing; BROCOT_TRACES is their folder
	export BROCOT_ALL_TRACES=1; $(TEST) --filter 'TraceReplayTests|MoveNowTraceTests'

FAULTS ?= 300
FAULT_REQUESTS ?= 100000
test-faults: dependencies ## Break daemons, servers and connections FAULTS=300 times, and check that no move suffered; SEED=n
	export BROCOT_FAULTS=$(FAULTS) BROCOT_FAULT_REQUESTS=$(FAULT_REQUESTS) $(if $(SEED),BROCOT_SEED=$(SEED)); \
		$(TEST) --filter FaultRunTests

HISTORIES ?= 300
test-attacks: dependencies ## Attack Brocot in every way that was found, with HISTORIES=300 random histories of statistics
	export BROCOT_PLAN_HISTORIES=$(HISTORIES); $(TEST) --filter AttackTests

benchmark: dependencies ## Measure speed, cost and memory, as ratios to what else PostgreSQL could do (20 minutes)
	swift build -c release
	for what in draining positions list-sizes pages waking-up fairness held-horizon memory idle at-once busy import; do "$$(swift build -c release --show-bin-path)/Comparison" $$what || exit 1; done

COMPARE = swift build -c release --product brocot && swift build -c release --product LibraryMoves && Benchmarks/Peers/prepare && \
	.build/bench/venv/bin/python Benchmarks/Peers/bench.py $(if $(RECORDINGS),--recordings $(RECORDINGS)) $(ARGUMENTS)

bench: dependencies ## Compare Brocot with other ways to keep an order, into docs/benchmarks.md (an hour); RECORDINGS=folder
	$(COMPARE) --into $(or $(INTO),docs)

bench-quick: dependencies ## The same in under five minutes, into .build/bench/report, or INTO=folder; RECORDINGS=folder
	$(COMPARE) --quick --into $(or $(INTO),.build/bench/report)

instructions: dependencies ## Count the instructions of planning in memory, and compare with the committed numbers; UPDATE=1 writes them
	@.ci/instructions $(if $(UPDATE),--update)

simulation: dependencies ## Print what rebalancing costs, without a database; RECORDINGS=folder adds recorded editing
	swift run -c release RebalancingSimulator $(if $(RECORDINGS),--recordings $(RECORDINGS))

demo: dependencies ## Watch moves being applied to a small backlog, in a throwaway database
	swift run brocot demo

dev: dependencies ## Run a private PostgreSQL in .brocot/ with the daemon, until Ctrl-C
	swift run brocot dev

example: dependencies ## Run the Swift library's example against a throwaway database
	@swift build --quiet --product LibraryExample
	@swift run --quiet OnPrivateServer "$$(swift build --show-bin-path)/LibraryExample"

format: ## Format the Swift code in place
	swift format --in-place --recursive $(SWIFT_FOLDERS)

lint: ## Check the Swift code's format, as CI does
	swift format lint --strict --recursive $(SWIFT_FOLDERS)

clean: ## Delete what was built; the database in .brocot/ stays
	rm -rf .build .build-memory-check
