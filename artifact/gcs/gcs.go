// Package gcs stores artifacts in a bucket of Google Cloud Storage. Import it for
// its side effect: it registers the scheme gs with package artifact, as in
// gs://bucket/prefix.
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
