package telemetry

import (
	"fmt"
	"net/http"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Profiles serves /debug/pprof/ as net/http/pprof does, for go tool pprof and go tool trace. It does not use that
// package, which registers itself with the default handler of every program, and shows command lines, which may contain
// passwords.
func (*Telemetry) Profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintln(w, "profile?seconds=30\ntrace?seconds=1")
		for _, p := range pprof.Profiles() {
			fmt.Fprintf(w, "%s\t%d\n", p.Name(), p.Count())
		}
	})
	mux.HandleFunc("GET /debug/pprof/profile", func(w http.ResponseWriter, r *http.Request) {
		during(w, r, 30, func() error { return pprof.StartCPUProfile(w) }, pprof.StopCPUProfile)
	})
	mux.HandleFunc("GET /debug/pprof/trace", func(w http.ResponseWriter, r *http.Request) {
		during(w, r, 1, func() error { return trace.Start(w) }, trace.Stop)
	})
	mux.HandleFunc("GET /debug/pprof/{name}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		if !slices.ContainsFunc(pprof.Profiles(), func(p *pprof.Profile) bool { return p.Name() == name }) {
			http.Error(w, "there is no profile "+strconv.Quote(name), http.StatusNotFound)
			return
		}
		debug, _ := strconv.Atoi(r.FormValue("debug")) // 0 is the format of the tools
		kind := "application/octet-stream"
		if debug > 0 {
			kind = "text/plain; charset=utf-8"
		}
		w.Header().Set("Content-Type", kind)
		_ = pprof.Lookup(name).WriteTo(w, debug) // fails only if the client has disconnected
	})
	return mux
}

const mostSeconds = 300

// during profiles for as long as a request asks for.
func during(w http.ResponseWriter, r *http.Request, seconds float64, start func() error, stop func()) {
	if text := r.FormValue("seconds"); text != "" {
		var err error
		if seconds, err = strconv.ParseFloat(text, 64); err != nil || seconds <= 0 || seconds > mostSeconds {
			http.Error(w, "seconds must be a number up to "+strconv.Itoa(mostSeconds), http.StatusBadRequest)
			return
		}
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="`+r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]+`"`)
	if err := start(); err != nil {
		w.Header().Del("Content-Disposition")
		http.Error(w, "another profile is being taken", http.StatusConflict)
		return
	}
	defer stop()
	timer := time.NewTimer(time.Duration(seconds * float64(time.Second)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
}
