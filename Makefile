# Everything that zarf-host needs is built or installed here, pinned, and cached by content: the
# second run of each target takes seconds. `make demo` and `make test` are enough on a fresh machine
# that has Go, make and git.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := build

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LINT    := go tool -modfile=.ci/tools.mod golangci-lint

# Packages without slow integration tests: everything but those that need the control plane.
.PHONY: all build plugins devcluster devregistry demo test test-short bench chaos conformance lint fmt clean FORCE

all: build plugins devcluster

build: bin/zarf-host ## the program

bin/zarf-host: FORCE
	@CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o $@ ./cmd/zarf-host

PLUGINS := $(notdir $(patsubst %/plugin.yaml,%,$(wildcard plugins/*/plugin.yaml)))
# Those in other languages are built where their compilers are.
# Cargo keeps what it compiles where the tests look for it too.
CARGO   := CARGO_TARGET_DIR=$${XDG_CACHE_HOME:-$$HOME/.cache}/zarf-host/guests/cargo
OTHERS  := $(filter %-c %-rust,$(PLUGINS))

plugins: $(patsubst %,bin/plugins/%.wasm,$(filter-out $(OTHERS),$(PLUGINS))) $(OTHERS:%=plugin-%) ## the shipped plugins

bin/plugins/%.wasm: bin/zarf-host FORCE
	@mkdir -p bin/plugins
	@bin/zarf-host plugin build plugins/$* --output $@ >/dev/null

plugin-%: bin/zarf-host FORCE
	@mkdir -p bin/plugins
	@if .ci/toolchains $(lastword $(subst -, ,$*)); then $(CARGO) bin/zarf-host plugin build plugins/$* --output bin/plugins/$*.wasm >/dev/null; \
	else echo "plugins/$* is not built: its compiler is not here; .ci/toolchains gets it where it can"; fi

devcluster: bin/devcluster ## a real Kubernetes control plane in one binary

bin/devcluster: FORCE
	@cmd/devcluster/build $(CURDIR)/bin/devcluster

devregistry: bin/devregistry ## a real registry, for tests

bin/devregistry: FORCE
	@cmd/devregistry/build $(CURDIR)/bin/devregistry

bin/packagedir: FORCE
	@CGO_ENABLED=0 go build -trimpath -o $@ ./host/internal/packagetest/packagedir

demo: bin/zarf-host bin/plugins/guard.wasm bin/devcluster bin/packagedir ## the main job, from start to end
	@examples/01-guarded-prune/run

# The race detector needs a C compiler; root on a Debian machine gets one, others go without.
test: bin/zarf-host bin/plugins/guard.wasm bin/devcluster bin/devregistry bin/packagedir ## all tests
	@.ci/test all

test-short: bin/zarf-host bin/plugins/guard.wasm bin/devregistry ## the tests that need no control plane
	@.ci/test short

bench: plugins bin/devcluster bin/devregistry ## the speeds that we claim, as ratios
	@go test -run '^$$' -bench . -benchtime 3x ./host/bundle ./host/plan ./host/wasm ./host/validate ./host/registry ./host/internal/airgap

CORPUS ?= ../shared/corpus

conformance: ## agreement with a labelled corpus, class by class, and each disagreement: make conformance CORPUS=DIR
	@go test -count=1 -v -run '^TestConformance$$' ./host/validate -corpus $(abspath $(CORPUS))

chaos: bin/zarf-host bin/plugins/guard.wasm bin/devcluster bin/devregistry ## kill the program at every mutating request
	@.ci/test chaos

lint:
	@test -z "$$(gofmt -l cmd host plugins schema examples | tee /dev/stderr)"
	@go vet ./... github.com/zarf-host/zarf-host/plugins/sdk/...
	@cd plugins/sdk && GOOS=wasip1 GOARCH=wasm go vet ./...
	@$(LINT) run ./...
	@cd plugins/sdk && go tool -modfile=../../.ci/tools.mod golangci-lint run -c ../../.golangci.yml ./...

fmt:
	@gofmt -w cmd host plugins schema examples

clean:
	@rm -rf bin .demo
