package hostile

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"sync"
)

// Misbehaviour is a way in which a server misbehaves when it is asked something.
type Misbehaviour struct {
	Name string
	Act  func(c *Conn)
	// Hangs means that the answer does not end by itself, and sends next to
	// nothing: who waits for it must be able to stop.
	Hangs bool
	// HTTP means that it needs HTTP, and Stream that it needs server-sent events.
	HTTP, Stream bool
	// Harmless means that a caller may take what is sent for an answer.
	Harmless bool
	// Calls means that it is an answer with calls of tools.
	Calls bool
	// Redirects means that the answer of another server may be taken for one.
	Redirects bool
}

var (
	filler = strings.Repeat("x", 64<<10)
	pieces = 1000 // that are sent at once
)

// All are the ways of misbehaving.
var All = []Misbehaviour{
	{Name: "endless stream", Act: func(c *Conn) {
		c.Head(http.StatusOK)
		c.Say(c.Begin)
		c.Repeat(strings.Repeat(c.Piece, pieces))
	}},
	{Name: "endless line", Act: func(c *Conn) {
		c.Head(http.StatusOK)
		c.Say(c.Line)
		c.Repeat(filler)
	}},
	{Name: "endless comments", Stream: true, Act: func(c *Conn) {
		c.Head(http.StatusOK)
		c.Repeat(strings.Repeat(": still here\n", pieces))
	}},
	{Name: "endless comments with empty lines", Stream: true, Act: func(c *Conn) {
		c.Head(http.StatusOK)
		c.Repeat(strings.Repeat(": still here\n\n", pieces))
	}},
	{Name: "huge body", Act: func(c *Conn) {
		c.Head(http.StatusOK)
		c.Say(c.Begin)
		c.Repeat(filler)
		c.Say(c.End)
	}},
	{Name: "gzip bomb", HTTP: true, Act: func(c *Conn) {
		c.Head(http.StatusOK, "Content-Encoding", "gzip")
		c.Say(bomb(c.Begin, c.End))
	}},
	{Name: "slow drip", Hangs: true, Act: func(c *Conn) {
		c.Head(http.StatusOK)
		for _, b := range []byte(c.Begin[:len(c.Begin)/2]) {
			c.Say(string(b))
		}
		c.Hang()
	}},
	{Name: "never answers", Hangs: true, Act: func(c *Conn) { c.Hang() }},
	{Name: "hangs after the headers", HTTP: true, Hangs: true, Act: func(c *Conn) {
		c.Head(http.StatusOK)
		c.Say("")
		c.Hang()
	}},
	{Name: "cut in the middle", Act: func(c *Conn) {
		c.Head(http.StatusOK)
		c.Say(c.Begin + c.Piece)
		c.Cut()
	}},
	{Name: "invalid JSON", Harmless: true, Act: func(c *Conn) {
		c.Head(http.StatusOK)
		c.Say(c.Line + `{"a":}` + "\n\n")
	}},
	{Name: "deeply nested JSON", Harmless: true, Act: func(c *Conn) {
		c.Head(http.StatusOK)
		c.Say(c.Line + strings.Repeat(`[`, 400<<10) + "\n\n")
	}},
	{Name: "JSON of tiny values", Harmless: true, Act: func(c *Conn) {
		c.Head(http.StatusOK)
		c.Say(c.Line + `{"candidates":[` + strings.Repeat(`{},`, 300<<10) + `{}]}` + "\n\n")
	}},
	{Name: "wrong content type", HTTP: true, Harmless: true, Act: func(c *Conn) {
		c.Type = "image/png"
		c.Head(http.StatusOK)
		c.Say(c.Begin + c.Piece + c.End)
	}},
	{Name: "redirect loop", HTTP: true, Act: func(c *Conn) { c.Head(http.StatusTemporaryRedirect, "Location", c.Here()) }},
	{Name: "redirect to a private address", HTTP: true, Redirects: true, Act: func(c *Conn) { c.Head(http.StatusFound, "Location", c.at.Private) }},
	{Name: "10,000 calls", Calls: true, Act: func(c *Conn) {
		c.Head(http.StatusOK)
		c.Say(c.Calls)
	}},
	{Name: "huge headers", HTTP: true, Act: func(c *Conn) {
		for range 200 {
			c.http.Header().Add("X-Filler", filler)
		}
		c.Head(http.StatusOK)
	}},
	{Name: "500 with a huge body", HTTP: true, Act: func(c *Conn) {
		c.Head(http.StatusInternalServerError)
		c.Repeat(filler)
	}},
	{Name: "401 with a huge body", HTTP: true, Act: func(c *Conn) {
		c.Head(http.StatusUnauthorized)
		c.Repeat(filler)
	}},
}

// bomb is an answer that is small, and large when it is decompressed. It has
// several members, which count as one.
func bomb(begin, end string) string {
	return zipped(begin) + strings.Repeat(zippedFiller(), Most/len(filler)) + zipped(end)
}

var zippedFiller = sync.OnceValue(func() string { return zipped(filler) })

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text)) // to memory, which does not fail
	_ = z.Close()
	return b.String()
}
