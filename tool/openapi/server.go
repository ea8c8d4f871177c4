package openapi

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// servers finds the URL of the API, as far as the whole document defines it.
func (b *builder) servers() (err error) {
	if b.cfg.BaseURL != "" {
		b.base, err = url.Parse(b.cfg.BaseURL)
		return err
	}
	if len(b.doc.Servers) > 0 {
		if b.base, err = b.address(b.doc.Servers[0]); err != nil {
			return fmt.Errorf("servers[0]: %w", err)
		}
	}
	return nil
}

// server returns the URL of one operation.
func (b *builder) server(item *openapi3.PathItem, op *openapi3.Operation) (*url.URL, error) {
	switch {
	case b.cfg.BaseURL != "":
	case op.Servers != nil && len(*op.Servers) > 0:
		return b.address((*op.Servers)[0])
	case len(item.Servers) > 0:
		return b.address(item.Servers[0])
	case b.base == nil:
		return b.address(&openapi3.Server{URL: "/"})
	}
	return b.base, nil
}

// address returns the URL of a server, with the defaults of its variables.
func (b *builder) address(server *openapi3.Server) (*url.URL, error) {
	text := server.URL
	for name, v := range server.Variables {
		if v != nil {
			text = strings.ReplaceAll(text, "{"+name+"}", v.Default)
		}
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("the address of the server cannot be read: set BaseURL")
	}
	if b.doc.from != nil {
		u = b.doc.from.ResolveReference(u)
	}
	if !isWeb(u) {
		return nil, fmt.Errorf("the document does not say on which host the API is (its server is %q): set BaseURL", u.Redacted())
	}
	return u, nil
}

// piece is a part of a path: literal text, or a parameter.
type piece struct {
	text  string // escaped
	param string
}

// parsePath splits a path such as /pets/{petId}/photos.
func parsePath(path string) (pieces []piece, err error) {
	for path != "" {
		text, rest, found := strings.Cut(path, "{")
		if text != "" {
			pieces = append(pieces, piece{text: escapeLiteral(text)})
		}
		if !found {
			break
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return nil, errors.New("the path has a { without a }")
		}
		pieces = append(pieces, piece{param: name})
		path = after
	}
	return pieces, nil
}

// escapeLiteral escapes characters that a path cannot have. It keeps existing
// escapes.
func escapeLiteral(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		text = plain
	}
	return (&url.URL{Path: text}).EscapedPath()
}
