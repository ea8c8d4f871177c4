// Package api holds the HTTP contract of the server: an OpenAPI document that
// is written by hand, served as it is, and used by tests to check what the
// server really answers.
package api

import _ "embed"

//go:embed openapi.yaml
var document string

// OpenAPI returns the document, in YAML.
func OpenAPI() []byte { return []byte(document) }
