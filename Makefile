# Short names for what is done every day. Everything here also works as a plain
# go command; `.ci/run` is the whole check and needs no make.

GO       ?= go
LINT     := $(GO) tool -modfile=tools/go.mod golangci-lint
# Time for each fuzz target, as go test -fuzztime takes it.
FUZZTIME ?= 10s
# Which benchmarks to run.
BENCH    ?= .
# Which mutations to try.
MUTATE   ?= .

.DEFAULT_GOAL := help
.PHONY: help build test race lint fmt bench fuzz mutate cover ci clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "%-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## compile everything
	$(GO) build ./...

test: ## run the tests
	$(GO) test ./...

race: ## run the tests under the race detector (needs a C compiler)
	$(GO) test -race -short ./...

lint: ## check formatting, vet and lint
	$(LINT) fmt --diff
	$(GO) vet ./...
	$(LINT) run ./...

fmt: ## format every file with gofumpt
	$(LINT) fmt

bench: ## run benchmarks: BENCH=regexp
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...

# go test -list prints the names of a package's targets, then a line "ok package".
fuzz: ## run every fuzz target for FUZZTIME
	@set -e; list=$$($(GO) test -list '^Fuzz' ./...); \
	printf '%s\n' "$$list" | awk '/^Fuzz/ { name[n++] = $$1 } /^ok/ { for (i = 0; i < n; i++) print $$2, name[i]; n = 0 }' | \
	while read -r pkg name; do \
		echo "$$pkg $$name"; \
		$(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime '$(FUZZTIME)' "$$pkg" </dev/null || exit 1; \
	done

mutate: ## show that the tests notice deliberate defects: MUTATE=regexp
	$(GO) run ./internal/mutate -run '$(MUTATE)'

cover: ## say how much of the code the tests run
	$(GO) test -coverprofile=cover.prof ./...
	$(GO) tool cover -func=cover.prof | tail -n 1

ci: ## run the whole check
	.ci/run

clean: ## remove what the targets leave behind
	rm -rf clew cover.prof dist
