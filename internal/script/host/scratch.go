package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/parley-run/parley/internal/bounded"
	"github.com/parley-run/parley/internal/script/tempdir"
)

// Scratch is the directory of one application that its code may write to:
// os.tmpdir(). It is created when it is first needed, and deleted by Close.
type Scratch struct {
	size int64

	mu      sync.Mutex // serializes changes, so that used and entries are exact
	parent  *tempdir.Dir
	dir     string   // in parent
	root    *os.Root // nil if there is none yet
	used    int64
	entries int
	closed  bool
}

// NewScratch returns the scratch directory of an application, whose files may have
// so many bytes together.
func NewScratch(size int64) *Scratch { return &Scratch{size: size} }

// maxScratchEntries limits the files and directories: empty ones take space, too.
const maxScratchEntries = 10_000

// maxScratchDepth limits how deep directories are nested: each level is opened to
// get to the next one.
const maxScratchDepth = 64

// path returns the path of the directory, and creates it if there is none.
func (s *Scratch) path() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.root != nil {
		if _, err := os.Stat(s.dir); !isMissing(err) {
			return s.dir, nil
		}
		// Something deletes old temporary files.
		_ = s.drop()
		s.used, s.entries = 0, 0
	}
	if s.closed {
		return "", fs.ErrClosed
	}
	parent, err := tempdir.New("parley-scratch-")
	if err != nil {
		return "", err
	}
	dir := filepath.Join(parent.Path, "files")
	if err = os.Mkdir(dir, 0o700); err == nil {
		var root *os.Root
		if root, err = os.OpenRoot(dir); err == nil {
			s.parent, s.dir, s.root = parent, dir, root
			return dir, nil
		}
	}
	_ = parent.Close()
	return "", err
}

// Close deletes the directory.
func (s *Scratch) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.root == nil {
		return nil
	}
	return s.drop()
}

// drop deletes the directory. s.mu must be held.
func (s *Scratch) drop() error {
	_ = s.root.Close()
	s.root = nil
	return s.parent.Close()
}

// inside makes an absolute path relative to the directory, if it is below it.
func (s *Scratch) inside(p string) (root *os.Root, name string, ok bool) {
	if s == nil {
		return nil, "", false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.root == nil {
		return nil, "", false
	}
	rel, err := filepath.Rel(s.dir, p)
	return s.root, rel, err == nil && filepath.IsLocal(rel)
}

// fullError means that the application has used all of its space.
type fullError struct{ size int64 }

func (e fullError) Error() string {
	return fmt.Sprintf("the code of an application may keep %s and %d files there; the operator of the server can allow more bytes (--scratch_size)", bounded.Size(e.size), maxScratchEntries)
}

// reserve counts bytes and entries, unless they are too many. s.mu must be held.
func (s *Scratch) reserve(bytes int64, entries int) error {
	if bytes > 0 && s.used+bytes > s.size || entries > 0 && s.entries+entries > maxScratchEntries {
		return fullError{s.size}
	}
	s.used += bytes
	s.entries += entries
	return nil
}

// change does what r requests.
func (s *Scratch) change(root *os.Root, name string, r fileRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.root != root {
		return nil, fs.ErrClosed
	}
	if name == "." && r.Op != "mkdir" {
		return nil, syscall.EBUSY
	}
	if err := checkName(name); err != nil {
		return nil, err
	}
	switch r.Op {
	case "write":
		return nil, s.write(name, r)
	case "truncate":
		return nil, s.resize(name, r.At)
	case "mkdir":
		return s.mkdir(name, r)
	case "rm", "unlink", "rmdir":
		return nil, s.remove(name, r)
	case "chmod":
		mode := fs.FileMode(r.Mode) & fs.ModePerm
		if info, err := root.Stat(name); err == nil && info.IsDir() {
			mode |= 0o700 // otherwise it could not be deleted
		}
		return nil, root.Chmod(name, mode)
	case "utimes":
		of := func(ms float64) time.Time { return time.UnixMicro(int64(ms * 1000)) }
		return nil, root.Chtimes(name, of(r.ATime), of(r.MTime))
	}
	return nil, errors.ErrUnsupported
}

// write writes a part of a file, or all of it. s.mu must be held.
func (s *Scratch) write(name string, r fileRequest) error {
	data, err := r.bytes()
	if err != nil {
		return err
	}
	return s.fill(name, r, int64(len(data)), func(file *os.File, at int64) error {
		_, err := file.WriteAt(data, at)
		return err
	})
}

// fill opens a file as r says, and calls put to write so many bytes at an offset.
// s.mu must be held.
func (s *Scratch) fill(name string, r fileRequest, length int64, put func(file *os.File, at int64) error) error {
	var size int64
	entries := 0
	switch info, err := s.root.Stat(name); {
	case err == nil && info.IsDir():
		return syscall.EISDIR
	case err == nil && r.Exclusive:
		return fs.ErrExist
	case err == nil:
		size = info.Size()
	case !isMissing(err) || !r.Create:
		return err
	default:
		entries = 1
	}
	at, kept := r.At, size
	if r.Truncate {
		kept = 0
	}
	if at < 0 {
		at = kept
	}
	if at > s.size { // a sum could overflow
		return fullError{s.size}
	}
	after := kept
	if length > 0 {
		after = max(kept, at+length)
	}
	if err := s.reserve(after-size, entries); err != nil {
		return err
	}
	err := func() error {
		flags := os.O_RDWR
		if entries > 0 {
			flags |= os.O_CREATE | os.O_EXCL
		}
		if r.Truncate {
			flags |= os.O_TRUNC
		}
		file, err := s.root.OpenFile(name, flags, fs.FileMode(r.Mode)&fs.ModePerm|0o600)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		return put(file, at)
	}()
	if err != nil { // the disk may be full: count what is there
		now, there := int64(0), 0
		if info, failed := s.root.Stat(name); failed == nil {
			now, there = info.Size(), 1
		}
		s.used += now - after
		if entries > 0 {
			s.entries += there - entries
		}
	}
	return err
}

// resize sets the size of a file. s.mu must be held.
func (s *Scratch) resize(name string, size int64) error {
	if size < 0 {
		return syscall.EINVAL
	}
	file, err := s.root.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if size > s.size {
		return fullError{s.size}
	}
	if err := s.reserve(size-info.Size(), 0); err != nil {
		return err
	}
	if err := file.Truncate(size); err != nil {
		s.used -= size - info.Size()
		return err
	}
	return nil
}

// mkdir creates a directory, and those above it if r says so. It returns the first
// one that it created, as Node.js does. s.mu must be held.
func (s *Scratch) mkdir(name string, r fileRequest) (any, error) {
	mode := fs.FileMode(r.Mode)&fs.ModePerm | 0o700
	if !r.Recursive {
		if name == "." {
			return nil, fs.ErrExist
		}
		return nil, s.makeOne(name, mode)
	}
	var first any
	var made strings.Builder
	for part := range strings.SplitSeq(filepath.ToSlash(name), "/") {
		if part == "." {
			continue
		}
		if made.Len() > 0 {
			made.WriteByte(filepath.Separator)
		}
		made.WriteString(part)
		at := made.String()
		if info, err := s.root.Stat(at); err == nil {
			if !info.IsDir() {
				if at == name {
					return nil, fs.ErrExist
				}
				return nil, syscall.ENOTDIR
			}
			continue
		}
		if err := s.makeOne(at, mode); err != nil {
			return nil, err
		}
		if first == nil {
			first = filepath.Join(s.dir, at)
		}
	}
	return first, nil
}

func (s *Scratch) makeOne(name string, mode fs.FileMode) error {
	if err := s.reserve(0, 1); err != nil {
		return err
	}
	err := s.root.Mkdir(name, mode)
	if err != nil {
		s.entries--
	}
	return err
}

// remove deletes a file or a directory. s.mu must be held.
func (s *Scratch) remove(name string, r fileRequest) error {
	info, err := s.root.Lstat(name)
	switch {
	case err != nil:
		return err
	case r.Op == "unlink" && info.IsDir():
		return syscall.EISDIR
	case r.Op == "rmdir" && !info.IsDir():
		return syscall.ENOTDIR
	case r.Op == "rm" && info.IsDir() && !r.Recursive:
		return syscall.EISDIR
	case r.Op == "rm" && r.Recursive:
		bytes, entries := s.count(name)
		if err := s.root.RemoveAll(name); err != nil {
			left, some := s.count(name)
			s.used, s.entries = s.used-bytes+left, s.entries-entries+some
			return err
		}
		s.used, s.entries = s.used-bytes, s.entries-entries
		return nil
	}
	if err := s.root.Remove(name); err != nil {
		return err
	}
	s.entries--
	if info.Mode().IsRegular() {
		s.used -= info.Size()
	}
	return nil
}

// count returns the bytes and entries of a file, or of a directory and what is in
// it.
func (s *Scratch) count(name string) (bytes int64, entries int) {
	_ = fs.WalkDir(s.root.FS(), filepath.ToSlash(name), func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be read is not counted
		}
		entries++
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	return bytes, entries
}

// depth returns the number of names that a path consists of.
func depth(name string) int { return strings.Count(filepath.ToSlash(name), "/") + 1 }

// checkName refuses names of files that are nested too deeply, and those that are not
// UTF-8: package fs does not open them, so what is below them would not be counted.
func checkName(name string) error {
	switch {
	case !utf8.ValidString(name):
		return syscall.EINVAL
	case depth(name) > maxScratchDepth:
		return syscall.ENAMETOOLONG
	}
	return nil
}

// deepest returns the greatest depth of a file, or of a directory and what is in it.
func (s *Scratch) deepest(name string, info fs.FileInfo) int {
	most := depth(name)
	if !info.IsDir() {
		return most
	}
	_ = fs.WalkDir(s.root.FS(), filepath.ToSlash(name), func(p string, _ fs.DirEntry, _ error) error {
		most = max(most, depth(p))
		return nil
	})
	return most
}

// rename moves a file or a directory within the directory.
func (s *Scratch) rename(root *os.Root, from, to string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.root != root {
		return fs.ErrClosed
	}
	if from == "." || to == "." {
		return syscall.EBUSY
	}
	if err := checkName(to); err != nil {
		return err
	}
	old, err := root.Lstat(from)
	if err != nil {
		return err
	}
	if s.deepest(from, old)-depth(from)+depth(to) > maxScratchDepth {
		return syscall.ENAMETOOLONG
	}
	replaced, missing := root.Lstat(to)
	if err := root.Rename(from, to); err != nil {
		return err
	}
	// Two names may be those of one file, such as a and A on some file systems.
	if missing == nil && !os.SameFile(old, replaced) {
		s.entries--
		if replaced.Mode().IsRegular() {
			s.used -= replaced.Size()
		}
	}
	return nil
}

// copy copies a file of any directory that the code may read.
func (s *Scratch) copy(from *os.Root, name string, root *os.Root, to string, r fileRequest) error {
	source, info, err := openRegular(from, name)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.root != root {
		return fs.ErrClosed
	}
	if there, err := root.Stat(to); err == nil && !r.Exclusive && os.SameFile(info, there) {
		return nil // it must not be truncated
	}
	if err := checkName(to); err != nil {
		return err
	}
	r.At, r.Create, r.Truncate, r.Mode = 0, true, true, uint32(info.Mode().Perm())
	return s.fill(to, r, info.Size(), func(file *os.File, at int64) error {
		_, err := io.Copy(io.NewOffsetWriter(file, at), io.LimitReader(source, info.Size()))
		return err
	})
}
