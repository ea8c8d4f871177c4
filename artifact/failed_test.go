package artifact

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley/tool"
)

// faultyObjects are objects whose calls fail as a test says.
type faultyObjects struct {
	Objects

	before func(ctx context.Context, call, key string) error // nil: as usual
	after  func(call, key string) error
}

func (o *faultyObjects) do(ctx context.Context, call, key string, f func() error) error {
	if o.before != nil {
		if err := o.before(ctx, call, key); err != nil {
			return err
		}
	}
	if err := f(); err != nil || o.after == nil {
		return err
	}
	return o.after(call, key)
}

func (o *faultyObjects) Put(ctx context.Context, key string, content io.Reader, fresh bool) error {
	return o.do(ctx, "put", key, func() error { return o.Objects.Put(ctx, key, content, fresh) })
}

func (o *faultyObjects) Get(ctx context.Context, key string) (content io.ReadSeekCloser, _ error) {
	return content, o.do(ctx, "get", key, func() (err error) {
		content, err = o.Objects.Get(ctx, key)
		return err
	})
}

func (o *faultyObjects) List(ctx context.Context, prefix string) (keys []string, _ error) {
	return keys, o.do(ctx, "list", prefix, func() (err error) {
		keys, err = o.Objects.List(ctx, prefix)
		return err
	})
}

func (o *faultyObjects) Remove(ctx context.Context, key string) error {
	return o.do(ctx, "remove", key, func() error { return o.Objects.Remove(ctx, key) })
}

var errBusy = errors.New("the object store answers 503")

// A version whose saving fails leaves no record without content: it would hide
// the version before.
func TestSaveFails(t *testing.T) {
	isRecord := func(key string) bool { return strings.Contains(key, "/n-") && !strings.HasSuffix(key, "/") }
	for name, tt := range map[string]struct {
		trouble func(o *faultyObjects, cancel func())
		left    []int64 // versions, all of which can be read
		objects int
	}{
		"the check afterwards is refused": {func(o *faultyObjects, _ func()) {
			put := false
			o.before = func(_ context.Context, call, _ string) error {
				if call == "list" && put {
					return errBusy
				}
				return nil
			}
			o.after = func(call, key string) error {
				put = put || call == "put" && isRecord(key)
				return nil
			}
		}, []int64{0}, 2},
		"the caller leaves before the check": {func(o *faultyObjects, cancel func()) {
			o.before = func(ctx context.Context, _, _ string) error { return ctx.Err() }
			o.after = func(call, key string) error {
				if call == "put" && isRecord(key) {
					cancel()
				}
				return nil
			}
		}, []int64{0}, 2},
		"the answer to the record is lost": {func(o *faultyObjects, _ func()) {
			o.after = func(call, key string) error {
				if call == "put" && isRecord(key) {
					return errBusy
				}
				return nil
			}
		}, []int64{0}, 2},
		"the record is refused": {func(o *faultyObjects, _ func()) {
			o.before = func(_ context.Context, call, key string) error {
				if call == "put" && isRecord(key) {
					return errBusy
				}
				return nil
			}
		}, []int64{0}, 2},
		"the record is cut off, and may arrive later": {func(o *faultyObjects, cancel func()) {
			o.before = func(ctx context.Context, call, key string) error {
				if call == "put" && isRecord(key) {
					cancel()
				}
				return ctx.Err()
			}
		}, []int64{0}, 3},
		"the record cannot be removed": {func(o *faultyObjects, _ func()) {
			put := false
			o.before = func(_ context.Context, call, key string) error {
				if put && call == "list" || call == "remove" && isRecord(key) {
					return errBusy
				}
				return nil
			}
			o.after = func(call, key string) error {
				put = put || call == "put" && isRecord(key)
				return nil
			}
		}, []int64{0, 1}, 4},
		"its existence is unknown": {func(o *faultyObjects, _ func()) {
			o.before = func(_ context.Context, call, key string) error {
				if call == "get" && isRecord(key) {
					return errBusy
				}
				return nil
			}
			o.after = func(call, key string) error {
				if call == "put" && isRecord(key) {
					return ErrExists // it was sent twice
				}
				return nil
			}
		}, []int64{0, 1}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			o := &faultyObjects{Objects: NewMemory().objects}
			k := &kit{t, newStore(o)}
			f := k.files("s1")
			k.save(f, "a", "good")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			tt.trouble(o, cancel)
			if a, err := f.Save(ctx, tool.Artifact{Name: "a"}, strings.NewReader("bad")); err == nil {
				t.Errorf("it was saved as %+v", a)
			}
			o.before, o.after = nil, nil
			if got := k.numbers(f, "a"); !slices.Equal(got, tt.left) {
				t.Errorf("the versions are %v, want %v", got, tt.left)
			}
			for _, version := range tt.left {
				k.read(f, "a", version)
			}
			if keys, err := o.List(t.Context(), home.dir()); err != nil || len(keys) != tt.objects {
				t.Errorf("%v and %v are left, want %d objects", keys, err, tt.objects)
			}
			next := k.save(f, "a", "next")
			if want := int64(len(tt.left)); next.Version != want || k.read(f, "a", tool.LatestArtifact) != "next" {
				t.Errorf("the next version is %d, want %d, and the latest", next.Version, want)
			}
		})
	}
}

// A number that a failed version leaves free between others is not taken again:
// what is saved last is the latest.
func TestSaveAfterGap(t *testing.T) {
	k := &kit{t, NewMemory()}
	f := k.files("s1").(*files)
	for range 4 {
		k.save(f, "a", "x")
	}
	for _, version := range []int64{1, 2} {
		if err := f.drop(t.Context(), "a", f.key("a", 0, version)); err != nil {
			t.Fatal(err)
		}
	}
	if a := k.save(f, "a", "next"); a.Version != 4 || k.read(f, "a", tool.LatestArtifact) != "next" {
		t.Errorf("it was saved as version %d", a.Version)
	}
}

// What a process has left that died while it saved a file is removed, and what
// another one is saving just now is not.
func TestSweep(t *testing.T) {
	t.Parallel()
	where := t.TempDir()
	store, err := OpenDir(where)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	files := store.In(Place{App: "a", User: "u", Session: "s"})
	content, source := io.Pipe()
	saved := make(chan error, 1)
	go func() {
		_, err := files.Save(t.Context(), tool.Artifact{Name: "slow"}, content)
		saved <- err
	}()
	if _, err := source.Write([]byte("half")); err != nil { // it is in progress
		t.Fatal(err)
	}
	left := filepath.Join(where, making, "LEFTBYADEADPROCESS")
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if removed, err := store.Sweep(t.Context()); removed != 0 || err != nil {
		t.Errorf("at once: %d were removed, error %v", removed, err)
	}
	old := time.Now().Add(-2 * abandonedAfter)
	if err := os.Chtimes(left, old, old); err != nil {
		t.Fatal(err)
	}
	if removed, err := store.Sweep(t.Context()); removed != 1 || err != nil {
		t.Errorf("later: %d were removed, error %v", removed, err)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file of the dead process: %v", err)
	}
	_ = source.Close()
	if err := <-saved; err != nil {
		t.Errorf("the file that was being saved: %v", err)
	}
	if removed, err := NewMemory().Sweep(t.Context()); removed != 0 || err != nil {
		t.Errorf("in memory: %d, error %v", removed, err)
	}
}
