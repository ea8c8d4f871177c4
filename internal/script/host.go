package script

import (
	"context"
	"encoding/json"
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
)

// hostOptions say for whom a host stands in for Node.js.
type hostOptions struct {
	App    string            // the name under which its code logs
	Dir    string            // the agent's directory, absolute
	Env    map[string]string // what its process.env begins with
	Log    *slog.Logger
	Client *http.Client // for fetch; nil for the default
	// Reach tells where pages may be that a model names; nil for the public
	// internet.
	Reach func(netip.Addr) bool
	// Places puts the author's files into stack traces that code writes to the
	// log; nil to leave them as they are.
	Places func(text string) string
}

// host is Go's half of what agent code expects of Node.js; js/prelude is the
// other. Nothing of it belongs to a call: an application has one host, and
// each of its engines asks it.
//
// What JavaScript sends is not to be trusted. Handlers check it, answer with
// an error, and never panic.
type host struct {
	hostOptions
	files      files
	pages      *http.Client
	began      time.Time
	strange    strangers
	strayPause time.Duration
	slots      slots
}

func newHost(o hostOptions) *host {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Client == nil {
		o.Client = defaultClient
	}
	return &host{hostOptions: o, files: newFiles(o.Dir), pages: pageClient(o.Reach), began: time.Now(), strayPause: maxStrayPause, slots: newSlots(allSlots)}
}

// sync are the host functions: they answer at once.
func (h *host) sync() map[string]hostFunc {
	return map[string]hostFunc{
		"console":     answer(h.console),
		"process":     answer(h.process),
		"memory":      answer(h.memory),
		"now":         h.now,
		"random":      answer(random),
		"hash":        answer(digest),
		"utf8.encode": encodeUTF8,
		"utf8.decode": decodeUTF8,
		"utf8.strict": strictUTF8,
		"files":       answer(h.files.do),
		"locale":      answer(h.locale),
	}
}

// ops are the operations that JavaScript waits for.
func (h *host) ops() map[string]op {
	return map[string]op{"fetch": h.fetch, "page": h.page}
}

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

// answer makes a host function of one that takes and gives values. Errors
// travel as values too, because the engine would keep nothing but their text.
func answer[P any](fn func(P) (any, error)) hostFunc {
	return func(payload string) (string, error) {
		var (
			params P
			out    struct {
				Value any        `json:"value"`
				Error *hostError `json:"error,omitempty"`
			}
		)
		err := json.Unmarshal([]byte(payload), &params)
		if err == nil {
			out.Value, err = fn(params)
		}
		if err != nil {
			out.Value, out.Error = nil, toHostError(err)
		}
		text, err := json.Marshal(out)
		return string(text), err
	}
}

// maxLine is how much of one message of an application goes to the log.
const maxLine = 64 << 10

func (h *host) console(m struct{ Level, Text string }) (any, error) {
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
	if h.Places != nil {
		text = h.Places(text)
	}
	h.Log.LogAttrs(context.Background(), level, "console", slog.String("app", h.App), slog.String("text", text))
	return nil, nil
}

// process tells what process.* says. It is about the application, and tells
// nothing of the server's own process but its number.
func (h *host) process(struct{}) (any, error) {
	env := maps.Clone(h.Env)
	if env == nil {
		env = map[string]string{}
	}
	return map[string]any{
		"app": h.App, "cwd": h.Dir, "env": env, "pid": os.Getpid(),
		"platform": platform(runtime.GOOS), "arch": arch(runtime.GOARCH),
	}, nil
}

// platform and arch are what Node.js calls them.
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

// memory is what Go holds for all applications together: an engine's own part
// is not to be had while its code runs.
func (h *host) memory(struct{}) (any, error) {
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

// now is the time since the host began, in nanoseconds, from a clock that does
// not jump.
func (h *host) now(string) (string, error) {
	return fmt.Sprint(time.Since(h.began).Nanoseconds()), nil
}

var errTooBig = errors.New("that is more than this runtime gives at once")
