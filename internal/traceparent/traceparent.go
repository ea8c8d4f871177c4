// Package traceparent carries a trace over HTTP, as the W3C's Trace Context says.
// It is what the edges need of tracing, and costs nothing when there is no trace.
package traceparent

import (
	"net/http"

	"github.com/parley-run/parley/internal/registry"
)

// Propagate implements Stamp. Package internal/telemetry registers it, in programs
// with traces.
type Propagate func(r *http.Request) *http.Request

// Stamp returns a request with the headers that tell which trace it is part of. It
// returns r itself when that is part of no trace that others know, or says so
// already.
func Stamp(r *http.Request) *http.Request {
	propagate, ok := registry.Find[Propagate]("")
	if !ok {
		return r
	}
	return propagate(r)
}
