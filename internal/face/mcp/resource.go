package mcp

import (
	"errors"
	"io"
	"net/url"
	"strings"

	"github.com/parley-run/parley/artifact"
	"github.com/parley-run/parley/internal/media"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// Bounds of resources.
const (
	sessionsPerPage = 20
	maxResource     = 16 << 20 // bytes that are read
)

// The addresses of artifacts.
const (
	artifactPrefix   = "artifact:///"
	artifactTemplate = artifactPrefix + "{session}/{+name}"
)

// artifactURI returns the address of a file of a session.
func artifactURI(id, name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return artifactPrefix + url.PathEscape(id) + "/" + strings.Join(parts, "/")
}

// parseURI returns the session and the name of a file.
func parseURI(uri string) (id, name string, ok bool) {
	rest, ok := strings.CutPrefix(uri, artifactPrefix)
	id, name, found := strings.Cut(rest, "/")
	if !ok || !found {
		return "", "", false
	}
	id, err1 := url.PathUnescape(id)
	name, err2 := url.PathUnescape(name)
	return id, name, err1 == nil && err2 == nil && id != "" && name != ""
}

// listResources lists the files of the sessions of the caller, some sessions at a time.
func (e *exchange) listResources() (any, error) {
	var p struct {
		Cursor string `json:"cursor"`
	}
	if err := e.params(&p); err != nil {
		return nil, err
	}
	key, _, err := e.key("")
	if err != nil {
		return nil, err
	}
	ctx := e.r.Context()
	sessions, next, err := e.Sessions().List(ctx, key.App, key.User, session.Page{Size: sessionsPerPage, Token: p.Cursor})
	if errors.Is(err, session.ErrBadToken) {
		return nil, invalid("Invalid params: the cursor is not one of this server")
	}
	if err != nil {
		return nil, err
	}
	type resource struct {
		URI  string `json:"uri"`
		Name string `json:"name"`
	}
	list := []resource{}
	for _, s := range sessions {
		names, err := e.Artifacts(s.Key).List(ctx)
		if errors.Is(err, artifact.ErrNotConfigured) {
			break
		}
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			list = append(list, resource{artifactURI(s.ID, name), name})
		}
	}
	result := map[string]any{"resources": list}
	if next != "" {
		result["nextCursor"] = next
	}
	return e.cacheable(result, 0), nil
}

// listTemplates describes the addresses of files.
func (e *exchange) listTemplates() (any, error) {
	return e.cacheable(map[string]any{"resourceTemplates": []any{map[string]any{
		"uriTemplate": artifactTemplate, "name": "artifact", "description": "A file that the agent has saved in a session.",
	}}}, listTTL), nil
}

// readResource reads a file.
func (e *exchange) readResource() (any, error) {
	var p struct {
		URI string `json:"uri"`
	}
	if err := e.params(&p); err != nil {
		return nil, err
	}
	missing := &rpcError{Code: invalidParams, Message: "Resource not found: " + p.URI, Data: map[string]string{"uri": p.URI}}
	if !e.modern {
		missing.Code = resourceNotFound
	}
	id, name, ok := parseURI(p.URI)
	if !ok {
		return nil, missing
	}
	key, _, err := e.key(id)
	if err != nil {
		return nil, err
	}
	if key.Check() != nil {
		return nil, missing
	}
	ctx := e.r.Context()
	if _, err := e.Sessions().Get(ctx, key, session.Read{NoEvents: true}); errors.Is(err, session.ErrNotFound) {
		return nil, missing
	} else if err != nil {
		return nil, err
	}
	a, file, err := e.Artifacts(key).Open(ctx, name, tool.LatestArtifact)
	if _, bad := errors.AsType[*artifact.NameError](err); bad || errors.Is(err, tool.ErrNoArtifact) || errors.Is(err, artifact.ErrNotConfigured) {
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxResource+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxResource {
		return nil, &rpcError{Code: serverError, Message: "The resource is too large: read it with HTTP"}
	}
	c := resourceContents{URI: p.URI, MIMEType: a.MIMEType}
	if media.IsText(a.MIMEType) {
		s := string(data)
		c.Text = &s
	} else {
		c.Blob = data
	}
	return e.cacheable(map[string]any{"contents": []resourceContents{c}}, 0), nil
}
