# Everything that is done to this repository, by name. CI calls the same targets.

# The race detector needs a C compiler; without one the tests run without it.
RACE := $(if $(shell command -v $(shell go env CC) 2>/dev/null),-race)
RACED_GO := $(if $(RACE),CGO_ENABLED=1) go
# The JavaScript engine and SQLite are C transpiled to Go. With the race detector's
# code in them, they are some ten times slower, and it would find no mistake of ours.
RACED_FLAGS := $(if $(RACE),$(RACE) '-gcflags=modernc.org/...=-race=false -d=checkptr=0')
RACED_TEST := $(RACED_GO) test -vet=off -timeout 60m $(RACED_FLAGS)
FUZZTIME ?= 10s

# Only the race detector needs cgo. All else is compiled once, as it is released: with
# cgo, every dependency would be compiled again.
export CGO_ENABLED := 0

# The compiler takes a sixth less time if it collects less garbage. Tests inherit no such
# setting: what they need is compiled before they start.
COMPILE := GOGC=300
# Releases are built with it (.goreleaser.yaml). Without it, the tracing of gRPC, which nothing
# uses, makes the program 11 MB larger, and its resident memory 20 MB.
RELEASED := -tags grpcnotrace
LINT := go tool -modfile=tools/go.mod golangci-lint

.PHONY: help
help: ## Show this help
	@awk -F ':.*## ' '/^[a-z\/]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: ## Start the weather example on port 8000
	go run ./cmd/parley api_server --agent_dir examples/weather --offline

.PHONY: build
build: ## Compile everything, without cgo
	$(COMPILE) go build ./...

# Packages that check leaves out: they need a browser, kill processes, start
# databases or run much JavaScript. -short leaves out single tests of that kind.
SLOW := (/parley|/chaos|/charts|/clients|/bench|/cmd/parley|/examples|/examples/calendar|/conformance/logins|/internal/script|/internal/script/engine|/session/postgres|/session/agentengine|/internal/testkit/hostile|/internal/testkit/pgtest|/internal/webui/e2e|/packaging/npm)$$

# go vet runs all of its checks on all packages; go test would repeat some. The linters
# include them, so that test leaves them to lint.
.PHONY: check
check: ## Build, vet, and run the quick tests
	go vet ./...
	go test -vet=off -short $$(go list ./... | grep -v -E '$(SLOW)')

# As root on Debian, these install the programs that they need (Postgres, Node.js,
# Chromium, jq). A plain go test does not, and check does not.
test test/plain test/raced test/postgres chaos soak bench bench/before: export PARLEY_TEST_INSTALL ?= 1

# Packages that start goroutines or share values among them. They are tested with
# the race detector, all others without: it compiles every dependency once more. Those
# whose dependencies take a minute to compile are tested without it, too: the package
# parley, and the clients of model providers.
RACED := ./agent ./agent/workflow ./artifact ./chaos ./conformance ./internal/access ./internal/bounded ./internal/broker/... ./internal/eval \
	./internal/lru ./internal/outbox ./internal/peer ./internal/retry ./internal/run/... ./internal/schedule ./internal/script/adk ./internal/script/engine/arena ./internal/script/node ./internal/server ./internal/sessionrt ./internal/sharelink \
	./internal/telemetry ./internal/trigger ./model/internal/... ./model/offline ./model/openai ./model/scripted ./session ./session/memstore ./session/postgres ./tool ./tool/code ./tool/code/container ./tool/mcp ./tool/openapi ./tool/skill

# Tests of packages above that the race detector slows down most, and that are run
# without it: an artifact with many bytes, and days of a simulated clock.
NOT_RACED := ^(TestLargeArtifact|TestGiveUp|TestOverGivenUp|TestApplicationGiveUp)$$

# These compute for long, make many calls over HTTP, or write many bytes. They are tested
# without the race detector, and what of them has concurrency once more with it. The
# package that takes the longest is the first. Tests with the race detector do not link
# the libraries of model providers: they take a minute to compile (link_race_test.go).
SOME_RACED := ./internal/script ./internal/script/engine ./internal/script/host ./internal/cli ./session/sqlite \
	./tool/code/javascript ./internal/face/mcp
SOME_TESTS := TestCallsInterleave|TestCancelReachesTheCode|TestEngines|TestWatchdog|TestHangingFetches
SOME_TESTS := $(SOME_TESTS)|TestConversation|TestEndOfInput|TestInterrupt(edWhile|Between|Within|Ends)|TestDeployInterrupted
SOME_TESTS := $(SOME_TESTS)|TestStore/(Log|Begin|Claim)|TestWriter|TestExecuteIsFresh|TestExecuteWritesFiles|TestCancel|TestListen|TestSoon|TestTasks

# Packages that wait for long or take long. They start first, the longest two before all: the
# others fill the gaps, one more at a time than there are processors on a small machine.
LONG := ./internal/script ./internal/webui/e2e ./conformance/logins ./internal/script/differential ./clients ./bench

# The tests with and without the race detector run side by side, so that packages which
# wait for other processes, or for time, leave the processors to others.
.PHONY: test
test: ## Run all tests
	@$(MAKE) --no-print-directory -j 2 test/plain test/raced

.PHONY: test/plain
test/plain:
	@$(COMPILE) go list -export -deps -test ./... > /dev/null
	go test -p 3 -vet=off -timeout 60m $(LONG) $$(go list ./... | grep -v -x -F "$$(go list $(RACED))")
	go test -vet=off -timeout 60m -run '$(NOT_RACED)' ./conformance ./internal/outbox

.PHONY: test/raced
test/raced:
	@$(COMPILE) $(RACED_GO) list $(RACED_FLAGS) -export -deps -test $(RACED) $(SOME_RACED) ./conformance/logins ./session/agentengine > /dev/null
	$(RACED_TEST) -skip '$(NOT_RACED)' ./session/postgres ./chaos ./conformance $(RACED)
	$(RACED_TEST) -run '$(SOME_TESTS)' $(SOME_RACED)
	$(RACED_TEST) -run '/memory' ./conformance/logins
	$(RACED_TEST) -run 'TestStore/(Create|State|Delete)|TestShared|Test[^S]' ./session/agentengine

.PHONY: test/kms
test/kms: ## Test the clients of key management services, which most builds leave out
	go test -tags kms ./internal/broker/vault/keyring

# The versions of Postgres other than the one that is installed are packages for npm.
# Their programs cannot make a standby, so TestPromotion and TestUnconfirmedCommits are
# left to make test.
.PHONY: test/postgres
test/postgres: ## Test the store on all versions of Postgres, and the whole of it through PgBouncer
	for version in 15 16 17 18; do \
		echo "Postgres $$version"; PARLEY_TEST_POSTGRES=$$version go test -vet=off -count 1 -timeout 30m \
			-skip '^(TestPromotion|TestUnconfirmedCommits|TestPooler|TestNewest)$$' ./session/postgres || exit 1; \
	done
	go test -vet=off -count 1 -timeout 30m -run '^TestPooler$$' ./session/postgres -postgres.long

.PHONY: lint
lint: ## Check the words, and run the linters
	tools/words.sh
	$(LINT) run

.PHONY: format
format: ## Format the code
	$(LINT) fmt

# FUZZTIME may also be a number of inputs, such as 5000x. CI gives one: occasionally
# Go takes the end of the time for a failure.
.PHONY: fuzz
fuzz: ## Fuzz every decoder for FUZZTIME each
	@go list -f '{{$$p := .}}{{range .TestGoFiles}}{{$$p.ImportPath}} {{$$p.Dir}}/{{.}}{{"\n"}}{{end}}{{range .XTestGoFiles}}{{$$p.ImportPath}} {{$$p.Dir}}/{{.}}{{"\n"}}{{end}}' ./... | \
	while read -r package file; do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$$file"); do \
			echo "$$package $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1000x "$$package" || exit 1; \
		done; \
	done

# The short form is a part of the tests.
CHAOS ?= 5m

.PHONY: chaos
chaos: ## Kill servers and databases for CHAOS, and look what is left
	$(RACED_GO) test $(RACED_FLAGS) -v -count 1 -timeout 0 ./chaos -chaos.long -chaos.duration $(CHAOS)

# What is released, as .goreleaser.yaml builds it. Not a part of the tests: it
# compiles everything six times. A program that grows by ten megabytes at once most
# likely has a template in it: go build -ldflags=-dumpdep tells where it says
# ReflectMethod.
LARGEST := 65000000

.PHONY: release/check
release/check: ## Build what is released, and check its size and version
	@tmp=$$(mktemp -d) && trap 'rm -r "$$tmp"' EXIT && \
	for os in linux darwin windows; do for arch in amd64 arm64; do \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch go build -trimpath $(RELEASED) -ldflags '-s -w -X github.com/parley-run/parley.version=v0.0.0-check' \
			-o "$$tmp/parley" ./cmd/parley || exit 1; \
		size=$$(wc -c < "$$tmp/parley"); echo "$$os/$$arch $$size bytes"; \
		test $$size -lt $(LARGEST) || { echo "it must be less than $(LARGEST)"; exit 1; }; \
		if test $$os/$$arch = $$(go env GOHOSTOS)/$$(go env GOHOSTARCH); then \
			"$$tmp/parley" version | grep -q '^parley v0.0.0-check ' || { echo "the version is not stamped"; exit 1; }; \
		fi; \
	done; done

.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities in what is linked; needs the network
	go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...

.PHONY: bench
bench: ## Measure Parley beside a bare net/http server
	go run $(RELEASED) ./bench

# The last version that committed the changes of each session by themselves. The aims
# are four times its runs a second on Postgres with 64 clients, and 1.5 times on SQLite.
BEFORE ?= ce0f1809

.PHONY: bench/before
bench/before: ## Measure the load on databases beside the version BEFORE; needs its commit
	@tmp=$$(mktemp -d) && trap 'git worktree remove --force "$$tmp/tree"; rm -r "$$tmp"' EXIT && \
	git worktree add --quiet --detach "$$tmp/tree" $(BEFORE) && \
	(cd "$$tmp/tree" && go build $(RELEASED) -o "$$tmp/bench" ./bench) && \
	go run $(RELEASED) ./bench -only load_postgres,load_sqlite -before "$$tmp/bench"

# By hand, not a part of the tests: it installs other servers.
.PHONY: conformance/peers
conformance/peers: ## Compare with adk-js and adk-go, into docs/comparison.md; needs npm and the network
	go run ./conformance/peers

# The short form is a part of the tests.
SOAK ?= 10m

.PHONY: soak
soak: ## Run three servers at half of their speed for SOAK, and see whether they grow
	go run $(RELEASED) ./bench soak -for $(SOAK)

.PHONY: generate
generate: ui guide ## Refresh the JavaScript that the binary carries; needs npm
	internal/script/js/third_party/update.sh

.PHONY: ui
ui: ## Build the developer UI from web/; needs npm
	cd web && npm ci && npm run types && npm run build
	go run ./internal/webui/pack web/dist/ui internal/webui/dist

.PHONY: guide
guide: ## Build the documentation from docs/ that the server serves; needs npm
	cd web && npm ci && npm run types && npm run guide
	go run ./internal/webui/pack web/dist/guide internal/webui/guide

# The pictures are in web/screenshots.
.PHONY: picture
picture: ## Take the picture of the UI that the README shows
	PICTURES=1 go test -count 1 ./internal/webui/e2e
	cp web/screenshots/workbench-light.png docs/workbench.png

.PHONY: api
api: ## List the public Go API in api/go.txt, and convert the HTTP contract to JSON
	go run ./api/goapi > api/go.txt
	go run ./api/openapijson api/openapi > api/openapi.json.new
	mv api/openapi.json.new api/openapi.json

.PHONY: verify
verify: ## Check that what is derived from other files is up to date
	@if command -v npm >/dev/null; then \
		tmp=$$(mktemp -d) && internal/script/js/third_party/update.sh "$$tmp" && diff -r -x update.sh "$$tmp" internal/script/js/third_party && rm -r "$$tmp"; \
	else echo "npm is not there: the JavaScript packages are not checked"; fi
	@if command -v npm >/dev/null; then \
		$(MAKE) ui && test -z "$$(git status --porcelain internal/webui/dist)" || { git status --short internal/webui/dist; echo "run: make ui"; exit 1; }; \
	else echo "npm is not there: the developer UI is not checked"; fi
	@if command -v npm >/dev/null; then \
		(cd web && npm run guide) && go run ./internal/webui/pack web/dist/guide internal/webui/guide && test -z "$$(git status --porcelain internal/webui/guide)" || { git status --short internal/webui/guide; echo "run: make guide"; exit 1; }; \
	else echo "npm is not there: the guide is not checked"; fi
	@if command -v npm >/dev/null; then \
		go test -count 1 -run 'TestTypeScriptPackage' ./clients; \
	else echo "npm is not there: the client for TypeScript is not built"; fi
	@if command -v npm >/dev/null; then \
		go test -count 1 -run 'TestExports' ./internal/script/differential || exit 1; \
		have=$$(sed -n 's/.*"@google\/adk": "\(.*\)".*/\1/p' internal/script/differential/testdata/package.json); new=$$(npm view @google/adk version 2>/dev/null); \
		if test -n "$$new" && test "$$new" != "$$have"; then \
			echo "WARNING: @google/adk $$new is there, and agents are compared with $$have. What is new:"; \
			go test -count 1 -v -run 'TestNewestExports' ./internal/script/differential -args -newest "$$new" | grep -E 'exports|NEW EXPORT' || echo "its exports could not be read"; fi; \
	else echo "npm is not there: the exports of @google/adk are not compared"; fi
	@go run ./api/openapijson api/openapi | diff -u api/openapi.json - || { echo "the HTTP contract has changed: run make api"; exit 1; }
	@go run ./api/goapi | diff -u api/go.txt - || { echo "the public Go API has changed: run make api"; exit 1; }
	go mod tidy -diff
	go mod verify
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run: make format"; exit 1; }
