// Package artifact stores versions of files for sessions and users: in memory, in
// a directory, or in an object store. Open opens the store of a URL, and Store.In
// returns the files of one session, as tools see them.
//
// The packages s3 and gcs add buckets of Amazon S3 and Google Cloud Storage. A
// program adds object stores of its own with Register.
//
// A version is two objects. The content is written first, under a unique key. Then
// a small record that refers to it is written under the number of the version, on
// the condition that the number is free. If it is taken, the writer tries the next
// number, without sending the content again. So versions are dense, on any number
// of servers, and readers never see a partial one. (A writer that fails after it has
// taken a number releases it, and may leave a gap.)
//
// Deleting a file ends its series of versions, with a mark that stays, and later
// versions begin another series. So a version that is saved while the file is
// deleted is either deleted with it, or the first of the next series.
package artifact

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-run/parley/internal/objects"
	"github.com/parley-run/parley/tool"
)

// ErrNotConfigured means that the server has no artifact store.
var ErrNotConfigured = errors.New("Artifact service is not configured. Start the server with --artifact_service_uri (Artifacts.URL), " + //nolint:staticcheck // it is for clients
	"which names a place that all servers share, such as s3://bucket or gs://bucket")

// Objects stores bytes under keys. A program registers its own with Register. Its methods must be safe for concurrent
// use.
type Objects interface {
	// Put stores an object atomically. With fresh, it fails with ErrExists if the object exists, even under
	// concurrency.
	Put(ctx context.Context, key string, content io.Reader, fresh bool) error
	// Get reads an object; ErrMissing if there is none.
	Get(ctx context.Context, key string) (io.ReadSeekCloser, error)
	// List lists the keys that start with a prefix, which ends with a slash.
	List(ctx context.Context, prefix string) ([]string, error)
	// Remove deletes an object. Removing one that does not exist is not an error.
	Remove(ctx context.Context, key string) error
}

// Errors that Objects return.
var (
	ErrExists  = objects.ErrExists  // the object exists already
	ErrMissing = objects.ErrMissing // there is no such object
)

// Store stores the files of all users. A nil or zero Store is not configured.
type Store struct {
	objects Objects
	now     func() time.Time
}

// In returns the files of a session and of its user.
func (s *Store) In(p Place) tool.Artifacts { return &files{store: s, place: p} }

// Remove deletes the files of a session. Those of its user stay.
func (s *Store) Remove(ctx context.Context, p Place) error {
	if !s.works() {
		return nil
	}
	for {
		keys, err := s.objects.List(ctx, p.dir())
		if err != nil {
			return fmt.Errorf("delete the artifacts of a session: %w", err)
		}
		if len(keys) == 0 { // and none was added in the meantime
			return nil
		}
		for _, key := range keys {
			if err := s.objects.Remove(ctx, key); err != nil {
				return fmt.Errorf("delete the artifacts of a session: %w", err)
			}
		}
	}
}

// Sweep removes the temporary files of processes that died while they saved files, and returns their number.
func (s *Store) Sweep(ctx context.Context) (removed int, err error) {
	if !s.works() {
		return 0, nil
	}
	d, ok := s.objects.(*dir)
	if !ok {
		return 0, nil // the others store objects atomically
	}
	if removed, err = d.sweep(ctx, s.now()); err != nil {
		return removed, fmt.Errorf("remove abandoned artifacts: %w", err)
	}
	return removed, nil
}

// Copy copies the files of a session to another one, which has none.
func (s *Store) Copy(ctx context.Context, from, to Place) error {
	if !s.works() {
		return nil
	}
	keys, err := s.objects.List(ctx, from.dir())
	if err != nil {
		return fmt.Errorf("copy the artifacts of a session: %w", err)
	}
	// Content first: a record must not refer to missing content.
	slices.SortStableFunc(keys, func(a, b string) int {
		return strings.Compare(strings.TrimPrefix(a, from.dir()), strings.TrimPrefix(b, from.dir()))
	})
	f := &files{store: s, place: from}
	for _, key := range keys {
		if _, err := f.copyObject(ctx, strings.TrimPrefix(key, from.dir()), to, false); err != nil {
			return fmt.Errorf("copy the artifacts of a session: %w", err)
		}
	}
	return nil
}

// CopyVersions copies those versions of the files of a session to another session for
// which which reports true, with their numbers. It replaces no versions. With names, it
// copies only files with these names.
func (s *Store) CopyVersions(ctx context.Context, from, to Place, which func(*tool.Artifact) bool, names ...string) error {
	if !s.works() {
		return nil
	}
	f := &files{store: s, place: from}
	dirs := []string{from.dir()}
	if len(names) > 0 {
		dirs = nil
	}
	for _, name := range names {
		if !strings.HasPrefix(name, userPrefix) { // the session does not have it
			dirs = append(dirs, f.dir(name))
		}
	}
	for _, dir := range dirs {
		keys, err := s.objects.List(ctx, dir)
		for _, key := range keys {
			if err == nil {
				err = f.copyVersion(ctx, key, to, which)
			}
		}
		if err != nil {
			return fmt.Errorf("copy artifacts: %w", err)
		}
	}
	return nil
}

// copyVersion copies the version whose record has a key, or the mark with that key. It
// ignores keys of contents.
func (f *files) copyVersion(ctx context.Context, key string, to Place, which func(*tool.Artifact) bool) error {
	name := strings.TrimPrefix(key, f.place.dir())
	if strings.HasPrefix(name, dataPrefix) {
		return nil
	}
	_, number, _ := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ".")
	if version, err := strconv.ParseInt(number, 10, 64); err == nil { // a mark has none
		r, err := f.record(ctx, key)
		if errors.Is(err, ErrMissing) {
			return nil // deleted in the meantime
		}
		if err != nil || !which(f.describe(r, version)) {
			return err
		}
		if r.Data != "" { // content first: a record must not refer to missing content
			if found, err := f.copyObject(ctx, r.Data, to, false); err != nil || !found {
				return err
			}
		}
	}
	_, err := f.copyObject(ctx, name, to, true)
	if errors.Is(err, ErrExists) {
		return nil
	}
	return err
}

// copyObject copies an object of a session. It reports false if there is none.
func (f *files) copyObject(ctx context.Context, name string, to Place, fresh bool) (found bool, err error) {
	content, err := f.store.objects.Get(ctx, f.place.dir()+name)
	if errors.Is(err, ErrMissing) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer content.Close()
	return true, f.store.objects.Put(ctx, to.dir()+name, content, fresh)
}

func (s *Store) works() bool { return s != nil && s.objects != nil }

// files is a Store for one session.
type files struct {
	store *Store
	place Place
}

// record describes a version. It is stored next to its content.
type record struct {
	Name     string                     `json:"name"`
	MIMEType string                     `json:"mimeType,omitempty"`
	Size     int64                      `json:"size"`
	Text     bool                       `json:"text,omitempty"`
	FileURI  string                     `json:"fileUri,omitempty"`
	Metadata map[string]json.RawMessage `json:"customMetadata,omitempty"`
	Created  time.Time                  `json:"createTime"`
	Data     string                     `json:"data,omitempty"` // the suffix of the content's key
	Nonce    string                     `json:"nonce"`          // of the call that saved it
}

// dataPrefix begins the keys of contents.
const dataPrefix = "data/"

// dir returns the prefix of the records of a file.
func (f *files) dir(name string) string { return f.place.of(name) + "n-" + segment(name) + "/" }

// versionSet is the stored state of a file: the current series, and the versions in it.
type versionSet struct {
	series   int64
	versions []int64
}

// look reads a versionSet from the keys in a file's directory.
func look(keys []string) versionSet {
	type record struct{ series, version int64 }
	var s versionSet
	var all []record
	for _, key := range keys {
		first, second, _ := strings.Cut(key[strings.LastIndexByte(key, '/')+1:], ".")
		series, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			continue
		}
		if second == "end" {
			s.series = max(s.series, series+1)
		} else if version, err := strconv.ParseInt(second, 10, 64); err == nil {
			all = append(all, record{series, version})
		}
	}
	for _, r := range all {
		if r.series == s.series {
			s.versions = append(s.versions, r.version)
		}
	}
	slices.Sort(s.versions)
	return s
}

// key returns the key of the record of a version.
func (f *files) key(name string, series, version int64) string {
	return fmt.Sprintf("%s%d.%d", f.dir(name), series, version)
}

// mark returns the key of the object that ends a series.
func (f *files) mark(name string, series int64) string {
	return fmt.Sprintf("%s%d.end", f.dir(name), series)
}

func (f *files) ready(name string) error {
	if !f.store.works() {
		return ErrNotConfigured
	}
	return CheckName(name)
}

// find returns the stored state of a file.
func (f *files) find(ctx context.Context, name string) (versionSet, error) {
	keys, err := f.store.objects.List(ctx, f.dir(name))
	return look(keys), err
}

// record reads the record of a version.
func (f *files) record(ctx context.Context, key string) (*record, error) {
	content, err := f.store.objects.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	r := &record{}
	if err := json.NewDecoder(content).Decode(r); err != nil {
		return nil, fmt.Errorf("read what is known of an artifact: %w", err)
	}
	return r, nil
}

func (f *files) describe(r *record, version int64) *tool.Artifact {
	return &tool.Artifact{
		Name: r.Name, Version: version, MIMEType: r.MIMEType, Size: r.Size, Text: r.Text, FileURI: r.FileURI,
		CustomMetadata: r.Metadata, Created: r.Created, URI: f.place.uri(r.Name, version),
	}
}

// Open reads a version.
func (f *files) Open(ctx context.Context, name string, version int64) (*tool.Artifact, io.ReadSeekCloser, error) {
	if err := f.ready(name); err != nil {
		return nil, nil, err
	}
	there, err := f.find(ctx, name)
	if err != nil {
		return nil, nil, fmt.Errorf("look for the artifact %s: %w", name, err)
	}
	if version < 0 && len(there.versions) > 0 {
		version = there.versions[len(there.versions)-1]
	}
	if !slices.Contains(there.versions, version) {
		return nil, nil, tool.ErrNoArtifact
	}
	r, err := f.record(ctx, f.key(name, there.series, version))
	var content io.ReadSeekCloser = bare{bytes.NewReader(nil)}
	if err == nil && r.Data != "" {
		content, err = f.store.objects.Get(ctx, f.place.of(name)+r.Data)
	}
	if errors.Is(err, ErrMissing) {
		return nil, nil, tool.ErrNoArtifact
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the artifact %s: %w", name, err)
	}
	return f.describe(r, version), content, nil
}

// bare has a Close method that does nothing.
type bare struct{ *bytes.Reader }

func (bare) Close() error { return nil }

// List returns the names of all files.
func (f *files) List(ctx context.Context) ([]string, error) {
	if !f.store.works() {
		return nil, ErrNotConfigured
	}
	names := []string{}
	for _, where := range []string{f.place.dir(), f.place.userDir() + "user/"} {
		keys, err := f.store.objects.List(ctx, where)
		if err != nil {
			return nil, fmt.Errorf("list the artifacts: %w", err)
		}
		dirs := map[string][]string{}
		for _, key := range keys {
			dir, _, ok := strings.Cut(strings.TrimPrefix(key, where), "/")
			if dir, isName := strings.CutPrefix(dir, "n-"); ok && isName {
				dirs[dir] = append(dirs[dir], key)
			}
		}
		for dir, keys := range dirs {
			there := look(keys)
			if len(there.versions) == 0 {
				continue
			}
			name, ok := unsegment(dir)
			if !ok { // the name was cut, but the records have it
				r, err := f.record(ctx, fmt.Sprintf("%sn-%s/%d.%d", where, dir, there.series, there.versions[0]))
				if errors.Is(err, ErrMissing) {
					continue // deleted in the meantime
				}
				if err != nil {
					return nil, fmt.Errorf("list the artifacts: %w", err)
				}
				name = r.Name
			}
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Versions describes all versions of a file.
func (f *files) Versions(ctx context.Context, name string) ([]*tool.Artifact, error) {
	if err := f.ready(name); err != nil {
		return nil, err
	}
	there, err := f.find(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("list the versions of the artifact %s: %w", name, err)
	}
	list := make([]*tool.Artifact, 0, len(there.versions))
	for _, version := range there.versions {
		r, err := f.record(ctx, f.key(name, there.series, version))
		if errors.Is(err, ErrMissing) {
			continue // deleted in the meantime
		}
		if err != nil {
			return nil, fmt.Errorf("list the versions of the artifact %s: %w", name, err)
		}
		list = append(list, f.describe(r, version))
	}
	return list, nil
}

// Delete deletes all versions of a file.
func (f *files) Delete(ctx context.Context, name string) error {
	if err := f.ready(name); err != nil {
		return err
	}
	if err := f.end(ctx, name); err != nil {
		return fmt.Errorf("delete the artifact %s: %w", name, err)
	}
	return nil
}

// end ends the current series and removes its objects. Only the latest mark stays.
func (f *files) end(ctx context.Context, name string) error {
	there, err := f.find(ctx, name)
	if err != nil || len(there.versions) == 0 {
		return err
	}
	mark := f.mark(name, there.series)
	if err := f.store.objects.Put(ctx, mark, strings.NewReader(""), true); err != nil && !errors.Is(err, ErrExists) {
		return err
	}
	keys, err := f.store.objects.List(ctx, f.dir(name))
	if err != nil {
		return err
	}
	for _, key := range keys {
		var series int64
		if _, err := fmt.Sscanf(strings.TrimPrefix(key, f.dir(name)), "%d.", &series); err != nil || series > there.series || key == mark {
			continue
		}
		if err := f.drop(ctx, name, key); err != nil {
			return err
		}
	}
	return nil
}

// drop removes a record, and then its content, which is no longer referenced.
func (f *files) drop(ctx context.Context, name, key string) error {
	var r record
	if !strings.HasSuffix(key, ".end") {
		known, err := f.record(ctx, key)
		if errors.Is(err, ErrMissing) {
			return nil
		}
		if err != nil {
			return err
		}
		r = *known
	}
	if err := f.store.objects.Remove(ctx, key); err != nil || r.Data == "" {
		return err
	}
	return f.store.objects.Remove(ctx, f.place.of(name)+r.Data)
}
