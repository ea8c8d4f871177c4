package peer_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/peer"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/leak"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/sqlite"
)

// TestMain has this process trust the certificate that servers of httptest have, as the
// administrator of a server does with that of an authority.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "peer-*")
	if err != nil {
		panic(err)
	}
	front := httptest.NewTLSServer(nil)
	front.Close()
	file := filepath.Join(dir, "authority.pem")
	doc := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw})
	err = errors.Join(os.WriteFile(file, doc, 0o600), os.Setenv("SSL_CERT_FILE", file))
	if err == nil {
		_, err = x509.SystemCertPool() // it is read once
	}
	if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
		panic(err)
	}
	leak.Main(m)
}

var key = session.Key{App: "app", User: "u", ID: "s"}

// node is a server: an engine that others reach over HTTP.
type node struct {
	*run.Engine
	t       *testing.T
	peer    *peer.Peer
	front   *httptest.Server
	feeds   atomic.Int32 // that are open
	opened  atomic.Int32
	handler atomic.Pointer[http.HandlerFunc] // in place of the peer, if there is one
	idle    *outage
}

// outage keeps a server from claiming runs, and from renewing its leases.
type outage struct {
	session.Store
	on atomic.Bool
}

var errOutage = errors.New("the store is not there")

func (o *outage) Renew(ctx context.Context) ([]session.Held, error) {
	if o.on.Load() {
		return nil, errOutage
	}
	return o.Store.Renew(ctx)
}

func (o *outage) Idle(ctx context.Context, limit int) ([]session.Key, error) {
	if o.on.Load() {
		return nil, errOutage
	}
	return o.Store.Idle(ctx, limit)
}

// cluster opens servers on one database.
type cluster struct {
	t     *testing.T
	path  string
	lease time.Duration // of the next server
	idle  bool          // it does not claim runs at first
	tls   *tls.Config   // nil for plain HTTP
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	return &cluster{t: t, path: filepath.Join(t.TempDir(), "parley.db"), lease: time.Minute}
}

// open opens a server with a model. address changes where others look for it.
func (c *cluster) open(name string, m model.Model, address ...string) *node {
	t := c.t
	t.Helper()
	n := &node{t: t}
	n.front = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if other := n.handler.Load(); other != nil {
			(*other)(w, r)
			return
		}
		n.feeds.Add(1)
		defer n.feeds.Add(-1)
		n.opened.Add(1)
		if !n.peer.Serve(w, r, n.Engine) {
			http.NotFound(w, r)
		}
	}))
	if c.tls == nil {
		n.front.Start()
	} else {
		n.front.TLS = c.tls
		n.front.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
		n.front.StartTLS()
	}
	n.peer = peer.New(append(address, n.front.URL)[0])
	inner, err := sqlite.Open(t.Context(), c.path, session.Options{Owner: name, Address: n.peer.Self(), Lease: c.lease, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	root, err := agent.NewLLM(agent.LLMConfig{Name: "a", Model: m})
	if err != nil {
		t.Fatal(err)
	}
	n.idle = &outage{Store: session.Cached(inner, 1<<20)}
	n.idle.on.Store(c.idle)
	n.Engine = run.NewEngine(run.Options{
		Store: session.NewStore(n.idle), Lease: time.Minute, Log: slog.New(slog.NewTextHandler(t.Output(), nil)).With("server", name),
		Agent: func(string) (*agent.Agent, error) { return root, nil }, Peers: n.peer,
	})
	t.Cleanup(func() {
		n.Shutdown(context.Background())
		_ = inner.Close()
		n.peer.Close()
		n.front.Close()
	})
	return n
}

func (n *node) start() *run.Run {
	n.t.Helper()
	if _, err := n.Create(n.t.Context(), session.NewSession{Key: key}, nil); err != nil {
		n.t.Fatal(err)
	}
	r, err := n.Start(n.t.Context(), run.Request{Key: key, Message: event.Text(event.RoleUser, "go"), Stream: true})
	if err != nil {
		n.t.Fatal(err)
	}
	return r
}

// follow reads the run at this server.
func (n *node) follow(r *run.Run) *run.Reader {
	n.t.Helper()
	reader, err := n.Follow(n.t.Context(), r.Key(), r.ID(), "")
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(reader.Close)
	return reader
}

// talker is a model that says a word each time it is told to, and ends when it is
// told no more.
type talker struct{ words chan string }

func newTalker() talker { return talker{make(chan string)} }

func (m talker) model() model.Model {
	return scripted.Func(func(ctx context.Context, _ *model.Request) iter.Seq2[*model.Response, error] {
		return func(yield func(*model.Response, error) bool) {
			whole := ""
			for {
				select {
				case word, ok := <-m.words:
					if !ok {
						last := model.Text(whole)
						last.FinishReason = "STOP"
						yield(last, nil)
						return
					}
					whole += word
					piece := model.Text(word)
					piece.Partial = true
					if !yield(piece, nil) {
						return
					}
				case <-ctx.Done():
					yield(nil, context.Cause(ctx))
					return
				}
			}
		}
	})
}

// next returns the next piece.
func next(t *testing.T, r *run.Reader) string {
	t.Helper()
	item, err := r.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if item.Piece == nil {
		t.Fatalf("got %s, want a piece", item.JSON)
	}
	return text(item.Piece)
}

func text(ev *event.Event) string {
	var all strings.Builder
	for _, p := range ev.Content.Parts {
		all.WriteString(p.Text)
	}
	return all.String()
}

// rest reads to the end: the pieces, in groups for each event, and the events.
func rest(t *testing.T, r *run.Reader) (items []string, row *session.Run) {
	t.Helper()
	for {
		item, err := r.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return items, r.Run()
		}
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, string(item.JSON))
	}
}

// A reader on another server gets what a reader on the worker's server gets, byte for
// byte.
func TestPieces(t *testing.T) {
	t.Parallel()
	c, says := newCluster(t), newTalker()
	a, b := c.open("a", says.model()), c.open("b", says.model())
	r := a.start()
	here, there := a.follow(r), b.follow(r)
	says.words <- "One "
	if got := next(t, there) + next(t, here); got != "One One " {
		t.Fatalf("got %q", got)
	}
	late := b.follow(r)
	for i := range 20 {
		says.words <- fmt.Sprintf("%d ", i)
		got, err := there.Next(t.Context())
		want, wantErr := here.Next(t.Context())
		if err != nil || wantErr != nil || string(got.JSON) != string(want.JSON) || got.EventID != want.EventID || got.Start != want.Start {
			t.Fatalf("got %s of %s, %v\nwant %s of %s, %v", got.JSON, got.EventID, err, want.JSON, want.EventID, wantErr)
		}
	}
	if got := next(t, late); !strings.HasPrefix(got, "One 0 1 ") {
		t.Errorf("a reader that comes later gets %q first", got)
	}
	says.words <- "end"
	for _, reader := range []*run.Reader{here, there, late} {
		if got := next(t, reader); !strings.HasSuffix(got, "end") {
			t.Errorf("the last piece is %q", got)
		}
	}
	close(says.words)
	want, _ := rest(t, here)
	got, row := rest(t, there)
	if !slices.Equal(got, want) || len(got) != 1 || row.Status != session.Completed {
		t.Errorf("got %s\n%q\nwant\n%q", row.Status, got, want)
	}
	if got, _ := rest(t, late); !slices.Equal(got, want) {
		t.Errorf("the later reader got\n%q\nwant\n%q", got, want)
	}
	if n := a.opened.Load(); n != 1 {
		t.Errorf("%d connections for two readers, want 1", n)
	}
	if runs, failures := b.Mirrored(); failures != 0 {
		t.Errorf("%d runs are followed, with %d failures", runs, failures)
	}
}

// Servers reach each other over TLS, if their addresses say so.
func TestTLS(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("which certificates are trusted is set by a variable of the environment only on Linux")
	}
	c, says := newCluster(t), newTalker()
	c.tls = &tls.Config{MinVersion: tls.VersionTLS13}
	a, b := c.open("a", says.model()), c.open("b", says.model())
	if !strings.HasPrefix(a.peer.Self(), "https://") {
		t.Fatalf("the address is %s", a.front.URL)
	}
	there := b.follow(a.start())
	for _, word := range []string{"one ", "two"} {
		says.words <- word
		if got := next(t, there); got != word {
			t.Errorf("got %q, want %q", got, word)
		}
	}
	close(says.words)
	if items, row := rest(t, there); len(items) != 1 || row.Status != session.Completed {
		t.Errorf("at the end: %q, %s", items, row.Status)
	}
	if _, failures := b.Mirrored(); failures != 0 {
		t.Errorf("%d failures", failures)
	}
}

// A server whose certificate is not trusted is not followed: its readers get whole events.
func TestUntrusted(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	c, says := newCluster(t), newTalker()
	c.tls = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	a, b := c.open("a", says.model()), c.open("b", says.model())
	there := b.follow(a.start())
	first := make(chan string, 1)
	go func() {
		item, err := there.Next(t.Context())
		first <- fmt.Sprintf("%s %v", item.JSON, err)
	}()
	says.words <- "one "
	testkit.Eventually(t, "the connection fails", func() bool { _, failures := b.Mirrored(); return failures > 0 })
	says.words <- "two"
	close(says.words)
	if got := <-first; !strings.Contains(got, "one two") || !strings.HasSuffix(got, "<nil>") {
		t.Errorf("got %s", got)
	}
	if items, row := rest(t, there); len(items) != 0 || row.Status != session.Completed {
		t.Errorf("at the end: %q, %s", items, row.Status)
	}
	if n := a.opened.Load(); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// The connection ends with the last reader.
func TestLastReader(t *testing.T) {
	t.Parallel()
	c, says := newCluster(t), newTalker()
	a, b := c.open("a", says.model()), c.open("b", says.model())
	r := a.start()
	one, two := b.follow(r), b.follow(r)
	says.words <- "x"
	next(t, one)
	next(t, two)
	one.Close()
	says.words <- "y"
	if got := next(t, two); got != "y" {
		t.Errorf("got %q", got)
	}
	two.Close()
	testkit.Eventually(t, "the connection ends", func() bool { runs, _ := b.Mirrored(); return runs == 0 && a.feeds.Load() == 0 })
	again := b.follow(r)
	if got := next(t, again); got != "xy" {
		t.Errorf("got %q, want the text so far", got)
	}
	close(says.words)
	rest(t, again)
}

// A connection that breaks is made again, and no text comes twice.
func TestReconnect(t *testing.T) {
	t.Parallel()
	c, says := newCluster(t), newTalker()
	a, b := c.open("a", says.model()), c.open("b", says.model())
	r := a.start()
	there := b.follow(r)
	said, got := "", ""
	for i := range 5 {
		word := fmt.Sprintf("word %d ", i)
		said += word
		says.words <- word
		for len(got) < len(said) {
			got += next(t, there)
		}
		if i%2 == 1 {
			a.front.CloseClientConnections()
		}
	}
	if got != said {
		t.Errorf("got %q, want %q", got, said)
	}
	if _, failures := b.Mirrored(); failures == 0 {
		t.Error("no connection was lost")
	}
	close(says.words)
	if items, row := rest(t, there); len(items) != 1 || row.Status != session.Completed {
		t.Errorf("at the end: %q, %s", items, row.Status)
	}
}

// Stored events do not wait for a server that cannot be reached, that does not answer,
// or that is another one by now.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0") // connections are not accepted
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for name, address := range map[string]string{"closed": closed.URL, "silent": "http://" + silent.Addr().String(), "invalid": "not an address"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, says := newCluster(t), newTalker()
			a, b := c.open("a", says.model(), address), c.open("b", says.model())
			r := a.start()
			there := b.follow(r)
			says.words <- "x"
			close(says.words)
			items, row := rest(t, there)
			if len(items) != 1 || strings.Contains(items[0], `"partial":true`) || row.Status != session.Completed {
				t.Errorf("got %q, %s", items, row.Status)
			}
		})
	}
}

// muted is an answer of which nothing more arrives from some time on.
type muted struct {
	http.ResponseWriter
	on *atomic.Bool
}

func (m muted) Unwrap() http.ResponseWriter { return m.ResponseWriter }

func (m muted) Write(b []byte) (int, error) {
	if m.on.Load() {
		return len(b), nil
	}
	return m.ResponseWriter.Write(b)
}

// Stored events come from the log also if the other server hangs in the middle of a
// text.
func TestHangs(t *testing.T) {
	t.Parallel()
	c, says := newCluster(t), newTalker()
	a, b := c.open("a", says.model()), c.open("b", says.model())
	var hang atomic.Bool
	var serve http.HandlerFunc = func(w http.ResponseWriter, r *http.Request) {
		a.peer.Serve(muted{w, &hang}, r, a.Engine)
		<-r.Context().Done()
	}
	a.handler.Store(&serve)
	r := a.start()
	there := b.follow(r)
	says.words <- "x"
	next(t, there)
	hang.Store(true)
	says.words <- "y"
	close(says.words)
	if items, row := rest(t, there); len(items) != 1 || row.Status != session.Completed {
		t.Errorf("got %q, %s", items, row.Status)
	}
}

// A server that does not read what it has asked for does not hold up the run, and gets
// what it has missed when it reads.
func TestSlowServer(t *testing.T) {
	t.Parallel()
	c, says := newCluster(t), newTalker()
	a, b := c.open("a", says.model()), c.open("b", says.model())
	r := a.start()
	row, err := b.Run(t.Context(), key, r.ID())
	if err != nil {
		t.Fatal(err)
	}
	feed, err := b.peer.Follow(t.Context(), row.Worker, run.FeedRequest{Key: key, Run: r.ID(), Epoch: row.Epoch})
	if err != nil {
		t.Fatal(err)
	}
	defer feed.Close()
	const words = 100
	word := strings.Repeat("x", 200<<10) // more than what is on its way fits into the buffers of the system
	for range words {
		says.words <- word
	}
	pieces, size := 0, 0
	for size < words*len(word) {
		item, err := feed.Next()
		if err != nil {
			t.Fatal(err)
		}
		if item.Start != size {
			t.Fatalf("a piece begins at %d, want %d", item.Start, size)
		}
		pieces, size = pieces+1, size+len(text(item.Piece))
	}
	t.Logf("%d words came in %d pieces", words, pieces)
	close(says.words)
	var item run.RemoteItem
	for err == nil {
		if item, err = feed.Next(); err == nil && item.Seq == 0 {
			t.Errorf("after the text: %+v", item)
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

// What answers at the address has to prove that it has the key, and does not learn it.
func TestUnprovenAnswer(t *testing.T) {
	t.Parallel()
	c, says := newCluster(t), newTalker()
	a, b := c.open("a", says.model()), c.open("b", says.model())
	asked := make(chan http.Header, 1)
	other := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- r.Header:
		default:
		}
		w.Header().Set("Parley-Peer", r.Header.Get("Parley-Peer"))
		_, _ = io.WriteString(w, `data: {"id":"x","start":0,"piece":{"author":"a","partial":true,"content":{"parts":[{"text":"false"}]},"customMetadata":{"pieceIndex":0}}}`+"\n\n")
	})
	a.handler.Store(&other)
	r := a.start()
	there := b.follow(r)
	sent := make(chan string, 1)
	go func() {
		says.words <- "x"
		sent <- fmt.Sprint(<-asked)
		close(says.words)
	}()
	if items, _ := rest(t, there); len(items) != 1 || !strings.Contains(items[0], `"text":"x"`) {
		t.Errorf("got %q", items)
	}
	if sent := <-sent; strings.Contains(sent, strings.SplitN(a.peer.Self(), "#", 2)[1]) {
		t.Errorf("the key was sent: %s", sent)
	}
}

// Only servers with the key are answered, each request once, and only for a run that is
// active there.
func TestServeRefuses(t *testing.T) {
	t.Parallel()
	c, says := newCluster(t), newTalker()
	a, b := c.open("a", says.model()), c.open("b", says.model())
	requests := make(chan string, 1)
	var served http.HandlerFunc = func(w http.ResponseWriter, r *http.Request) {
		select {
		case requests <- r.Header.Get("Parley-Peer"):
		default:
		}
		a.peer.Serve(w, r, a.Engine)
	}
	a.handler.Store(&served)
	r := a.start()
	there := b.follow(r)
	says.words <- "x"
	next(t, there)
	valid := <-requests
	ask := func(method, path, token string) (served bool, status int) {
		w := httptest.NewRecorder()
		req := httptest.NewRequest(method, path, http.NoBody)
		if token != "" {
			req.Header.Set("Parley-Peer", token)
		}
		return a.peer.Serve(w, req, a.Engine), w.Code
	}
	text, proof, _ := strings.Cut(valid, ".")
	for name, token := range map[string]string{
		"none": "", "without a proof": text, "with an empty proof": text + ".", "changed": text[:len(text)-2] + "AA." + proof,
		"of another key": text + "." + strings.Repeat("A", len(proof)), "too long": strings.Repeat("x", 1<<20),
	} {
		if served, _ := ask(http.MethodGet, "/.parley/feed", token); served {
			t.Errorf("a request with a token that is %s was answered", name)
		}
	}
	if served, _ := ask(http.MethodPost, "/.parley/feed", valid); served {
		t.Error("POST was answered")
	}
	if served, _ := ask(http.MethodGet, "/", valid); served {
		t.Error("another path was answered")
	}
	if served, status := ask(http.MethodGet, "/.parley/feed", valid); !served || status != http.StatusGone {
		t.Errorf("a request that was made before: %v, %d", served, status)
	}
	// The other way, from here to a server with another key.
	row, err := a.Run(t.Context(), key, r.ID())
	if err != nil {
		t.Fatal(err)
	}
	wrong := peer.New(a.front.URL)
	t.Cleanup(wrong.Close)
	if _, err := b.peer.Follow(t.Context(), wrong.Self(), run.FeedRequest{Key: key, Run: r.ID(), Epoch: row.Epoch}); err == nil {
		t.Error("a server with another key was followed")
	}
	for name, f := range map[string]run.FeedRequest{
		"another run":     {Key: key, Run: "x", Epoch: row.Epoch},
		"another session": {Key: session.Key{App: "app", User: "other", ID: "s"}, Run: r.ID(), Epoch: row.Epoch},
		"an old epoch":    {Key: key, Run: r.ID(), Epoch: row.Epoch - 1},
	} {
		if _, err := b.peer.Follow(t.Context(), a.peer.Self(), f); err == nil || !strings.Contains(err.Error(), "410") {
			t.Errorf("the feed of %s: %v", name, err)
		}
	}
	feed, err := b.peer.Follow(t.Context(), a.peer.Self(), run.FeedRequest{Key: key, Run: r.ID(), Epoch: row.Epoch})
	if err != nil {
		t.Fatal(err)
	}
	feed.Close()
	close(says.words)
	rest(t, there)
}

// A run without partial events is not followed again and again.
func TestNoPieces(t *testing.T) {
	t.Parallel()
	c, says := newCluster(t), newTalker()
	a, b := c.open("a", says.model()), c.open("b", says.model())
	if _, err := a.Create(t.Context(), session.NewSession{Key: key}, nil); err != nil {
		t.Fatal(err)
	}
	r, err := a.Start(t.Context(), run.Request{Key: key, Message: event.Text(event.RoleUser, "go")})
	if err != nil {
		t.Fatal(err)
	}
	row, err := b.Run(t.Context(), key, r.ID())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.peer.Follow(t.Context(), row.Worker, run.FeedRequest{Key: key, Run: r.ID(), Epoch: row.Epoch}); !errors.Is(err, run.ErrNoPieces) {
		t.Errorf("error %v", err)
	}
	there := b.follow(r)
	close(says.words)
	if items, row := rest(t, there); len(items) != 1 || row.Status != session.Completed {
		t.Errorf("got %q, %s", items, row.Status)
	}
}

// When a run changes hands in the middle of a text, readers anywhere see the text begin
// again, as they do on one server, and each event once.
func TestTakeover(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.lease, c.idle = -1, true // leases end at once
	first, second := newTalker(), newTalker()
	a := c.open("a", first.model())
	c.lease = time.Minute
	r := a.start()
	here := a.follow(r)
	first.words <- "never "
	next(t, here)
	b, third := c.open("b", second.model()), c.open("c", second.model())
	there, elsewhere := b.follow(r), third.follow(r)
	if got := next(t, there) + next(t, elsewhere); got != "never never " {
		t.Errorf("got %q", got)
	}
	b.idle.on.Store(false)
	readers := []*run.Reader{there, elsewhere, here}
	for _, word := range []string{"the ", "new ", "text"} {
		second.words <- word
		if word == "the " {
			close(first.words) // the first server learns that it has lost the run
		}
		for i, reader := range readers {
			if got := next(t, reader); got != word {
				t.Errorf("the reader %d got %q, want %q", i, got, word)
			}
		}
	}
	close(second.words)
	var last []string
	for _, reader := range readers {
		items, row := rest(t, reader)
		if len(items) != 1 || !strings.Contains(items[0], `"text":"the new text"`) || row.Status != session.Completed || row.Attempt != 2 {
			t.Errorf("%s at attempt %d: %q", row.Status, row.Attempt, items)
		}
		if last != nil && !slices.Equal(items, last) {
			t.Errorf("readers got %q and %q", items, last)
		}
		last = items
	}
}

// A reader that does not read costs its own server a position, and the worker nothing:
// what it has missed comes as one piece.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	c, says := newCluster(t), newTalker()
	a, b := c.open("a", says.model()), c.open("b", says.model())
	r := a.start()
	slow, fast := b.follow(r), b.follow(r)
	says.words <- "first "
	next(t, slow)
	next(t, fast)
	said, got := "", ""
	for i := range 2000 {
		word := fmt.Sprintf("word %d ", i)
		said += word
		says.words <- word
	}
	for len(got) < len(said) {
		got += next(t, fast)
	}
	if got != said {
		t.Error("the text of the fast reader is another one")
	}
	if got := next(t, slow); got != said {
		t.Errorf("the slow reader got a piece of %d bytes, want all %d", len(got), len(said))
	}
	close(says.words)
	rest(t, slow)
	rest(t, fast)
}

func TestAddress(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"10.0.0.7":              "http://10.0.0.7:8080",
		"fd00::7":               "http://[fd00::7]:8080",
		"[fd00::7]":             "http://[fd00::7]:8080",
		"[fd00::7]:9000":        "http://[fd00::7]:9000",
		"10.0.0.7:9000":         "http://10.0.0.7:9000",
		"a.agents.svc":          "http://a.agents.svc:8080",
		"http://10.0.0.7:9000":  "http://10.0.0.7:9000",
		"https://a.example":     "https://a.example",
		"https://a.example/":    "https://a.example",
		"http://[fd00::7]:9000": "http://[fd00::7]:9000",
		"":                      "", ":8080": "", "ftp://a": "", "http://": "", "http://a/path": "", "http://u:p@a": "", "http://a?x": "",
		"http://a#x": "", "a b": "", "a/b": "", "10.0.0.7:0": "", "10.0.0.7:x": "", "10.0.0.7:70000": "", "a#b": "",
	} {
		got, err := peer.Address(given, 8080)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", given, got, err, want)
		}
	}
	if _, err := peer.Address("10.0.0.7", 0); err == nil || !strings.Contains(err.Error(), "port") {
		t.Errorf("without any port: %v", err)
	}
}
