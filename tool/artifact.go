package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/parley-run/parley/event"
)

// Artifact is one version of a file that belongs to a session or, if its name
// starts with "user:", to the user.
type Artifact struct {
	Name     string // may have slashes
	Version  int64  // from 0
	MIMEType string
	Size     int64 // in bytes
	// Text means that it was saved as text, and is shown as such.
	Text bool
	// FileURI is where the content is, if it is not kept here.
	FileURI string
	// CustomMetadata is arbitrary data that was saved with it.
	CustomMetadata map[string]json.RawMessage
	Created        time.Time
	// URI identifies this version globally.
	URI string
}

// LatestArtifact stands for the latest version.
const LatestArtifact = -1

// ErrNoArtifact means that there is no artifact of that name, or no such
// version of it.
var ErrNoArtifact = errors.New("Artifact not found")

// Artifacts stores the files of a session and of its user. It is safe for
// concurrent use.
type Artifacts interface {
	// Save stores the next version of the file that a names, and returns a with
	// all members set.
	Save(ctx context.Context, a Artifact, content io.Reader) (*Artifact, error)
	// Open reads a version, which may be LatestArtifact. The error is
	// ErrNoArtifact if there is none.
	Open(ctx context.Context, name string, version int64) (*Artifact, io.ReadSeekCloser, error)
	// List returns the names of all files, sorted.
	List(ctx context.Context) ([]string, error)
	// Versions describes all versions of a file, the oldest first.
	Versions(ctx context.Context, name string) ([]*Artifact, error)
	// Delete deletes all versions of a file. It is not an error if there is
	// none.
	Delete(ctx context.Context, name string) error
}

var errNoArtifacts = errors.New("Artifact service is not initialized. Only what an agent of a server runs has artifacts")

// SaveArtifact stores a part as the next version of a file, and records it in
// the event of the call. The part is text, inline data, or a reference to a
// file elsewhere.
func (c *Context) SaveArtifact(name string, part *event.Part) (version int64, err error) {
	a, content, err := NewArtifact(name, part)
	if err != nil {
		return 0, err
	}
	return c.WriteArtifact(a, content)
}

// WriteArtifact is like SaveArtifact for content that is not in memory.
func (c *Context) WriteArtifact(a Artifact, content io.Reader) (version int64, err error) {
	if c.Artifacts == nil {
		return 0, errNoArtifacts
	}
	saved, err := c.Artifacts.Save(c, a, content)
	if err != nil {
		return 0, err
	}
	if c.Actions.ArtifactDelta == nil {
		c.Actions.ArtifactDelta = map[string]int64{}
	}
	c.Actions.ArtifactDelta[a.Name] = saved.Version
	return saved.Version, nil
}

// LoadArtifact returns a version of a file, the latest one for LatestArtifact.
// The error is ErrNoArtifact if there is none.
func (c *Context) LoadArtifact(name string, version int64) (*event.Part, error) {
	a, content, err := c.OpenArtifact(name, version)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	return a.Part(content)
}

// OpenArtifact is like LoadArtifact for content that is not in memory. The caller
// must close it.
func (c *Context) OpenArtifact(name string, version int64) (*Artifact, io.ReadSeekCloser, error) {
	if c.Artifacts == nil {
		return nil, nil, errNoArtifacts
	}
	return c.Artifacts.Open(c, name, version)
}

// ListArtifacts returns the names of the files of the session and of the user.
func (c *Context) ListArtifacts() ([]string, error) {
	if c.Artifacts == nil {
		return nil, errNoArtifacts
	}
	return c.Artifacts.List(c)
}

// ArtifactVersions describes the versions of a file, the oldest first.
func (c *Context) ArtifactVersions(name string) ([]*Artifact, error) {
	if c.Artifacts == nil {
		return nil, errNoArtifacts
	}
	return c.Artifacts.Versions(c, name)
}

// NewArtifact returns a part as a file that can be saved, and its content.
func NewArtifact(name string, part *event.Part) (Artifact, io.Reader, error) {
	a := Artifact{Name: name}
	switch {
	case part == nil:
	case part.InlineData != nil:
		a.MIMEType = part.InlineData.MIMEType
		return a, bytes.NewReader(part.InlineData.Data), nil
	case part.FileData != nil && part.FileData.FileURI != "":
		a.MIMEType, a.FileURI = part.FileData.MIMEType, part.FileData.FileURI
		return a, strings.NewReader(""), nil
	case part.IsText():
		a.Text = true
		return a, strings.NewReader(part.Text), nil
	}
	return a, nil, errors.New("an artifact must be text, inlineData or fileData")
}

// Part returns the file as a part of a message.
func (a *Artifact) Part(content io.Reader) (*event.Part, error) {
	if a.FileURI != "" {
		return &event.Part{FileData: &event.FileData{MIMEType: a.MIMEType, FileURI: a.FileURI}}, nil
	}
	data, err := io.ReadAll(content)
	if err != nil {
		return nil, fmt.Errorf("read the artifact %s: %w", a.Name, err)
	}
	if a.Text {
		return &event.Part{Text: string(data)}, nil
	}
	return &event.Part{InlineData: &event.Blob{MIMEType: a.MIMEType, Data: data}}, nil
}
