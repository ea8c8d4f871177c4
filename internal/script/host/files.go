package host

import (
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// files gives an agent read access to its own directory, and write access to its
// scratch directory, and nothing else. os.Root rejects symbolic links that lead out
// of them.
type files struct {
	dir     string
	real    string   // dir without symbolic links, as in the paths of modules
	scratch *Scratch // nil for none
}

func newFiles(dir string, scratch *Scratch) files {
	f := files{dir: dir, real: dir, scratch: scratch}
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		f.real = resolved
	}
	return f
}

// maxFile is the largest file that an agent may read: all of it goes into the
// engine's memory.
const maxFile = 64 << 20

// maxPath is the longest path in bytes, as Linux has it.
const maxPath = 4096

// fileRequest is a request about a file. Errors contain Call, the system call that
// Node.js would make, and Shown, the path as the agent has written it.
type fileRequest struct {
	Op, Path, Call, Shown string

	To           string  // of rename and copy
	Data         string  // to write, in base64
	At           int64   // an offset or a size; -1 for the end of the file
	Length       int64   // to read; 0 for the whole file
	Mode         uint32  // of what is created
	ATime, MTime float64 // milliseconds

	Create, Exclusive, Truncate, Recursive bool
}

func (r *fileRequest) bytes() ([]byte, error) { return base64.StdEncoding.DecodeString(r.Data) }

func (f files) do(r fileRequest) (any, error) {
	if r.Path == "" {
		return nil, fileError(r, fs.ErrNotExist)
	}
	if strings.ContainsRune(r.Path, 0) || strings.ContainsRune(r.To, 0) {
		return nil, coded("ERR_INVALID_ARG_VALUE", "the path must not contain null bytes")
	}
	if len(r.Path) > maxPath || len(r.To) > maxPath {
		return nil, fileError(r, syscall.ENAMETOOLONG)
	}
	var out any
	place, err := f.open(r.Path)
	if err == nil {
		defer place.close()
		out, err = f.at(place, r)
	}
	if err != nil {
		return nil, fileError(r, err)
	}
	return out, nil
}

func (f files) at(p place, r fileRequest) (any, error) {
	switch r.Op {
	case "read":
		return read(p.root, p.name, r.At, r.Length)
	case "stat":
		return stat(p.root.Stat(p.name))
	case "lstat":
		return stat(p.root.Lstat(p.name))
	case "list":
		return list(p.root, p.name)
	case "writable":
		if !p.writable {
			return nil, errNoAccess
		}
		return nil, nil
	case "copy", "rename":
		to, err := f.open(r.To)
		if err != nil {
			return nil, err
		}
		defer to.close()
		switch {
		case !to.writable || r.Op == "rename" && !p.writable:
			return nil, errNoAccess
		case r.Op == "copy":
			return nil, f.scratch.copy(p.root, p.name, to.root, to.name, r)
		}
		return nil, f.scratch.rename(p.root, p.name, to.name)
	}
	if !p.writable {
		return nil, errNoAccess
	}
	return f.scratch.change(p.root, p.name, r)
}

// place is a path in one of the directories.
type place struct {
	root     *os.Root
	name     string
	writable bool
}

func (p place) close() {
	if !p.writable { // that of the scratch directory stays open
		_ = p.root.Close()
	}
}

var errNoAccess = errors.New("the code has no access")

// open finds the directory that a path is in.
func (f files) open(path string) (place, error) {
	if name, ok := f.inside(path); ok {
		root, err := os.OpenRoot(f.dir)
		return place{root: root, name: name}, err
	}
	if root, name, ok := f.scratch.inside(filepath.FromSlash(path)); ok {
		return place{root, name, true}, nil
	}
	return place{}, errNoAccess
}

// tmpdir returns the path of the scratch directory.
func (f files) tmpdir(struct{}) (any, error) {
	if f.scratch == nil {
		return "/tmp", nil // where nothing can be read or written
	}
	dir, err := f.scratch.path()
	if err != nil {
		return nil, coded("EACCES", "EACCES: permission denied, mkdir: the server has no directory for temporary files")
	}
	return filepath.ToSlash(dir), nil
}

// inside makes a path relative to the directory, if it is below it.
func (f files) inside(p string) (string, bool) {
	p = filepath.FromSlash(p)
	if !filepath.IsAbs(p) {
		p = filepath.Join(f.dir, p)
	}
	for _, dir := range []string{f.dir, f.real} {
		if rel, err := filepath.Rel(dir, p); err == nil && filepath.IsLocal(rel) {
			return rel, true
		}
	}
	return "", false
}

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// read reads a file from an offset, and all of it if length is 0.
func read(root *os.Root, name string, at, length int64) (string, error) {
	file, _, err := openRegular(root, name)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	if length > maxFile {
		return "", errTooBig
	}
	most := length
	if length <= 0 {
		most = maxFile + 1
	}
	data, err := io.ReadAll(io.NewSectionReader(file, max(at, 0), most))
	if err == nil && len(data) > maxFile {
		err = errTooBig
	}
	return base64.StdEncoding.EncodeToString(data), err
}

// openRegular opens a regular file to read it.
func openRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	// Opening a pipe would block the engine until there is a writer.
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = syscall.EISDIR
	case !info.Mode().IsRegular():
		err = syscall.EACCES
	}
	if err != nil {
		_ = file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

type fileInfo struct {
	Name  string  `json:"name"`
	Size  int64   `json:"size"`
	Mode  uint32  `json:"mode"`
	MTime float64 `json:"mtime"` // milliseconds
	Kind  string  `json:"kind"`
}

func stat(info fs.FileInfo, err error) (*fileInfo, error) {
	if err != nil {
		return nil, err
	}
	return &fileInfo{
		Name: info.Name(), Size: info.Size(), Mode: uint32(info.Mode().Perm()),
		MTime: float64(info.ModTime().UnixMicro()) / 1000, Kind: kind(info.Mode()),
	}, nil
}

func kind(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "file"
	case mode.IsDir():
		return "directory"
	case mode&fs.ModeSymlink != 0:
		return "link"
	}
	return "other"
}

func list(root *os.Root, name string) ([]fileInfo, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, syscall.ENOTDIR
	}
	entries, err := fs.ReadDir(root.FS(), filepath.ToSlash(name))
	out := make([]fileInfo, 0, len(entries))
	for _, e := range entries {
		out = append(out, fileInfo{Name: e.Name(), Kind: kind(e.Type())})
	}
	return out, err
}

func noAccess(r fileRequest) error {
	return coded("EACCES", "EACCES: permission denied, %s '%s': this runtime gives agents read access to their own directory, and write access to os.tmpdir()", r.Call, r.Shown)
}

// fileError returns the error that Node.js would return.
func fileError(r fileRequest, err error) error {
	for _, known := range []struct {
		is         error
		code, text string
	}{
		{fs.ErrNotExist, "ENOENT", "no such file or directory"},
		{syscall.ENOTDIR, "ENOTDIR", "not a directory"},
		{syscall.ENOTEMPTY, "ENOTEMPTY", "directory not empty"},
		{fs.ErrExist, "EEXIST", "file already exists"},
		{syscall.EBUSY, "EBUSY", "resource busy or locked"},
		{syscall.EINVAL, "EINVAL", "invalid argument"},
		{syscall.EISDIR, "EISDIR", "illegal operation on a directory"},
		{syscall.ELOOP, "ELOOP", "too many symbolic links encountered"},
		{syscall.ENAMETOOLONG, "ENAMETOOLONG", "name too long"},
		{errTooBig, "EFBIG", "file too large"},
	} {
		if errors.Is(err, known.is) {
			return coded(known.code, "%s: %s, %s '%s'", known.code, known.text, r.Call, r.Shown)
		}
	}
	if full, ok := errors.AsType[fullError](err); ok {
		return coded("ENOSPC", "ENOSPC: no space left on device, %s '%s': %w", r.Call, r.Shown, full)
	}
	if errors.Is(err, syscall.ENOSPC) {
		return coded("ENOSPC", "ENOSPC: no space left on device, %s '%s'", r.Call, r.Shown)
	}
	// The others are links out of the directory, or missing permissions. The text of
	// the operating system's error may contain paths of the server.
	return noAccess(r)
}

// locate returns the path of a file without symbolic links.
func (f files) locate(name string) (string, error) {
	r := fileRequest{Path: name, Call: "open", Shown: name}
	rel, ok := f.inside(name)
	if !ok {
		return "", noAccess(r)
	}
	path, err := filepath.EvalSymlinks(filepath.Join(f.real, rel))
	if err != nil {
		return "", fileError(r, err)
	}
	if _, ok := f.inside(path); !ok {
		return "", noAccess(r)
	}
	return path, nil
}
