package server

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/parley-run/parley/api"
	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/apidoc"
)

// openAPI is the document, without white space.
var openAPI = sync.OnceValues(func() ([]byte, error) {
	var doc bytes.Buffer
	if err := json.Compact(&doc, api.OpenAPI()); err != nil {
		return nil, err
	}
	return doc.Bytes(), nil
})

// openapi answers with the OpenAPI document.
func (s *Server) openapi(w http.ResponseWriter, _ *http.Request) error {
	doc, err := openAPI()
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, doc)
	return nil
}

// docsPage is the rendered document, ready to send.
type docsPage struct {
	plain, gzipped []byte
	tag            string // weak, because it is the same for both encodings
}

var docs = sync.OnceValues(func() (*docsPage, error) {
	doc, err := openAPI()
	if err != nil {
		return nil, err
	}
	page, err := apidoc.Page(doc, func(method, path string) string { return needOf(method + " " + path).words() })
	if err != nil {
		return nil, err
	}
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	_, _ = zip.Write(page) // writing to a buffer cannot fail
	_ = zip.Close()
	sum := sha256.Sum256(page)
	return &docsPage{page, zipped.Bytes(), `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`}, nil
})

// words describes the permission in the document.
func (n need) words() string {
	switch {
	case n.public:
		return "Requires no token."
	case n.scope == "":
		return "Requires authentication."
	case n.scope == access.Dev:
		return "For developers: requires the scope admin, where callers have scopes."
	}
	return fmt.Sprintf("Requires the scope %s.", n.scope)
}

// docs answers with the document as an HTML page.
func (s *Server) docs(w http.ResponseWriter, r *http.Request) error {
	page, err := docs()
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("ETag", page.tag)
	h.Set("Cache-Control", "no-cache") // revalidate: the page changes with the server's version
	h.Set("Content-Security-Policy", apidoc.Policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Add("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("If-None-Match"), strings.TrimPrefix(page.tag, "W/")) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	body := page.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = page.gzipped
	}
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body) // the client may have disconnected
	return nil
}
