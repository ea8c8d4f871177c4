// Package traceparent carries a trace over HTTP, as the W3C's Trace Context says.
// It is what the edges need of tracing, and costs nothing when there is no trace.
package traceparent

import "net/http"

// Propagate implements Stamp. Package internal/telemetry sets it; it is nil in
// programs without traces.
var Propagate func(r *http.Request) *http.Request

// Stamp returns a request with the headers that tell which trace it is part of. It
// returns r itself when that is part of no trace that others know, or says so
// already.
func Stamp(r *http.Request) *http.Request {
	if Propagate == nil {
		return r
	}
	return Propagate(r)
}
