package adk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/script/engine"
	"github.com/parley-run/parley/tool"
)

// errOutside means that there is no run.
var errOutside = errors.New("artifacts and memory are available in functions that a run calls, with the context that they get")

// useService gives JavaScript access to the artifacts and the memory of a run, for
// js/adk/services.js.
func useService(ctx context.Context, params json.RawMessage, yield func(any) error) error {
	var p struct {
		Method   string                     `json:"method"`
		Name     string                     `json:"name"`
		Version  *int64                     `json:"version"`
		Part     *event.Part                `json:"part"`
		Metadata map[string]json.RawMessage `json:"metadata"`
		Query    string                     `json:"query"`
		Session  string                     `json:"session"` // another than that of the run
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return fmt.Errorf("read what is asked of %s: %w", p.Method, err)
	}
	sc, _ := engine.Scope(ctx).(*scope)
	if sc == nil {
		return errOutside
	}
	tc := &tool.Context{Context: ctx, Artifacts: sc.artifacts, Memory: sc.memory, Actions: &event.Actions{}}
	switch p.Method {
	case "saveArtifact":
		a, content, err := tool.NewArtifact(p.Name, p.Part)
		if err != nil {
			return err
		}
		a.CustomMetadata = p.Metadata
		version, err := tc.WriteArtifact(a, content)
		if err != nil {
			return err
		}
		return yield(version)
	case "loadArtifact":
		version := int64(tool.LatestArtifact)
		if p.Version != nil {
			version = *p.Version
		}
		part, err := tc.LoadArtifact(p.Name, version)
		if errors.Is(err, tool.ErrNoArtifact) {
			return yield(nil)
		}
		if err != nil {
			return err
		}
		return yield(part)
	case "listArtifacts":
		names, err := tc.ListArtifacts()
		if err != nil {
			return err
		}
		return yield(names)
	case "listVersions":
		list, err := tc.ArtifactVersions(p.Name)
		if err != nil {
			return err
		}
		all := make([]any, len(list))
		for i, a := range list {
			all[i] = map[string]any{
				"version": a.Version, "mimeType": a.MIMEType, "canonicalUri": a.URI, "createTime": event.Seconds(a.Created), "customMetadata": a.CustomMetadata,
			}
		}
		return yield(all)
	case "deleteArtifact":
		if tc.Artifacts == nil {
			return errOutside
		}
		return tc.Artifacts.Delete(ctx, p.Name)
	case "searchMemory":
		found, err := tc.SearchMemory(p.Query)
		if err != nil {
			return err
		}
		all := make([]any, len(found))
		for i, one := range found {
			all[i] = map[string]any{"content": one.Content, "author": one.Author, "timestamp": one.Time.UTC().Format(time.RFC3339Nano)}
		}
		return yield(map[string]any{"memories": all})
	case "addSessionToMemory":
		if p.Session == "" {
			return tc.AddSessionToMemory()
		}
		others, ok := tc.Memory.(interface {
			AddOther(ctx context.Context, id string) error
		})
		if !ok {
			return errors.New("the memory takes only the session of the run")
		}
		return others.AddOther(ctx, p.Session)
	}
	return fmt.Errorf("there is no %s", p.Method)
}

// builtIn returns a tool that is implemented in Go.
func builtIn(name string) (tool.Tool, error) {
	switch name {
	case tool.InputCall:
		return tool.RequestInput(), nil
	case "load_artifacts":
		return agent.LoadArtifacts(), nil
	case "load_memory":
		return agent.LoadMemory(), nil
	case "preload_memory":
		return agent.PreloadMemory(), nil
	}
	return nil, errors.New("there is no such built-in tool")
}

// runnerServices are the services of a Runner that the author's code has made. They
// are JavaScript, and the agents that the Runner runs use them.
type runnerServices struct {
	app *App
	fn  int    // calls a method of a service
	run string // the invocation whose services they are
}

func (l *runnerServices) call(ctx context.Context, service, method string, args map[string]any, into any) error {
	params, err := json.Marshal(map[string]any{"run": l.run, "service": service, "method": method, "args": args})
	if err != nil {
		return err
	}
	r, err := l.app.run(ctx, l.fn, string(params), nil)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(r.Value, into)
}

type runnerArtifacts struct{ runnerServices }

func (l *runnerArtifacts) Save(ctx context.Context, a tool.Artifact, content io.Reader) (*tool.Artifact, error) {
	part, err := a.Part(content)
	if err != nil {
		return nil, err
	}
	return &a, l.call(ctx, "artifacts", "saveArtifact", map[string]any{"filename": a.Name, "artifact": part}, &a.Version)
}

func (l *runnerArtifacts) Open(ctx context.Context, name string, version int64) (*tool.Artifact, io.ReadSeekCloser, error) {
	args := map[string]any{"filename": name}
	if version >= 0 {
		args["version"] = version
	}
	var part *event.Part
	if err := l.call(ctx, "artifacts", "loadArtifact", args, &part); err != nil {
		return nil, nil, err
	}
	if part == nil {
		return nil, nil, tool.ErrNoArtifact
	}
	a, content, err := tool.NewArtifact(name, part)
	if err != nil {
		return nil, nil, err
	}
	data, err := io.ReadAll(content)
	a.Version, a.Size = max(version, 0), int64(len(data))
	return &a, unclosed{strings.NewReader(string(data))}, err
}

// unclosed is a text with a Close method.
type unclosed struct{ *strings.Reader }

func (unclosed) Close() error { return nil }

func (l *runnerArtifacts) List(ctx context.Context) (names []string, err error) {
	return names, l.call(ctx, "artifacts", "listArtifactKeys", map[string]any{}, &names)
}

func (l *runnerArtifacts) Versions(ctx context.Context, name string) ([]*tool.Artifact, error) {
	var versions []int64
	err := l.call(ctx, "artifacts", "listVersions", map[string]any{"filename": name}, &versions)
	list := make([]*tool.Artifact, len(versions))
	for i, version := range versions {
		list[i] = &tool.Artifact{Name: name, Version: version}
	}
	return list, err
}

func (l *runnerArtifacts) Delete(ctx context.Context, name string) error {
	return l.call(ctx, "artifacts", "deleteArtifact", map[string]any{"filename": name}, nil)
}

type runnerMemory struct{ runnerServices }

func (l *runnerMemory) Search(ctx context.Context, question string) ([]*tool.Remembered, error) {
	var found struct {
		Memories []struct {
			Content   *event.Content `json:"content"`
			Author    string         `json:"author"`
			Timestamp string         `json:"timestamp"`
		} `json:"memories"`
	}
	err := l.call(ctx, "memory", "searchMemory", map[string]any{"query": question}, &found)
	list := make([]*tool.Remembered, 0, len(found.Memories))
	for _, one := range found.Memories {
		if one.Content != nil {
			at, _ := time.Parse(time.RFC3339Nano, one.Timestamp) // or none
			list = append(list, &tool.Remembered{Author: one.Author, Time: at, Content: one.Content})
		}
	}
	return list, err
}

func (l *runnerMemory) AddSession(ctx context.Context) error {
	return l.call(ctx, "memory", "addSessionToMemory", map[string]any{}, nil)
}
