// Package api holds the HTTP contract of the server: an OpenAPI document that is
// written by hand, in the files of the directory openapi. The server serves it, and tests check what the
// server really answers against it.
package api

import _ "embed"

// The document in JSON is generated (make api), so that programs need no parser of
// YAML.
//
//go:embed openapi.json
var document string

// OpenAPI returns the document, in JSON.
func OpenAPI() []byte { return []byte(document) }
