package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"
)

// recorder has the deadlines that a connection has: without them, every
// attempt to set one makes an error, which no real request does.
type recorder struct{ *httptest.ResponseRecorder }

func (recorder) SetReadDeadline(time.Time) error  { return nil }
func (recorder) SetWriteDeadline(time.Time) error { return nil }

// server is Parley without a network.
func server(b *testing.B, w workload) func(request) {
	b.Helper()
	srv, err := parleyServer(openGate(), w, place{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { srv.Close(b.Context()) })
	handler := srv.Handler()
	return func(r request) {
		// httptest.NewRequest would parse one, which is not ours to count.
		in, err := http.NewRequestWithContext(b.Context(), r.method, "http://127.0.0.1"+r.path, bytes.NewReader(r.body))
		if err != nil {
			b.Fatal(err)
		}
		out := recorder{httptest.NewRecorder()}
		handler.ServeHTTP(out, in)
		if out.Code != http.StatusOK {
			b.Fatalf("%s %s: %d: %s", r.method, r.path, out.Code, out.Body)
		}
	}
}

// turn measures one turn after another, in sessions of the usual length.
func turn(b *testing.B, w workload) {
	b.Helper()
	b.ReportAllocs()
	do := server(b, w)
	session := ""
	for i := 0; b.Loop(); i++ {
		if i%turnsPerSession == 0 {
			b.StopTimer()
			session = strconv.Itoa(i)
			do(create(w.app, user, session))
			b.StartTimer()
		}
		do(w.request(session))
	}
}

func BenchmarkRun(b *testing.B)        { turn(b, runTurn) }
func BenchmarkRecord(b *testing.B)     { turn(b, runRecorded) }
func BenchmarkRunSSE(b *testing.B)     { turn(b, runSSE) }
func BenchmarkStream(b *testing.B)     { turn(b, runSSEPieces) }
func BenchmarkTypeScript(b *testing.B) { turn(b, runTypeScript) }

func BenchmarkCreateSession(b *testing.B) {
	b.ReportAllocs()
	do := server(b, createSession)
	for i := 0; b.Loop(); i++ {
		do(createSession.request(strconv.Itoa(i)))
	}
}

// BenchmarkGetSession measures the read of a session.
func BenchmarkGetSession(b *testing.B) {
	b.ReportAllocs()
	do := server(b, getSession)
	do(create(weatherApp, user, "long"))
	for range turnsPerSession {
		do(runTurn.request("long"))
	}
	for b.Loop() {
		do(getSession.request("long"))
	}
}
