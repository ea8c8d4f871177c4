package mcp

import (
	"encoding/json"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-run/parley/tool"
)

// Resource is a resource of a server.
type Resource struct {
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
}

// maxResources limits the resources of a server.
const maxResources = 10_000

// Resources returns the current resources of the server.
func (s *Toolset) Resources(ctx *tool.Context) (list []Resource, err error) {
	err = s.with(ctx, func(l *link) error {
		limited, cancel := l.within(ctx, s.cfg.CallTimeout)
		defer cancel()
		for one, err := range l.session.Resources(limited, nil) {
			if err == nil && len(list) == maxResources {
				err = fmt.Errorf("there are more than %d", maxResources)
			}
			if err != nil {
				return err
			}
			list = append(list, Resource{one.URI, one.Name, one.Description, one.MIMEType})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("mcp: the resources of %s: %w", s.cfg.name(), err)
	}
	return list, nil
}

// ReadResource reads a resource by its name or its URI. The result is a list of
// {"uri", "mimeType", "text"}, or with a "blob" in base64.
func (s *Toolset) ReadResource(ctx *tool.Context, name string) (contents json.RawMessage, err error) {
	list, err := s.Resources(ctx)
	if err != nil {
		return nil, err
	}
	uri := ""
	for _, one := range list {
		if one.URI == name || one.Name == name && uri == "" {
			uri = one.URI
		}
	}
	if uri == "" {
		return nil, fmt.Errorf("mcp: %s has no resource %q", s.cfg.name(), name)
	}
	err = s.with(ctx, func(l *link) error {
		limited, cancel := l.within(ctx, s.cfg.CallTimeout)
		defer cancel()
		result, err := l.session.ReadResource(limited, &sdk.ReadResourceParams{URI: uri})
		if err == nil {
			contents, err = json.Marshal(result.Contents)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("mcp: the resource %q of %s: %w", name, s.cfg.name(), err)
	}
	return contents, nil
}

// with calls a function with a session. If the session is lost, it repeats a
// function that only reads.
func (s *Toolset) with(ctx *tool.Context, do func(*link) error) error {
	key, headers, err := s.headers(ctx)
	if err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		l, err := s.acquire(ctx, key, headers)
		if err != nil {
			return err
		}
		err = do(l)
		lost := err != nil && ctx.Err() == nil && l.lost(err)
		if lost {
			l.drop()
		}
		l.release()
		if !lost || attempt == 2 {
			return plainURL(err)
		}
	}
}
