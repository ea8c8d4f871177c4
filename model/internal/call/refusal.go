package call

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// RefusalError is an error response of an API, or an equivalent of one.
type RefusalError struct {
	Status  int    // of HTTP; 0 if there was none
	Code    string // such as RESOURCE_EXHAUSTED; if empty, that of the Status
	Message string
	After   time.Duration // the earliest time of the next attempt
	Final   bool          // repeating does not help, regardless of the Status
}

func (r *RefusalError) Error() string { return r.Name() + ": " + r.Message }

var codeName = regexp.MustCompile(`^[A-Z][A-Z_]+$`)

// Name returns the code of the error. The names are those that Google gives to
// statuses, for all providers.
func (r *RefusalError) Name() string {
	if codeName.MatchString(r.Code) {
		return r.Code
	}
	switch r.Status {
	case 0:
		return "UNKNOWN_ERROR"
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return "INVALID_ARGUMENT"
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case http.StatusForbidden:
		return "PERMISSION_DENIED"
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return "DEADLINE_EXCEEDED"
	case http.StatusConflict:
		return "ABORTED"
	case http.StatusTooManyRequests:
		return "RESOURCE_EXHAUSTED"
	case http.StatusInternalServerError:
		return "INTERNAL"
	case http.StatusServiceUnavailable, StatusOverloaded:
		return "UNAVAILABLE"
	}
	return "HTTP_" + strconv.Itoa(r.Status)
}

// StatusOverloaded is the status with which some APIs report overload.
const StatusOverloaded = 529

// passes reports whether the same request may succeed later.
func (r *RefusalError) passes() bool {
	switch r.Status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return !r.Final
	}
	return r.Status >= 500 && !r.Final
}

// readRefusal converts an error response and closes it. Proxies respond with text,
// or with a page that is useless to a reader.
func readRefusal(resp *http.Response, parse func(*RefusalError, []byte)) *RefusalError {
	defer resp.Body.Close()
	doc, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16)) // as much as can be read
	r := &RefusalError{Status: resp.StatusCode, Message: http.StatusText(resp.StatusCode)}
	if text := strings.TrimSpace(string(doc)); text != "" && !strings.HasPrefix(text, "<") {
		r.Message = text
	}
	if json.Valid(doc) {
		parse(r, doc)
	}
	if ms, err := strconv.ParseUint(resp.Header.Get("Retry-After-Ms"), 10, 31); err == nil {
		r.After = max(r.After, time.Duration(ms)*time.Millisecond)
	} else if s := resp.Header.Get("Retry-After"); s != "" {
		if seconds, err := strconv.ParseUint(s, 10, 31); err == nil {
			r.After = max(r.After, time.Duration(seconds)*time.Second)
		} else if at, err := http.ParseTime(s); err == nil {
			r.After = max(r.After, time.Until(at))
		}
	}
	r.Final = r.Final || resp.Header.Get("X-Should-Retry") == "false"
	return r
}
