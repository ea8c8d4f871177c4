package artifact_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/parley-run/parley/artifact"
	_ "github.com/parley-run/parley/artifact/gcs" // TestOpen opens its URLs
	_ "github.com/parley-run/parley/artifact/s3"  // as above
	"github.com/parley-run/parley/tool"
)

// own is the smallest service that an author could write.
type own struct {
	mu   sync.Mutex
	data map[string][]byte
}

func (o *own) Put(_ context.Context, key string, content io.Reader, fresh bool) error {
	doc, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, ok := o.data[key]; ok && fresh {
		return artifact.ErrExists
	}
	o.data[key] = doc
	return nil
}

func (o *own) Get(_ context.Context, key string) (io.ReadSeekCloser, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	doc, ok := o.data[key]
	if !ok {
		return nil, artifact.ErrMissing
	}
	return struct {
		io.ReadSeeker
		io.Closer
	}{bytes.NewReader(doc), io.NopCloser(nil)}, nil
}

func (o *own) List(_ context.Context, prefix string) (keys []string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for key := range o.data {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

func (o *own) Remove(_ context.Context, key string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.data, key)
	return nil
}

// service is what the scheme below opens. Each test empties it.
var service own

func init() {
	artifact.Register("own", func(at *url.URL) (artifact.Objects, error) {
		if at.Host != "files" {
			return nil, fmt.Errorf("opened %v", at)
		}
		return &service, nil
	})
}

func TestRegister(t *testing.T) {
	service.data = map[string][]byte{}
	store, err := artifact.Open("own://files")
	if err != nil {
		t.Fatal(err)
	}
	files := store.In(artifact.Place{App: "app", User: "u", Session: "s"})
	for _, text := range []string{"one", "two"} {
		if _, err := files.Save(t.Context(), tool.Artifact{Name: "a.txt"}, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	versions, err := files.Versions(t.Context(), "a.txt")
	if err != nil || len(versions) != 2 || len(service.data) == 0 {
		t.Errorf("%d versions, %v", len(versions), err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a second scheme of this name was registered")
		}
	}()
	artifact.Register("own", nil)
}
