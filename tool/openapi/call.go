package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/internal/traceparent"
	"github.com/parley-run/parley/tool"
)

// api is what the tools of one document share.
type api struct {
	client  *http.Client
	headers func(ctx *tool.Context) (map[string]string, error)
}

// operation is one operation of a document, as a tool.
type operation struct {
	api    *api
	inner  tool.Tool // has the declaration, and validates arguments
	at     string    // GET /pets/{petId}
	method string
	base   *url.URL
	path   []piece
	args   []*argument
	params []*param
	body   *body
	login  *login
}

// Declaration implements tool.Tool.
func (o *operation) Declaration() tool.Declaration { return o.inner.Declaration() }

// Call implements tool.Tool.
func (o *operation) Call(ctx *tool.Context, raw json.RawMessage) (any, error) {
	args, err := o.arguments(ctx, raw)
	if err != nil {
		return nil, err
	}
	if o.login == nil {
		got, err := o.send(ctx, args, nil)
		if err != nil {
			return nil, err
		}
		return o.result(got), nil
	}
	cred, err := o.login.credential(ctx)
	if err != nil {
		return nil, err
	}
	if cred == nil {
		return o.login.ask(ctx)
	}
	afterLogin := asked(ctx)
	got, err := o.send(ctx, args, cred)
	if err != nil {
		return nil, err
	}
	// A login may have ended in the meantime, so the user is asked to log in again.
	// A refusal right after a login would be repeated, so the user is not asked.
	if !got.refused() || o.login.static || afterLogin || ctx.Credentials == nil {
		return o.result(got), nil
	}
	switch cred, err = o.login.renew(ctx, cred); {
	case errors.Is(err, errSame):
		return o.result(got), nil
	case err != nil:
		return nil, err
	case cred == nil:
		return o.login.ask(ctx)
	}
	// A token that needs no user. Nothing has been done yet, so this is not a
	// repetition.
	if got, err = o.send(ctx, args, cred); err != nil {
		return nil, err
	}
	return o.result(got), nil
}

// send sends one request. Its errors contain no secrets.
func (o *operation) send(ctx *tool.Context, args values, cred *credential.Credential) (*answer, error) {
	req, more, err := o.request(ctx, args)
	if err != nil {
		return nil, err
	}
	if cred != nil {
		if err := credential.Apply(req, o.login.cfg.Scheme, cred); err != nil {
			return nil, fmt.Errorf("%s: %w", o.at, err)
		}
	}
	hidden := secrets(req, cred, more)
	resp, err := o.api.client.Do(traceparent.Stamp(req))
	if err != nil {
		err = unaddressed(err)
		if text := hide(err.Error(), hidden); text != err.Error() {
			err = errors.New(text)
		}
		return nil, fmt.Errorf("%s: %w", o.at, err)
	}
	defer func() { _ = resp.Body.Close() }()
	return read(ctx, resp, hidden)
}

// hide removes secrets from a text.
func hide(text string, secrets []string) string {
	for _, s := range secrets {
		text = strings.ReplaceAll(text, s, "[redacted]")
	}
	return text
}

// unaddressed returns an error of a client without the URL, which may have a key in
// its query.
func unaddressed(err error) error {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		return ue.Err
	}
	return err
}
