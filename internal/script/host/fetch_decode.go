package host

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
)

// accepted returns what fetch asks for, as in Node.js.
func accepted(scheme string, partOnly bool) string {
	switch {
	case partOnly:
		return "identity"
	case scheme == "https":
		return "br, gzip, deflate"
	}
	return "gzip, deflate"
}

// maxCodings is how many times a body may be compressed.
const maxCodings = 5

// decoded returns the body of a response without its codings. As in Node.js, it is
// left as it is if one of them is not known, and a body that was compressed only in
// part is read as far as it goes.
func decoded(resp *http.Response) io.ReadCloser {
	header := strings.Join(resp.Header.Values("Content-Encoding"), ",")
	if header == "" || resp.Request != nil && resp.Request.Method == http.MethodHead {
		return resp.Body
	}
	names := strings.Split(header, ",")
	if len(names) > maxCodings {
		return resp.Body
	}
	source := &source{Reader: resp.Body}
	var out io.Reader = source
	for _, name := range slices.Backward(names) {
		c := codec{Partial: true}
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "gzip", "x-gzip":
			c.Format = "gzip"
		case "deflate":
			c.Format = "http"
		case "br":
			c.Format = "br"
		default:
			return resp.Body
		}
		next, err := c.reader(out)
		if err != nil {
			return resp.Body
		}
		out = next
	}
	return &decodedBody{out: out, source: source, Closer: resp.Body}
}

// source remembers how reading failed: decompressors cannot tell a connection that
// was cut from data that ends early.
type source struct {
	io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

type decodedBody struct {
	out    io.Reader
	source *source
	io.Closer
}

func (b *decodedBody) Read(p []byte) (int, error) {
	n, err := b.out.Read(p)
	if err != nil && b.source.err != nil {
		err = b.source.err
	}
	return n, err
}
