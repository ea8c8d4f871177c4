package artifact

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/parley-run/parley/tool"
)

// Save stores the next version of a file.
func (f *files) Save(ctx context.Context, a tool.Artifact, content io.Reader) (*tool.Artifact, error) {
	if err := f.ready(a.Name); err != nil {
		return nil, err
	}
	if a.MIMEType == "" {
		a.MIMEType = "application/octet-stream"
		if a.Text {
			a.MIMEType = "text/plain"
		}
	}
	r := record{
		Name: a.Name, MIMEType: a.MIMEType, Text: a.Text, FileURI: a.FileURI, Metadata: a.CustomMetadata,
		Created: f.store.now().UTC().Truncate(time.Microsecond), Nonce: strings.ToLower(rand.Text()),
	}
	if a.FileURI == "" {
		counted := &counter{Reader: content}
		r.Data = dataPrefix + r.Nonce
		key := f.place.of(a.Name) + r.Data
		if err := f.store.objects.Put(ctx, key, counted, false); err != nil {
			return nil, fmt.Errorf("save the artifact %s: %w", a.Name, err)
		}
		r.Size = counted.n
	}
	version, tried, err := f.number(ctx, &r)
	if err != nil {
		f.undo(ctx, &r, tried)
		return nil, fmt.Errorf("save the artifact %s: %w", a.Name, err)
	}
	return f.describe(&r, version), nil
}

// undoWithin bounds the cleanup after a failure.
const undoWithin = 10 * time.Second

// undo removes the remains of a version that could not be saved, even if the caller is cancelled: the record, which may
// be under the last key that was tried, and then the content. It keeps the content while a record may refer to it:
// unreferenced content does no harm, but a record without content hides the previous version.
func (f *files) undo(ctx context.Context, r *record, tried string) {
	underway := ctx.Err() != nil // the last request may not have arrived yet
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWithin)
	defer cancel()
	if tried != "" {
		there, err := f.record(ctx, tried)
		switch {
		case err == nil && there.Nonce == r.Nonce:
			if f.store.objects.Remove(ctx, tried) != nil {
				return
			}
		case errors.Is(err, ErrMissing) && underway, err != nil && !errors.Is(err, ErrMissing):
			return
		}
	}
	if r.Data != "" {
		_ = f.store.objects.Remove(ctx, f.place.of(r.Name)+r.Data)
	}
}

// counter counts the bytes that are read.
type counter struct {
	io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// number stores a record under the next number. On failure, the record may be under the last key that was tried, if
// any.
func (f *files) number(ctx context.Context, r *record) (next int64, tried string, err error) {
	doc, err := json.Marshal(r)
	if err != nil {
		return 0, "", err
	}
	there, err := f.find(ctx, r.Name)
	if err != nil {
		return 0, "", err
	}
	if n := len(there.versions); n > 0 {
		next = there.versions[n-1] + 1
	}
	for ; ; next++ {
		tried = f.key(r.Name, there.series, next)
		err = f.store.objects.Put(ctx, tried, bytes.NewReader(doc), true)
		if err == nil {
			break
		}
		if !errors.Is(err, ErrExists) {
			return 0, tried, err
		}
		other, err := f.record(ctx, tried)
		if err == nil && other.Nonce == r.Nonce {
			break // it was sent twice, because the first response was lost
		}
		if err != nil && !errors.Is(err, ErrMissing) {
			return 0, tried, err
		}
		// another process was faster
	}
	// A process that ended the series in the meantime may have checked too early to see this version.
	now, err := f.find(ctx, r.Name)
	if err == nil && now.series != there.series {
		err = f.drop(ctx, r.Name, tried)
	}
	return next, tried, err
}
