// Package s3 stores artifacts in a bucket of Amazon S3, or of a server with the same
// protocol. Import it for its side effect: it registers the scheme s3 with package
// artifact, as in s3://bucket/prefix.
//
//	import _ "github.com/parley-run/parley/artifact/s3"
package s3

import (
	"net/url"

	"github.com/parley-run/parley/artifact"
	"github.com/parley-run/parley/internal/objects/s3"
)

func init() {
	artifact.Register("s3", func(at *url.URL) (artifact.Objects, error) { return s3.Open(at) })
}
