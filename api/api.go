// Package api holds the HTTP contract of the server: an OpenAPI document that
// is written by hand, served as it is, and used by tests to check what the
// server really answers.
package api

import _ "embed"

// OpenAPI is the document, in YAML. It must not be changed.
//
//go:embed openapi.yaml
var OpenAPI []byte
