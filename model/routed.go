package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

// Router chooses one of the models of a Routed for a request, by its key.
//
// When that model fails before its first response, the router is called again
// with the failure. It then chooses another one, or returns "" to give up. A
// model that has been tried is not tried again: choosing it gives up, too.
type Router func(ctx context.Context, req *Request, failed *Failed) (key string, err error)

// Failed describes the failures of a request so far.
type Failed struct {
	// Keys are those of the models that were tried, in order.
	Keys []string
	// Err is the failure of the last one; a *ResponseError if it answered with
	// an error.
	Err error
}

// ResponseError is the error of a model that answered with an ErrorCode.
type ResponseError struct{ Code, Message string }

func (e *ResponseError) Error() string { return e.Code + ": " + e.Message }

// Routed is several models of which a router chooses one for each request.
type Routed struct {
	name   string
	models map[string]Model
	router Router
}

// NewRouted combines several models into one. The router must be safe for
// concurrent use.
func NewRouted(models map[string]Model, router Router) (*Routed, error) {
	if len(models) == 0 || router == nil {
		return nil, errors.New("new routed model: it needs models and a router")
	}
	var names []string
	for _, key := range slices.Sorted(maps.Keys(models)) {
		if models[key] == nil {
			return nil, fmt.Errorf("new routed model: the model %q is nil", key)
		}
		names = append(names, fmt.Sprintf("%s (%s)", key, models[key].Name()))
	}
	return &Routed{name: "routed[" + strings.Join(names, ", ") + "]", models: maps.Clone(models), router: router}, nil
}

// Name returns a text that lists the models.
func (r *Routed) Name() string { return r.name }

// Models returns the models by their keys.
func (r *Routed) Models() map[string]Model { return maps.Clone(r.models) }

// Ignored returns the settings that at least one of the models ignores.
func (r *Routed) Ignored(c *Config) []string {
	all := map[string]bool{}
	for _, m := range r.models {
		for _, name := range Ignored(m, c) {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// SchemaOrTools reports whether one of the models cannot have both a response
// schema and tools.
func (r *Routed) SchemaOrTools() bool {
	for _, m := range r.models {
		if SchemaOrTools(m) {
			return true
		}
	}
	return false
}

// Generate calls the model that the router chooses, and another one if it fails
// before its first response.
func (r *Routed) Generate(ctx context.Context, req *Request) iter.Seq2[*Response, error] {
	return func(yield func(*Response, error) bool) {
		key, err := r.router(ctx, req, nil)
		if err != nil || key == "" {
			yield(nil, fmt.Errorf("the router picked no model: %w", cmp.Or(err, errors.New("it returned nothing"))))
			return
		}
		failed := &Failed{}
		for {
			m := r.models[key]
			if m == nil {
				yield(nil, fmt.Errorf("the router picked the model %q, which is not among %s", key, r.name))
				return
			}
			failed.Keys = append(failed.Keys, key)
			last, err := r.try(ctx, m, req, yield)
			if last == nil && err == nil || ctx.Err() != nil {
				if err != nil {
					yield(nil, ctx.Err())
				}
				return
			}
			if failed.Err = err; err == nil {
				failed.Err = &ResponseError{last.ErrorCode, last.ErrorMessage}
			}
			next, routeErr := r.router(ctx, req, failed)
			if routeErr != nil {
				yield(nil, fmt.Errorf("the router picked no model: %w", routeErr))
				return
			}
			if next == "" || slices.Contains(failed.Keys, next) {
				yield(last, err)
				return
			}
			key = next
		}
	}
}

// try yields the responses of a model. If it fails before the first, it returns
// how: as a response with an error, or as an error.
func (r *Routed) try(ctx context.Context, m Model, req *Request, yield func(*Response, error) bool) (last *Response, failure error) {
	responded := false
	for resp, err := range m.Generate(ctx, req) {
		if !responded && (err != nil || resp.ErrorCode != "" && resp.Content == nil) {
			return resp, err
		}
		responded = true
		if !yield(resp, err) || err != nil {
			return nil, nil
		}
	}
	if !responded {
		return nil, fmt.Errorf("model %s: it ended without an answer", m.Name())
	}
	return nil, nil
}
