// Package call is what the adapters to hosted models share: how long they wait,
// when they ask again, and what becomes of a refusal.
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
	// longestWait is how long a person may be kept waiting. An API that asks
	// for more is not asked again.
	longestWait = 30 * time.Second
)

// Caller makes the calls of one model.
type Caller struct {
	// API is how errors call the other side, such as "the Gemini API".
	API string
	// Limits are those of the model.
	Limits model.Limits
	// Secrets are taken out of what reaches a client.
	Secrets *strings.Replacer
	// Wait replaces the wait between two tries.
	Wait func(context.Context, time.Duration) error
}

// Ask asks a model once. It emits pieces on the way and returns when emit is
// false. With an error, it returns what was said until then, if anything.
type Ask func(ctx context.Context, emit func(*model.Response) bool) (*model.Response, error)

// Generate asks, and asks again while that may help and nothing was heard yet.
// A refusal ends as a response, everything else as an error.
func (c *Caller) Generate(ctx context.Context, ask Ask) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		var noted *FailureError
		ctx := context.WithValue(ctx, noteKey{}, &noted)
		for try := 1; ; try++ {
			heard, stopped := false, false
			said, err := ask(ctx, func(piece *model.Response) bool {
				heard, stopped = true, !yield(piece, nil)
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
			if pause, again := c.pause(try, err); again && !heard {
				if c.wait(ctx, pause) == nil {
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

// noteKey is the key of what a transport notes for the caller: SDKs do not pass
// on the errors of reading as they are.
type noteKey struct{}

func note(ctx context.Context, err error) {
	if f, ok := errors.AsType[*FailureError](err); ok {
		if noted, ok := ctx.Value(noteKey{}).(**FailureError); ok {
			*noted = f
		}
	}
}

// refused is the response that says why there is no answer. What was said so
// far was heard, and stays.
func (c *Caller) refused(r *RefusalError, said *model.Response) *model.Response {
	resp := &model.Response{ErrorCode: r.Name(), ErrorMessage: c.Show(cmp.Or(r.Message, upper(c.API)+" gave no reason."))}
	if said != nil {
		resp.Content, resp.ModelVersion, resp.Usage = said.Content, said.ModelVersion, said.Usage
		resp.Interrupted = said.Content != nil
	}
	return resp
}

// pause is how long to wait after the nth try, and whether there is another.
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
	// counts requests should be left alone for the whole of the time.
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

// FailureError is an error whose text may be shown: it holds no address and no
// secret, and not the answer that could not be read.
type FailureError struct {
	Text  string
	Cause error
}

func (f *FailureError) Error() string { return f.Text }

// Unwrap is the cause.
func (f *FailureError) Unwrap() error { return f.Cause }

// Unreadable is the failure to read an answer.
func (c *Caller) Unreadable(cause error) error {
	return &FailureError{c.API + " sent something that cannot be read", cause}
}

// Unmade is the failure to make a request of what is to be asked.
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
	if errors.Is(err, bufio.ErrTooLong) { // an SDK has a limit of its own
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

// Show is a text from outside as it may reach a client.
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

// Secrets takes a key, and those of the headers that may be secret, out of
// texts. Servers repeat a header as it is, or the token in it alone.
func Secrets(key string, headers map[string]string) *strings.Replacer {
	var secrets []string
	if key != "" {
		secrets = append(secrets, key)
	}
	for _, value := range headers {
		for _, part := range append(strings.Fields(value), value) {
			if len(part) >= 8 { // shorter ones are no secrets, and may be words
				secrets = append(secrets, part)
			}
		}
	}
	// The longest first, or the rest of one that begins with another would stay.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, secret := range secrets {
		pairs = append(pairs, secret, "[redacted]")
	}
	return strings.NewReplacer(pairs...)
}

func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
