package logins

import (
	"bufio"
	"database/sql"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // to expire leases

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/provider"
)

// durable are the stores that outlive a server.
var durable = places[1:]

// host is a server that is a process, through all of its lives.
type host struct {
	*testing.T
	database string
	environ  []string
	process  *exec.Cmd
}

// launch starts the server and returns a world with it.
func (h *host) launch(p *provider.Provider) *world {
	h.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), h.environ...), os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		h.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		h.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		h.Fatal(err)
	}
	h.process = cmd
	h.Cleanup(func() {
		stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	port, ok := strings.CutPrefix(strings.TrimSpace(line), "API server started on port ")
	if !ok {
		h.Fatalf("the server does not start: %q, %v", line, err)
	}
	return &world{T: h.T, provider: p, base: "http://127.0.0.1:" + port}
}

// kill is kill -9, and the expiry of what the server holds: the leases of its runs, and
// the locks of logins. They are long, because a server that lives must keep them on a
// busy machine too.
func (h *host) kill() {
	h.Helper()
	if err := h.process.Process.Kill(); err != nil {
		h.Fatal(err)
	}
	_ = h.process.Wait()
	driver, source, queries := "pgx", h.database, []string{
		"UPDATE parley_runs SET lease = '-infinity' WHERE status = 'running'",
		"UPDATE parley_secrets SET stored = stored - interval '1 day' WHERE sealed = 'held'",
	}
	if path, ok := strings.CutPrefix(h.database, "sqlite://"); ok {
		driver, source, queries = "sqlite", path, []string{
			"UPDATE runs SET lease = 0 WHERE status = 'running'", "UPDATE secrets SET stored = 0 WHERE sealed = CAST('held' AS BLOB)",
		}
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		h.Fatal(err)
	}
	defer db.Close()
	for _, query := range queries {
		if _, err := db.ExecContext(h.Context(), query); err != nil {
			h.Fatal(err)
		}
	}
}

// crashing runs a test with a server that can be killed, on every durable store
// and with each of the applications.
func crashing(t *testing.T, apps []string, test func(h *host, p *provider.Provider, app string)) {
	t.Helper()
	for _, place := range durable {
		for _, app := range apps {
			t.Run(place+"/"+app, func(t *testing.T) {
				t.Parallel()
				crashingIn(t, place, app, test)
			})
		}
	}
}

func crashingIn(t *testing.T, place, app string, test func(h *host, p *provider.Provider, app string)) {
	t.Helper()
	p := provider.Start(t, provider.Options{RedirectURIs: []string{redirect}, RequirePKCE: true})
	id, secret := p.Client()
	db, key := open(t, place)
	h := &host{T: t, database: db, environ: []string{
		"PARLEY_TEST_SERVER=1", "PARLEY_TEST_DB=" + db, "PARLEY_TEST_KEY=" + key,
		"PARLEY_TEST_ISSUER=" + p.Issuer(), "PARLEY_TEST_CLIENT=" + id, "PARLEY_TEST_SECRET=" + secret,
	}}
	if name, ok := strings.CutPrefix(app, typescript); ok {
		h.environ = append(h.environ, "PARLEY_TEST_AGENTS="+filepath.Join("..", "..", "testdata", "login", name), "PARLEY_TEST_APP="+app, "PARLEY_TEST_CACHE="+t.TempDir(),
			"CALENDAR_AUTH_URL="+p.AuthURL(), "CALENDAR_TOKEN_URL="+p.TokenURL(), "CALENDAR_ISSUER="+p.Issuer()+provider.DiscoveryPath,
			"CALENDAR_CLIENT_ID="+id, "CALENDAR_CLIENT_SECRET="+secret, "CALENDAR_HOST="+p.Issuer(), "CALENDAR_API="+p.Issuer()+provider.APIPath)
	}
	test(h, p, app)
}

// typescript is what the names of applications in TypeScript begin with; the
// names of their directories follow.
const typescript = "typescript_"

// inBothLanguages are tools that are written by hand, and made of a document.
var inBothLanguages = []string{custom, typescript + "custom", typescript + "documented"}

// at is the talk with a server that was started again.
func (c *talk) at(w *world) *talk {
	moved := *c
	moved.client = testkit.NewClient(c.T, w.base)
	moved.send = moved.collected
	return &moved
}

// begin starts a run that is not waited for, and returns its address.
func (c *talk) begin(part object) string {
	c.Helper()
	accepted := c.client.Do(c.T, http.MethodPost, c.path()+"/runs", c.request(part)).Want(c.T, http.StatusAccepted)
	return accepted.Header.Get("Location")
}

// ended waits for the end of a run, and returns its events.
func (c *talk) ended(run string) (events []*event.Event) {
	c.Helper()
	testkit.Eventually(c.T, "the end of the run", func() bool {
		var row struct{ Status string }
		c.client.Do(c.T, http.MethodGet, run, nil).Want(c.T, http.StatusOK).Into(c.T, &row)
		return row.Status != "queued" && row.Status != "running"
	})
	for _, ev := range c.stored() {
		if strings.HasSuffix(run, "/"+ev.InvocationID) && ev.Author != event.User {
			events = append(events, ev)
		}
	}
	return events
}

// The server dies while the user logs in.
func TestKilledBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	crashing(t, inBothLanguages, func(h *host, p *provider.Provider, app string) {
		t := h.T
		c := h.launch(p).talk(t, app, "s")
		a := c.asked(c.say("call list_events"))
		h.kill()
		callback := c.visit(a, true)
		c = c.at(h.launch(p))
		c.done(c.send(a.answer(callback)), 1)
		h.kill()
		c = c.at(h.launch(p))
		if events := c.say("call list_events"); len(c.asks(events)) != 0 {
			t.Errorf("the login is forgotten: %q", texts(events))
		}
	})
}

// The server dies when the answer has been accepted and its turn has not come.
func TestKilledBeforeTheRun(t *testing.T) {
	t.Parallel()
	crashing(t, []string{custom}, func(h *host, p *provider.Provider, app string) {
		t := h.T
		c := h.launch(p).talk(t, app, "s")
		a := c.asked(c.say("call list_events"))
		busy := c.begin(object{"text": "call block"})
		run := c.begin(a.answer(c.visit(a, true)))
		h.kill()
		if n := len(p.Requests(provider.TokenPath)); n != 0 {
			t.Fatalf("%d calls of the token endpoint", n)
		}
		c = c.at(h.launch(p))
		c.client.Do(t, http.MethodPost, busy+"/cancel", nil)
		c.done(c.ended(run), 1)
	})
}

// The server dies while the provider is asked for the tokens.
func TestKilledInTheExchange(t *testing.T) {
	t.Parallel()
	crashing(t, inBothLanguages, func(h *host, p *provider.Provider, app string) {
		t := h.T
		c := h.launch(p).talk(t, app, "s")
		a := c.asked(c.say("call list_events"))
		answer := a.answer(c.visit(a, true))
		hanging := p.Break(provider.TokenPath, provider.Fault{Hang: true, Times: 1})
		run := c.begin(answer)
		<-hanging.Reached()
		h.kill()
		c = c.at(h.launch(p))
		c.done(c.ended(run), 1)
		if got := p.Counts().Exchanges; got != 1 {
			t.Errorf("%d exchanges", got)
		}
		c.post(answer).Want(t, http.StatusConflict)
	})
}
