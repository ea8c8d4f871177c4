// Package host is Go's half of what agent code expects of Node.js: fetch, sockets, files,
// the console, locales, hashes, and facts about the process. js/prelude is the
// other half.
package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"runtime/metrics"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parley-run/parley/internal/bounded"
	"github.com/parley-run/parley/internal/public"
	"github.com/parley-run/parley/internal/script/engine"
	"github.com/parley-run/parley/internal/script/host/keys"
)

// Options describe an application.
type Options struct {
	App string // the name that log messages have
	Dir string // the agent's directory, absolute
	// Scratch is the directory that its code may write to; nil for none.
	Scratch *Scratch
	Env     map[string]string // the initial process.env
	Log     *slog.Logger
	Client  *http.Client // for fetch; nil for the default
	// MaxResponse is the size limit of a response to fetch; 0 for the default.
	MaxResponse int64
	// Hosts are what code may connect to beside the public internet; nil for every
	// address.
	Hosts *public.Hosts
	// Reach reports which addresses may serve pages that a model names; nil for the
	// public internet.
	Reach func(netip.Addr) bool
	// MapTraces maps the positions in stack traces within log messages to the
	// author's files; nil to leave them as they are.
	MapTraces func(text string) string
}

// Host serves all engines of one application.
//
// Its functions do not trust what JavaScript sends: they check it, return errors,
// and never panic.
type Host struct {
	Options
	files      files
	pages      *http.Client
	began      time.Time
	unknown    unknownLocales
	strayPause time.Duration
	slots      slots
	work       slots
	zlib       zlibStreams
	sockets    sockets
	webSockets webSockets
}

// New makes the host of an application.
func New(o Options) *Host {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Client == nil {
		o.Client = defaultClient
		if o.Hosts != nil {
			o.Client = guardedClient(o.Hosts)
		}
	}
	if o.MaxResponse <= 0 {
		o.MaxResponse = bounded.ModelResponse
	}
	return &Host{
		Options: o, files: newFiles(o.Dir, o.Scratch), pages: pageClient(o.Reach), began: time.Now(), strayPause: maxStrayPause, slots: newSlots(allSlots),
		work: newSlots(allWork), sockets: sockets{idle: maxIdle},
	}
}

// Engine returns what the host provides to engines.
func (h *Host) Engine() engine.Host {
	return engine.Host{Functions: map[string]engine.Function{
		"console":     engine.Answer(h.console),
		"process":     engine.Answer(h.process),
		"memory":      engine.Answer(h.memory),
		"now":         h.now,
		"random":      engine.Answer(random),
		"hash":        engine.Answer(digest),
		"key.import":  engine.Answer(keys.Import),
		"key.raw":     engine.Answer(keys.ImportRaw),
		"key.export":  engine.Answer(keys.Export),
		"x509":        engine.Answer(keys.ReadCertificate),
		"x509.check":  engine.Answer(keys.CheckCertificate),
		"sign":        engine.Answer(keys.Sign),
		"verify":      engine.Answer(keys.Verify),
		"aes":         engine.Answer(keys.Crypt),
		"aes.tag":     engine.Answer(keys.Tag),
		"rsa":         engine.Answer(keys.Seal),
		"derive":      engine.Answer(keys.Do),
		"utf8.encode": encodeUTF8,
		"utf8.decode": decodeUTF8,
		"utf8.strict": strictUTF8,
		"text.name":   engine.Answer(encodingName),
		"text.decode": engine.Answer(decodeText),
		"domain":      engine.Answer(domain),
		"deflate":     engine.Answer(deflate),
		"inflate":     engine.Answer(inflate),
		"crc32":       engine.Answer(checksum),
		"zlib.write":  h.zlib.write,
		"files":       engine.Answer(h.files.do),
		"tmpdir":      engine.Answer(h.files.tmpdir),
		"locale":      engine.Answer(h.locale),
	}, Operations: map[string]engine.Operation{
		"fetch": h.fetch, "page": h.page, "derive": h.derive, "zlib": h.zlibStream,
		"socket": h.socket, "socket.send": h.send, "socket.secure": h.upgrade, "dns": h.lookup,
		"websocket": h.webSocket, "websocket.send": h.webSocketSend,
	}}
}

// Locate returns the path of a file in the directory of the application, without
// symbolic links.
func (h *Host) Locate(name string) (string, error) { return h.files.locate(name) }

// codedError is an error with a code, as errors of Node.js have one.
type codedError struct {
	code string
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }
func (e *codedError) Code() string  { return e.code }

func coded(code, format string, args ...any) error {
	return &codedError{code, fmt.Errorf(format, args...)}
}

// maxLine is how many bytes of one message go to the log.
const maxLine = 64 << 10

func (h *Host) console(m struct{ Level, Text string }) (any, error) {
	level := slog.LevelInfo
	switch m.Level {
	case "debug":
		level = slog.LevelDebug
	case "warn":
		level = slog.LevelWarn
	case "error":
		level = slog.LevelError
	}
	text := m.Text
	if len(text) > maxLine {
		cut := maxLine
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = fmt.Sprintf("%s… (%d bytes left out)", text[:cut], len(text)-cut)
	}
	if h.MapTraces != nil {
		text = h.MapTraces(text)
	}
	h.Log.LogAttrs(context.Background(), level, "console", slog.String("app", h.App), slog.String("text", text))
	return nil, nil
}

// process returns the values of process.*. They describe the application, and
// reveal nothing of the process of the server but its number.
func (h *Host) process(struct{}) (any, error) {
	env := maps.Clone(h.Env)
	if env == nil {
		env = map[string]string{}
	}
	return map[string]any{
		"app": h.App, "cwd": h.Dir, "env": env, "pid": os.Getpid(),
		"platform": platform(runtime.GOOS), "arch": arch(runtime.GOARCH),
	}, nil
}

// platform and arch return the names that Node.js uses.
func platform(goos string) string {
	return strings.NewReplacer("windows", "win32", "solaris", "sunos").Replace(goos)
}

func arch(goarch string) string {
	switch goarch {
	case "amd64":
		return "x64"
	case "386":
		return "ia32"
	}
	return goarch
}

// memory returns what Go uses for all applications together: the part of one
// engine is not known while its code runs.
func (h *Host) memory(struct{}) (any, error) {
	all := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(all)
	of := func(s metrics.Sample) uint64 {
		if s.Value.Kind() != metrics.KindUint64 {
			return 0
		}
		return s.Value.Uint64()
	}
	return map[string]uint64{"total": of(all[0]), "used": of(all[1])}, nil
}

// now returns the nanoseconds since the host was made, from a monotonic clock.
func (h *Host) now(string) (string, error) {
	return fmt.Sprint(time.Since(h.began).Nanoseconds()), nil
}

var errTooBig = errors.New("that is more than this runtime gives at once")
