package artifact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/objects/s3"
	"github.com/parley-run/parley/tool"
)

// stores are all that there are. Each passes the whole suite.
var stores = map[string]func(t *testing.T) Objects{
	"memory": func(*testing.T) Objects { return &memory{data: map[string][]byte{}} },
	"dir": func(t *testing.T) Objects {
		t.Helper()
		d := &dir{where: filepath.Join(t.TempDir(), "made", "here")}
		t.Cleanup(func() { _ = d.Close() })
		return d
	},
	"s3": func(t *testing.T) Objects {
		t.Helper()
		return newS3(t)
	},
	"gcs": func(t *testing.T) Objects {
		t.Helper()
		return newGCS(t)
	},
}

// kit is a store, and what tests do with it.
type kit struct {
	*testing.T
	store *Store
}

func TestStore(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			for what, check := range map[string]func(*kit){
				"Versions": versions, "Names": names, "Scopes": scopes, "Delete": deletes, "Missing": missing, "Refused": refused,
				"Parts": parts, "Large": large, "Broken": broken, "Concurrent": concurrent, "DeletedWhileSaving": deletedWhileSaving,
				"Sessions": sessions, "Copied": copied, "Seek": seek,
			} {
				t.Run(what, func(t *testing.T) { check(&kit{t, newStore(open(t))}) })
			}
		})
	}
}

var home = Place{App: "app", User: "User/ä", Session: "s1"}

func (k *kit) files(session string) tool.Artifacts {
	p := home
	p.Session = session
	return k.store.In(p)
}

func (k *kit) save(f tool.Artifacts, name, text string) *tool.Artifact {
	k.Helper()
	a, err := f.Save(k.Context(), tool.Artifact{Name: name, MIMEType: "text/x"}, strings.NewReader(text))
	if err != nil {
		k.Fatalf("save %q: %v", name, err)
	}
	return a
}

func (k *kit) read(f tool.Artifacts, name string, version int64) string {
	k.Helper()
	_, content, err := f.Open(k.Context(), name, version)
	if err != nil {
		k.Fatalf("open version %d of %q: %v", version, name, err)
	}
	data, err := io.ReadAll(content)
	if err := errors.Join(err, content.Close()); err != nil {
		k.Fatal(err)
	}
	return string(data)
}

func (k *kit) list(f tool.Artifacts, want ...string) {
	k.Helper()
	got, err := f.List(k.Context())
	if err != nil {
		k.Fatal(err)
	}
	if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
		k.Errorf("names, -want +got:\n%s", diff)
	}
}

func (k *kit) numbers(f tool.Artifacts, name string) []int64 {
	k.Helper()
	list, err := f.Versions(k.Context(), name)
	if err != nil {
		k.Fatal(err)
	}
	numbers := []int64{}
	for _, a := range list {
		numbers = append(numbers, a.Version)
	}
	return numbers
}

func (k *kit) missing(f tool.Artifacts, name string, version int64) {
	k.Helper()
	if _, _, err := f.Open(k.Context(), name, version); !errors.Is(err, tool.ErrNoArtifact) {
		k.Errorf("open version %d of %q: %v, want %v", version, name, err, tool.ErrNoArtifact)
	}
}

// Versions count from 0, and every one stays as it was saved.
func versions(k *kit) {
	f := k.files("s1")
	for i := range 12 { // more than one digit
		a, err := f.Save(k.Context(), tool.Artifact{
			Name: "a.txt", MIMEType: "text/x", CustomMetadata: map[string]json.RawMessage{"n": json.RawMessage(fmt.Sprint(i))},
		}, strings.NewReader(fmt.Sprint("v", i)))
		if err != nil || a.Version != int64(i) {
			k.Fatalf("got %+v and %v, want version %d", a, err, i)
		}
	}
	if got := k.read(f, "a.txt", tool.LatestArtifact); got != "v11" {
		k.Errorf("the latest is %q", got)
	}
	if got := k.read(f, "a.txt", 2); got != "v2" {
		k.Errorf("version 2 is %q", got)
	}
	k.missing(f, "a.txt", 12)
	list, err := f.Versions(k.Context(), "a.txt")
	if err != nil || len(list) != 12 {
		k.Fatalf("got %v and %v", list, err)
	}
	for i, a := range list {
		want := &tool.Artifact{
			Name: "a.txt", Version: int64(i), MIMEType: "text/x", Size: int64(len(fmt.Sprint("v", i))), Created: a.Created,
			CustomMetadata: map[string]json.RawMessage{"n": json.RawMessage(fmt.Sprint(i))},
			URI:            fmt.Sprintf("artifact://apps/app/users/User%%2F%%C3%%A4/sessions/s1/artifacts/a.txt/versions/%d", i),
		}
		if diff := cmp.Diff(want, a); diff != "" || a.Created.IsZero() {
			k.Errorf("version %d, -want +got:\n%s", i, diff)
		}
	}
}

// Names are distinguished, whatever is in them, and come back as they were.
func names(k *kit) {
	f := k.files("s1")
	all := []string{
		"a", "A", "a.", "a.b", "a/b", "a/B/c.txt", "=41", "%41", "a~b", "0", "a/0", "con", "AUX.txt", "user", "data", "n-a", "tmp",
		"データ.csv", "дом/файл", "🙂", "with space", `back\slash`, "a:b", "\u00e9", "e\u0301", "...", ".hidden", "versions",
		strings.Repeat("x", maxName), strings.Repeat("x", maxName-1) + "y", strings.Repeat("語", maxName),
		"user:" + strings.Repeat("z", 300),
	}
	for _, name := range all {
		if a := k.save(f, name, "content of "+name); a.Version != 0 {
			k.Errorf("%q is taken for another file", name)
		}
	}
	for _, name := range all {
		if got := k.read(f, name, 0); got != "content of "+name {
			k.Errorf("%q has the %s", name, got)
		}
	}
	slices.Sort(all)
	k.list(f, all...)
}

// Files are those of one session of one user of one application, but for user:.
func scopes(k *kit) {
	k.save(k.files("s1"), "a", "one")
	k.save(k.files("s1"), "user:pref/a", "mine")
	k.list(k.files("s1"), "a", "user:pref/a")
	k.list(k.files("s2"), "user:pref/a")
	k.missing(k.files("s2"), "a", 0)
	if a := k.save(k.files("s2"), "user:pref/a", "again"); a.Version != 1 || strings.Contains(a.URI, "/sessions/") {
		k.Errorf("got %+v, want version 1 of no session", a)
	}
	if got := k.read(k.files("s1"), "user:pref/a", tool.LatestArtifact); got != "again" {
		k.Errorf("got %q", got)
	}
	for _, other := range []Place{
		{"app", "other", "s1"},
		{"other", "User/ä", "s1"},
		{"app", "User", "ä/s1"},
		{"app", "user/ä", "s1"},
	} {
		k.list(k.store.In(other))
		k.missing(k.store.In(other), "a", 0)
		k.missing(k.store.In(other), "user:pref/a", 0)
	}
}

func deletes(k *kit) {
	f := k.files("s1")
	k.save(f, "a", "0")
	k.save(f, "a", "1")
	k.save(f, "a/b", "stays")
	for range 2 { // the second time there is nothing
		if err := f.Delete(k.Context(), "a"); err != nil {
			k.Fatal(err)
		}
	}
	k.missing(f, "a", tool.LatestArtifact)
	k.missing(f, "a", 0)
	k.list(f, "a/b")
	if keys, err := k.store.objects.List(k.Context(), home.dir()); err != nil || len(keys) != 3 {
		k.Errorf("%v and %v are left, want a mark, and the record and the content of a/b", keys, err)
	}
	if a := k.save(f, "a", "new"); a.Version != 0 {
		k.Errorf("after it was deleted, a file begins with version %d", a.Version)
	}
}

func missing(k *kit) {
	f := k.files("s1")
	k.list(f)
	k.missing(f, "a", 0)
	k.missing(f, "a", tool.LatestArtifact)
	if got := k.numbers(f, "a"); len(got) != 0 {
		k.Errorf("a file that is not there has the versions %v", got)
	}
}

// Ambiguous and meaningless names are refused before anything is stored.
func refused(k *kit) {
	f := k.files("s1")
	for _, name := range []string{
		"", "user:", "/etc/passwd", "../a", "a/../b", "a/./b", "..", ".", "a//b", "a/", "user:../x", "user:/x",
		"nul\x00", "line\nbreak", "\xff", strings.Repeat("x", maxName+1), "a/versions", "a/versions/0", "user:a/versions/b",
	} {
		_, err := f.Save(k.Context(), tool.Artifact{Name: name}, strings.NewReader("x"))
		if _, ok := errors.AsType[*NameError](err); !ok {
			k.Errorf("save %q: %v", name, err)
		}
		if _, _, err := f.Open(k.Context(), name, 0); err == nil {
			k.Errorf("%q can be read", name)
		}
		if err := f.Delete(k.Context(), name); err == nil {
			k.Errorf("%q can be deleted", name)
		}
	}
	k.list(f)
}

// A part comes back as it was.
func parts(k *kit) {
	tc := &tool.Context{Context: k.Context(), Artifacts: k.files("s1"), Actions: &event.Actions{}}
	for name, part := range map[string]*event.Part{
		"text":   {Text: "hello \u2028 wörld"},
		"empty":  {},
		"bytes":  {InlineData: &event.Blob{MIMEType: "image/png", Data: []byte{0, 255, 1}}},
		"remote": {FileData: &event.FileData{MIMEType: "video/mp4", FileURI: "gs://other/file"}},
	} {
		version, err := tc.SaveArtifact(name, part)
		if err != nil || version != 0 || tc.Actions.ArtifactDelta[name] != 0 {
			k.Fatalf("%s: got %d and %v", name, version, err)
		}
		got, err := tc.LoadArtifact(name, tool.LatestArtifact)
		if err != nil {
			k.Fatal(err)
		}
		if diff := cmp.Diff(part, got); diff != "" {
			k.Errorf("%s, -want +got:\n%s", name, diff)
		}
	}
	if len(tc.Actions.ArtifactDelta) != 4 {
		k.Errorf("the actions tell of %v", tc.Actions.ArtifactDelta)
	}
	if _, err := tc.SaveArtifact("call", &event.Part{FunctionCall: &event.FunctionCall{Name: "x"}}); err == nil {
		k.Error("a function call was saved")
	}
}

// zeros is a lot of content that is nowhere.
type zeros struct{ left int }

func (z *zeros) Read(p []byte) (int, error) {
	if z.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), z.left)
	clear(p[:n])
	z.left -= n
	return n, nil
}

func large(k *kit) {
	const size = s3.PartSize + 256<<10 + 7 // two parts, where there are any
	f := k.files("s1")
	a, err := f.Save(k.Context(), tool.Artifact{Name: "a"}, &zeros{size})
	if err != nil || a.Size != size {
		k.Fatalf("got %+v and %v", a, err)
	}
	_, content, err := f.Open(k.Context(), "a", 0)
	if err != nil {
		k.Fatal(err)
	}
	defer content.Close()
	if n, err := io.Copy(io.Discard, content); n != size || err != nil {
		k.Errorf("read %d bytes and %v, want %d", n, err, size)
	}
}

// A file of which only a part arrives is not there, and leaves nothing.
func broken(k *kit) {
	f := k.files("s1")
	k.save(f, "a", "good")
	lost := errors.New("the connection is lost")
	for _, before := range []int{10, 256<<10 + 10} {
		_, err := f.Save(k.Context(), tool.Artifact{Name: "a"}, io.MultiReader(&zeros{before}, failing{lost}))
		if !errors.Is(err, lost) {
			k.Errorf("got %v, want %v", err, lost)
		}
	}
	gone, cancel := context.WithCancel(k.Context())
	cancel()
	if _, err := f.Save(gone, tool.Artifact{Name: "a"}, strings.NewReader("late")); err == nil {
		k.Error("a file was saved without a user")
	}
	if got := k.numbers(f, "a"); !slices.Equal(got, []int64{0}) {
		k.Errorf("the versions are %v", got)
	}
	if keys, err := k.store.objects.List(k.Context(), home.userDir()); err != nil || len(keys) != 2 {
		k.Errorf("%v and %v are left, want the record and the content of one version", keys, err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// Those who save at once get versions of their own, without a gap.
func concurrent(k *kit) {
	const writers, each = 8, 5
	f := k.files("s1")
	var mu sync.Mutex
	got := map[int64]string{}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				text := fmt.Sprint(w, "/", i)
				a, err := f.Save(k.Context(), tool.Artifact{Name: "a"}, strings.NewReader(text))
				if err != nil {
					k.Errorf("save: %v", err)
					return
				}
				mu.Lock()
				got[a.Version] = text
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for version := range int64(writers * each) {
		if text := k.read(f, "a", version); text != got[version] {
			k.Errorf("version %d is %q, and was saved as %q", version, text, got[version])
		}
	}
}

// Saving while others delete leaves versions without a gap.
func deletedWhileSaving(k *kit) {
	f := k.files("s1")
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 10 {
				if _, err := f.Save(k.Context(), tool.Artifact{Name: "a"}, strings.NewReader("x")); err != nil {
					k.Errorf("save: %v", err)
				}
			}
		})
	}
	wg.Go(func() {
		for range 10 {
			if err := f.Delete(k.Context(), "a"); err != nil {
				k.Errorf("delete: %v", err)
			}
		}
	})
	wg.Wait()
	left := k.numbers(f, "a")
	for i, version := range left {
		if version != int64(i) {
			k.Errorf("the versions are %v", left)
			break
		}
	}
	// Nothing is left of what was deleted but, maybe, a mark.
	if keys, err := k.store.objects.List(k.Context(), home.dir()); err != nil || len(keys) > 2*len(left)+1 {
		k.Errorf("%d versions and %d objects are left (%v): %v", len(left), len(keys), err, keys)
	}
}

// Sessions take their files with them, and can be copied.
func sessions(k *kit) {
	long := strings.Repeat("l", 200)
	for _, name := range []string{"a", "a", "b/c", "user:d", long} {
		k.save(k.files("s1"), name, "in "+name)
	}
	k.save(k.files("s11"), "a", "of another")
	to := Place{App: home.App, User: home.User, Session: "copy"}
	if err := k.store.Copy(k.Context(), home, to); err != nil {
		k.Fatal(err)
	}
	if err := k.store.Remove(k.Context(), home); err != nil {
		k.Fatal(err)
	}
	k.list(k.files("s1"), "user:d")
	k.missing(k.files("s1"), "a", 0)
	k.list(k.files("s11"), "a", "user:d")
	k.list(k.files("copy"), "a", "b/c", long, "user:d")
	if got := k.numbers(k.files("copy"), "a"); !slices.Equal(got, []int64{0, 1}) {
		k.Errorf("the copy has the versions %v", got)
	}
	if got := k.read(k.files("copy"), "b/c", 0); got != "in b/c" {
		k.Errorf("the copy has %q", got)
	}
	if err := k.store.Remove(k.Context(), home); err != nil { // again
		k.Error(err)
	}
}

// Some versions can be copied, and others later, with their numbers.
func copied(k *kit) {
	from, to := k.files("s1"), k.files("copy")
	k.save(from, "deleted", "gone")
	if err := from.Delete(k.Context(), "deleted"); err != nil {
		k.Fatal(err)
	}
	for _, name := range []string{"a", "a", "a", "b/c", "deleted", "user:d"} {
		k.save(from, name, "in "+name)
	}
	pick := func(which func(*tool.Artifact) bool, names ...string) {
		err := k.store.CopyVersions(k.Context(), home, Place{App: home.App, User: home.User, Session: "copy"}, which, names...)
		if err != nil {
			k.Fatal(err)
		}
	}
	pick(func(a *tool.Artifact) bool { return a.Name == "a" && a.Version < 2 })
	k.list(to, "a", "user:d")
	if got := k.numbers(to, "a"); !slices.Equal(got, []int64{0, 1}) {
		k.Errorf("the copy has the versions %v", got)
	}
	k.save(to, "b/c", "of the copy") // it is not replaced
	pick(func(*tool.Artifact) bool { return true }, "a", "deleted", "user:d", "missing")
	k.list(to, "a", "b/c", "deleted", "user:d")
	pick(func(*tool.Artifact) bool { return true })
	if got := k.read(to, "b/c", 0); got != "of the copy" {
		k.Errorf("the copy has %q", got)
	}
	if got := k.numbers(to, "a"); !slices.Equal(got, []int64{0, 1, 2}) {
		k.Errorf("the copy has the versions %v", got)
	}
	if got := k.read(to, "deleted", 0); got != "in deleted" {
		k.Errorf("the copy has %q", got)
	}
	k.save(to, "a", "of the copy")
	if got := [2][]int64{k.numbers(to, "a"), k.numbers(from, "a")}; !slices.Equal(got[0], []int64{0, 1, 2, 3}) || !slices.Equal(got[1], []int64{0, 1, 2}) {
		k.Errorf("after another version, the copy and the original have the versions %v", got)
	}
}

// A part of a file can be read alone.
func seek(k *kit) {
	f := k.files("s1")
	k.save(f, "a", "0123456789")
	_, content, err := f.Open(k.Context(), "a", 0)
	if err != nil {
		k.Fatal(err)
	}
	defer content.Close()
	if size, err := content.Seek(0, io.SeekEnd); size != 10 || err != nil {
		k.Errorf("the end is at %d (%v)", size, err)
	}
	if _, err := content.Seek(4, io.SeekStart); err != nil {
		k.Fatal(err)
	}
	three := make([]byte, 3)
	if _, err := io.ReadFull(content, three); err != nil || string(three) != "456" {
		k.Errorf("got %q and %v", three, err)
	}
	if _, err := content.Seek(-6, io.SeekCurrent); err != nil {
		k.Fatal(err)
	}
	if rest, err := io.ReadAll(content); err != nil || string(rest) != "123456789" {
		k.Errorf("got %q and %v", rest, err)
	}
}

func TestNotConfigured(t *testing.T) {
	for _, s := range []*Store{nil, {}} {
		f := s.In(home)
		if _, err := f.Save(t.Context(), tool.Artifact{Name: "a"}, strings.NewReader("")); !errors.Is(err, ErrNotConfigured) {
			t.Errorf("save: %v", err)
		}
		if _, err := f.List(t.Context()); !errors.Is(err, ErrNotConfigured) {
			t.Errorf("list: %v", err)
		}
		if err := errors.Join(s.Remove(t.Context(), home), s.Copy(t.Context(), home, home), s.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestOpen(t *testing.T) {
	t.Chdir(t.TempDir())
	for address, want := range map[string]string{
		"memory://":                     "",
		"file:///" + t.TempDir():        "",
		"file://relative/dir":           "",
		"s3://bucket/prefix":            "",
		"gs://bucket?endpoint=http://x": "",
		"":                              "must be memory://",
		"/path":                         "must be memory://",
		"ftp://x":                       "must be memory://",
		"file://":                       "needs the path",
		"s3://":                         "needs the name of a bucket",
		"gs:///path":                    "needs the name of a bucket",
		"s3://key:secret@bucket":        "must hold no credentials",
		"s3://bucket?endpoint=nowhere":  "the endpoint must be",
		"s3://%":                        "not a URL",
	} {
		s, err := Open(address)
		if want == "" {
			if err != nil {
				t.Errorf("%q: %v", address, err)
			}
			_ = s.Close()
		} else if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want something with %q", address, err, want)
		}
	}
	if info, err := os.Stat("relative/dir"); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory: %v and %v", info, err)
	}
}

// Two processes that share a directory do not take each other's versions.
func TestDirShared(t *testing.T) {
	where := t.TempDir()
	var wg sync.WaitGroup
	for range 4 {
		s, err := OpenDir(where)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		wg.Go(func() {
			for range 10 {
				if _, err := s.In(home).Save(t.Context(), tool.Artifact{Name: "a"}, strings.NewReader("x")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s, err := OpenDir(where)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := (&kit{t, s}).numbers(s.In(home), "a"); len(got) != 40 || got[39] != 39 {
		t.Errorf("the versions are %v", got)
	}
}

func FuzzSegment(f *testing.F) {
	for _, s := range []string{"", "a", "A", "../x", "=", "~", "é", strings.Repeat("x", 200), "\xff"} {
		f.Add(s, s+"x")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := segment(a), segment(b)
		if (x == y) != (a == b) || strings.EqualFold(x, y) != (a == b) {
			t.Errorf("%q and %q become %q and %q", a, b, x, y)
		}
		if len(x) > maxSegment+1 || strings.ContainsAny(x, "/\\ ") || strings.HasSuffix(x, ".") {
			t.Errorf("%q becomes %q", a, x)
		}
		if back, ok := unsegment(x); ok && back != a {
			t.Errorf("%q comes back as %q", a, back)
		}
	})
}
