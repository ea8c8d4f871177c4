// Package gcs stores artifacts in a Google Cloud Storage bucket.
// Import it for its side effect: it registers the scheme gs with package
// artifact.
//
//	import _ "github.com/parley-run/parley/artifact/gcs"
package gcs

import (
	"net/url"

	"github.com/parley-run/parley/artifact"
	"github.com/parley-run/parley/internal/objects/gcs"
)

func init() {
	artifact.Register("gs", func(at *url.URL) (artifact.Objects, error) { return gcs.Open(at) })
}
