// Package call is shared by the adapters to hosted models: timeouts, retries, and
// errors.
package call

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/parley-run/parley/internal/bounded"
	"github.com/parley-run/parley/internal/retry"
	"github.com/parley-run/parley/model"
)

const (
	tries     = 4
	firstWait = 500 * time.Millisecond
	// longestWait is the longest wait that is acceptable to a user. If an API asks
	// for more, the call is not repeated.
	longestWait = 30 * time.Second
)

// Caller makes the calls of one model.
type Caller struct {
	// API is the name of the API in errors, such as "the Gemini API".
	API string
	// Limits are the limits of the model.
	Limits model.Limits
	// Secrets are removed from texts that clients see.
	Secrets *strings.Replacer
	// Wait replaces the wait between two attempts.
	Wait func(context.Context, time.Duration) error
}

// Ask makes one attempt. It emits pieces as they arrive, and returns if emit
// returns false. On failure, it returns the response so far, if any.
type Ask func(ctx context.Context, emit func(*model.Response) bool) (*model.Response, error)

// Generate makes attempts while repeating may help and no response has begun. A
// refusal ends as a response, everything else as an error.
func (c *Caller) Generate(ctx context.Context, ask Ask) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		var noted *FailureError
		ctx := context.WithValue(ctx, noteKey{}, &noted)
		for try := 1; ; try++ {
			begun, stopped := false, false
			said, err := ask(ctx, func(piece *model.Response) bool {
				begun, stopped = true, !yield(piece, nil)
				return !stopped
			})
			switch {
			case stopped:
				return
			case ctx.Err() != nil:
				yield(nil, ctx.Err())
				return
			case err == nil:
				yield(said, nil)
				return
			case noted != nil:
				err = noted
			}
			if pause, again := c.pause(try, err); again && !begun {
				if c.wait(ctx, pause) == nil {
					retry.Repeated(ctx)
					continue
				}
				yield(nil, ctx.Err())
				return
			}
			if refused, ok := errors.AsType[*RefusalError](err); ok {
				yield(c.refused(refused, said), nil)
			} else {
				yield(nil, c.failure(err))
			}
			return
		}
	}
}

// noteKey is the context key of an error that a transport records for the caller:
// SDKs do not return read errors unchanged.
type noteKey struct{}

func note(ctx context.Context, err error) {
	if f, ok := errors.AsType[*FailureError](err); ok {
		if noted, ok := ctx.Value(noteKey{}).(**FailureError); ok {
			*noted = f
		}
	}
}

// refused returns the response that says why there is no answer. It includes the
// text that the client has received.
func (c *Caller) refused(r *RefusalError, said *model.Response) *model.Response {
	resp := &model.Response{ErrorCode: r.Name(), ErrorMessage: c.Show(cmp.Or(r.Message, upper(c.API)+" gave no reason."))}
	if said != nil {
		resp.Content, resp.ModelVersion, resp.Usage = said.Content, said.ModelVersion, said.Usage
		resp.Interrupted = said.Content != nil
	}
	return resp
}

// pause returns how long to wait after the nth attempt, and whether there is
// another.
func (c *Caller) pause(try int, err error) (time.Duration, bool) {
	if try >= cmp.Or(c.Limits.Tries, tries) {
		return 0, false
	}
	var after time.Duration
	if refused, ok := errors.AsType[*RefusalError](err); ok {
		if !refused.passes() || refused.After > longestWait {
			return 0, false
		}
		after = refused.After
	} else if _, ok := errors.AsType[*lost](err); !ok {
		return 0, false
	}
	// Not a retry.Backoff, whose pauses may be shorter than their mean: an API that
	// limits requests needs the whole pause.
	wait := min(firstWait<<(try-1), longestWait)
	wait += rand.N(wait / 2) //nolint:gosec // only spreads the load
	return max(wait, after), true
}

func (c *Caller) wait(ctx context.Context, d time.Duration) error {
	if c.Wait != nil {
		return c.Wait(ctx, d)
	}
	return retry.Sleep(ctx, d)
}

// FailureError is an error whose text may be shown: it contains neither URLs and
// secrets, nor the response that could not be decoded.
type FailureError struct {
	Text  string
	Cause error
}

func (f *FailureError) Error() string { return f.Text }

// Unwrap returns the cause.
func (f *FailureError) Unwrap() error { return f.Cause }

// Unreadable returns the error for a response that cannot be decoded.
func (c *Caller) Unreadable(cause error) error {
	return &FailureError{c.API + " sent something that cannot be read", cause}
}

// Unmade returns the error for a request that cannot be encoded.
func Unmade(cause error) error {
	return &FailureError{"the request cannot be made: " + cause.Error(), cause}
}

func (c *Caller) failure(err error) error {
	if f, ok := errors.AsType[*FailureError](err); ok {
		return f
	}
	if large, ok := errors.AsType[*bounded.Error](err); ok {
		return &FailureError{large.Error(), large}
	}
	if errors.Is(err, bufio.ErrTooLong) { // an SDK has its own limit
		return &FailureError{c.API + " sent a line that is too long", err}
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, shape := errors.AsType[*json.UnmarshalTypeError](err)
	if syntax || shape {
		return c.Unreadable(err)
	}
	return &FailureError{"the call of " + c.API + " failed: " + c.Show(err.Error()), err}
}

// Show returns an external text as a client may see it.
func (c *Caller) Show(text string) string {
	const most = 2000
	if c.Secrets != nil {
		text = c.Secrets.Replace(text)
	}
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " …"
	}
	return text
}

// Secrets returns a function that removes a key, and headers that may be secret,
// from texts. Servers repeat a header, or only the token in it.
func Secrets(key string, headers map[string]string) *strings.Replacer {
	var secrets []string
	if key != "" {
		secrets = append(secrets, key)
	}
	for _, value := range headers {
		for _, part := range append(strings.Fields(value), value) {
			if len(part) >= 8 { // shorter ones are not secrets, and may be words
				secrets = append(secrets, part)
			}
		}
	}
	// Longest first, because one may be a prefix of another.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, secret := range secrets {
		pairs = append(pairs, secret, "[redacted]")
	}
	return strings.NewReplacer(pairs...)
}

func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
