package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parley-run/parley/artifact"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// FilesOf returns the scope of the files of a session.
func FilesOf(key session.Key) artifact.Place {
	return artifact.Place{App: key.App, User: key.User, Session: key.ID}
}

// turnFiles are the files of the session as agents see them. Saved files are scrubbed
// of the secrets that tools of the run have received, because other users can read
// them. It is the turn itself, since most runs use no files (BenchmarkRun in package
// bench).
type turnFiles turn

var _ tool.Artifacts = (*turnFiles)(nil)

func (f *turnFiles) all() tool.Artifacts { return f.engine.cfg.Artifacts.In(FilesOf(f.req.Key)) }

func (f *turnFiles) clean(text string) string { return agentrt.ScrubText(f.creds, text) }

// Save saves a file without secrets. It also scrubs the name, because the event
// with the name is scrubbed.
func (f *turnFiles) Save(ctx context.Context, a tool.Artifact, content io.Reader) (*tool.Artifact, error) {
	if f.creds == nil {
		return f.all().Save(ctx, a, content)
	}
	a.Name, a.FileURI, a.MIMEType = f.clean(a.Name), f.clean(a.FileURI), f.clean(a.MIMEType)
	if len(a.CustomMetadata) > 0 {
		doc, err := json.Marshal(a.CustomMetadata)
		if err != nil {
			return nil, err
		}
		a.CustomMetadata = nil
		if err := json.Unmarshal(f.creds.Scrub(doc), &a.CustomMetadata); err != nil {
			return nil, err
		}
	}
	return f.all().Save(ctx, a, f.creds.ScrubFile(content))
}

func (f *turnFiles) Open(ctx context.Context, name string, version int64) (*tool.Artifact, io.ReadSeekCloser, error) {
	return f.all().Open(ctx, f.clean(name), version)
}

func (f *turnFiles) List(ctx context.Context) ([]string, error) { return f.all().List(ctx) }

func (f *turnFiles) Versions(ctx context.Context, name string) ([]*tool.Artifact, error) {
	return f.all().Versions(ctx, f.clean(name))
}

func (f *turnFiles) Delete(ctx context.Context, name string) error {
	return f.all().Delete(ctx, f.clean(name))
}

// removeFiles deletes the files of deleted sessions. Failed deletions are repeated
// with the next call. Only one goroutine calls it.
func (u *upkeep) removeFiles(ctx context.Context, gone []session.Key) {
	e := u.engine
	gone = append(u.leftFiles, gone...)
	u.leftFiles = nil
	for _, key := range gone {
		_, err := e.cfg.Store.Get(ctx, key, session.Read{NoEvents: true})
		if err == nil {
			continue // a new session has the same name
		}
		if errors.Is(err, session.ErrNotFound) {
			err = e.cfg.Artifacts.Remove(ctx, FilesOf(key))
		}
		if err != nil {
			e.cfg.Log.Warn("could not delete the artifacts of an old session", "app", key.App, "user", key.User, "session_id", key.ID, "err", err)
			u.leftFiles = append(u.leftFiles, key)
		}
	}
}

// sweepFiles deletes incomplete files of processes that died while they saved them.
func (u *upkeep) sweepFiles(ctx context.Context) {
	e := u.engine
	removed, err := e.cfg.Artifacts.Sweep(ctx)
	if err != nil && u.ctx.Err() == nil {
		e.cfg.Log.Warn("could not remove incomplete artifacts", "err", err)
	}
	if removed > 0 {
		e.cfg.Log.Info("removed incomplete artifacts", "count", removed)
	}
}

// hasFiles reports whether a message has files to save as artifacts.
func (r *Request) hasFiles() bool {
	return r.SaveFiles && slices.ContainsFunc(r.Message.Parts, func(p *event.Part) bool { return p.InlineData != nil })
}

// saveFiles stores the files in a message as artifacts, and replaces them by their
// names. That keeps the conversation short; a model loads the files that it needs.
func (a *admission) saveFiles(ctx context.Context) error {
	req := a.turn.req
	if !req.hasFiles() {
		return nil
	}
	if _, err := a.session(ctx); err != nil {
		return err
	}
	files, invocation := a.engine.cfg.Artifacts.In(FilesOf(req.Key)), a.turn.id
	message := &event.Content{Role: req.Message.Role, Parts: slices.Clone(req.Message.Parts)}
	req.ArtifactDelta = map[string]int64{}
	for i, part := range message.Parts {
		if part.InlineData == nil {
			continue
		}
		name := part.InlineData.DisplayName
		if artifact.CheckName(name) != nil {
			name = fmt.Sprintf("artifact_%s_%d", invocation, i)
		}
		file, content, err := tool.NewArtifact(name, part)
		if err != nil {
			return err
		}
		saved, err := files.Save(ctx, file, content)
		if err != nil {
			return err
		}
		req.ArtifactDelta[name] = saved.Version
		message.Parts[i] = &event.Part{Text: fmt.Sprintf("[Uploaded Artifact: %q]", name)}
	}
	req.Message = message
	return nil
}
