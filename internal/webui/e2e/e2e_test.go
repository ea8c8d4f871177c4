package e2e

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/nodejs"
	"github.com/parley-run/parley/internal/testkit/provider"
)

// web is where the sources are.
const web = "../../../web"

func TestMain(m *testing.M) { testkit.Main(m, chromium.close) }

// chromium is the browser of all tests. Its contexts keep them apart.
var chromium browser

type browser struct {
	once    sync.Once
	address string
	input   io.Closer // it ends when this does
	process *exec.Cmd
}

// start returns the address of the browser, which is started for the first test.
func (b *browser) start(t *testing.T) string {
	t.Helper()
	b.once.Do(func() {
		// The shell has no windows to draw, which halves the time of the processor.
		program := testkit.Program(t, "Chromium", "chromium-headless-shell",
			"chromium-headless-shell", "chrome-headless-shell", "chromium", "chromium-browser", "google-chrome")
		cmd := exec.Command(nodejs.Node(t), "e2e/browser.js")
		cmd.Dir = web
		cmd.Env = append(cmd.Environ(), "CHROMIUM="+program)
		input, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		output, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		var problems testkit.Buffer
		cmd.Stderr = &problems
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		b.input, b.process = input, cmd
		line, err := bufio.NewReader(output).ReadString('\n')
		if err != nil {
			t.Fatalf("start the browser: %v\n%s", err, problems.String())
		}
		b.address = strings.TrimSpace(line)
	})
	if b.address == "" {
		t.Fatal("the browser could not be started")
	}
	return b.address
}

func (b *browser) close() {
	if b.process != nil {
		_ = b.input.Close()
		_ = b.process.Wait()
	}
}

// TestBrowser goes through all screens, as a user with a browser does. Pictures of
// them are in web/screenshots afterwards with PICTURES=1; of those of a test that
// has failed, always.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	t.Parallel()
	install(t)
	keysURL := "sqlite://" + filepath.Join(t.TempDir(), "keys.db")
	key := makeKey(t, keysURL, parley.NewAPIKey{User: "bob"})
	reader := makeKey(t, keysURL, parley.NewAPIKey{Scopes: []string{"read", "users"}})
	reviewer := makeKey(t, keysURL, parley.NewAPIKey{User: "rita", Scopes: []string{"review", "users"}})
	newStage(t, "").vitest(t,
		"OIDC="+gated(t, func(cfg *parley.Config) {
			issuer := provider.Start(t, provider.Options{RequirePKCE: true})
			id, secret := issuer.Client()
			cfg.Access.Mode = parley.AccessOIDC
			cfg.Access.OIDC = parley.OIDC{Issuers: []string{issuer.Issuer()}, ClientID: id, ClientSecret: secret, Admins: []string{"email=root@example.com"}}
		}),
		"KEYS="+gated(t, func(cfg *parley.Config) { cfg.Access.Mode, cfg.Access.KeysURL = parley.AccessKeys, keysURL }), "KEY="+key, "READER="+reader, "REVIEWER="+reviewer,
		"PUBLIC="+gated(t, func(cfg *parley.Config) { cfg.Access.Mode = parley.AccessPublic }),
	)
}

// TestLogic tests what the screens are made of, without a browser.
func TestLogic(t *testing.T) {
	t.Parallel()
	install(t)
	nodejs.Vitest(t, web, "vite.config.ts")
}

// install gets the JavaScript packages, unless they are there.
func install(t *testing.T) {
	t.Helper()
	nodejs.Remember(t, filepath.Join(web, "src"), filepath.Join(web, "e2e"), filepath.Join(web, "..", "clients", "typescript", "src"))
	installing.Lock()
	defer installing.Unlock()
	nodejs.Install(t, web)
}

var installing sync.Mutex

// stage is the server that the tests look at, once more at an address where it
// can be lost, and a second one with which they pull its strings.
type stage struct {
	server, fragile, control *httptest.Server

	dir string // of the applications in TypeScript

	down  atomic.Bool // of fragile
	mu    sync.Mutex
	gates map[string]chan struct{}
}

// vitest drives a browser over the servers.
func (s *stage) vitest(t *testing.T, environ ...string) {
	t.Helper()
	nodejs.Vitest(t, web, "e2e/vitest.config.ts", append(environ,
		"BASE="+s.server.URL, "FRAGILE="+s.fragile.URL, "CONTROL="+s.control.URL, "BROWSER="+chromium.start(t))...)
}

// newStage starts the servers, with the UI in a directory or our own.
func newStage(t *testing.T, ui string) *stage {
	t.Helper()
	s := &stage{gates: map[string]chan struct{}{}, dir: applications(t)}
	login := provider.Start(t, provider.Options{RequirePKCE: true})
	agents := testkit.NewFixture().Apps()
	agents["teller"], agents["calendar"], agents["asker"], agents["painter"], agents["press"], agents["coder"] = s.teller(), calendar(login), asker(), painter(), s.press(), coder()
	agents["clerk"] = s.clerk()
	agents["spender"] = spender()
	agents["workshop"] = workshop()
	srv, err := parley.Open(t.Context(), parley.Config{
		Limits: parley.Limits{WarnDayCost: 0.001},
		Agents: agents, Models: s.sellers(), Scripts: parley.ScriptConfig{Dir: s.dir, Reload: true}, Offline: true, UI: parley.UIConfig{Enabled: true, Dir: ui},
		Logins:  parley.LoginConfig{AllowPrivate: []string{"127.0.0.0/8", "::1/128"}},
		Network: parley.NetworkConfig{AllowPrivateWebhooks: []string{"127.0.0.0/8", "::1/128"}},
		Log:     slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		t.Fatal(err)
	}
	handler := srv.Handler()
	s.server = httptest.NewServer(handler)
	s.fragile = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.down.Load() {
			panic(http.ErrAbortHandler)
		}
		handler.ServeHTTP(w, r)
	}))
	s.control = httptest.NewServer(s.strings())
	t.Cleanup(func() {
		s.control.Close()
		s.server.CloseClientConnections()
		s.fragile.CloseClientConnections()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		srv.Close(ctx)
		s.server.Close()
		s.fragile.Close()
	})
	return s
}

// gated is the address of a server that wants to know who calls.
func gated(t *testing.T, configure func(*parley.Config)) string {
	t.Helper()
	cfg := parley.Config{Agents: testkit.NewFixture().Apps(), UI: parley.UIConfig{Enabled: true}, Log: slog.New(slog.DiscardHandler)}
	configure(&cfg)
	srv, err := parley.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	listening := httptest.NewServer(srv.Handler())
	t.Cleanup(func() {
		listening.CloseClientConnections()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		srv.Close(ctx)
		listening.Close()
	})
	return listening.URL
}

// makeKey makes an API key.
func makeKey(t *testing.T, url string, key parley.NewAPIKey) string {
	t.Helper()
	keys, err := parley.OpenAPIKeys(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()
	text, _, err := keys.Create(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// strings are what the tests pull: the server goes and comes back, the code of an
// application changes, and a gate opens.
func (s *stage) strings() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /down", func(http.ResponseWriter, *http.Request) {
		s.down.Store(true)
		s.fragile.CloseClientConnections()
	})
	mux.HandleFunc("POST /up", func(http.ResponseWriter, *http.Request) { s.down.Store(false) })
	mux.HandleFunc("POST /write/{app}", func(w http.ResponseWriter, r *http.Request) {
		source, err := io.ReadAll(r.Body)
		if err == nil {
			err = os.WriteFile(filepath.Join(s.dir, filepath.Base(r.PathValue("app")), "index.ts"), source, 0o600)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	// A receiver of webhooks does not want any before its gate is open.
	mux.HandleFunc("POST /hook/{gate}", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-s.gate(r.PathValue("gate")):
		default:
			w.WriteHeader(http.StatusGone)
		}
	})
	mux.HandleFunc("POST /open/{gate}", func(_ http.ResponseWriter, r *http.Request) {
		gate := s.gate(r.PathValue("gate"))
		s.mu.Lock()
		defer s.mu.Unlock()
		select {
		case <-gate:
		default:
			close(gate)
		}
	})
	return mux
}

func (s *stage) gate(name string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gates[name] == nil {
		s.gates[name] = make(chan struct{})
	}
	return s.gates[name]
}

// applications is a directory with the examples, one that tests change, and one that is broken.
func applications(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, from := range map[string]string{"city": "weather", "story": "story", "tasks": "tasks", "approval": "approval", "desk": "workflow"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join("../../../examples", from))); err != nil {
			t.Fatal(err)
		}
	}
	for name, end := range map[string]string{"changing": ",\n", "broken": "\n"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o750); err != nil {
			t.Fatal(err)
		}
		source := "import { LlmAgent } from '@google/adk';\n\nexport const rootAgent = new LlmAgent({\n  name: '" + name + "'" + end + "  model: 'gemini-2.5-flash',\n});\n"
		if err := os.WriteFile(filepath.Join(dir, name, "index.ts"), []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
