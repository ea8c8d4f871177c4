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

// files gives an agent read access to its own directory, and nothing else. os.Root
// rejects symbolic links that lead out of it.
type files struct {
	dir  string
	real string // dir without symbolic links, as in the paths of modules
}

func newFiles(dir string) files {
	f := files{dir: dir, real: dir}
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		f.real = resolved
	}
	return f
}

// maxFile is the largest file that an agent may read: all of it goes into the
// engine's memory.
const maxFile = 64 << 20

// fileRequest is a request about a file. Errors contain Call, the system call that
// Node.js would make, and Shown, the path as the agent has written it.
type fileRequest struct{ Op, Path, Call, Shown string }

func (f files) do(r fileRequest) (any, error) {
	if r.Path == "" {
		return nil, fileError(r, fs.ErrNotExist)
	}
	name, ok := f.inside(r.Path)
	if !ok {
		return nil, noAccess(r)
	}
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return nil, fileError(r, err)
	}
	defer func() { _ = root.Close() }()
	var out any
	switch r.Op {
	case "read":
		out, err = read(root, name)
	case "stat":
		out, err = stat(root.Stat(name))
	case "lstat":
		out, err = stat(root.Lstat(name))
	case "list":
		out, err = list(root, name)
	default:
		return nil, noAccess(r)
	}
	if err != nil {
		return nil, fileError(r, err)
	}
	return out, nil
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

func read(root *os.Root, name string) (string, error) {
	// Opening a pipe would block the engine until there is a writer.
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	switch {
	case err != nil:
		return "", err
	case info.IsDir():
		return "", syscall.EISDIR
	case !info.Mode().IsRegular():
		return "", syscall.EACCES
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = errTooBig
	}
	return base64.StdEncoding.EncodeToString(data), err
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
	return coded("EACCES", "EACCES: permission denied, %s '%s': this runtime gives agents read-only access to their own directory", r.Call, r.Shown)
}

// fileError returns the error that Node.js would return.
func fileError(r fileRequest, err error) error {
	for _, known := range []struct {
		is         error
		code, text string
	}{
		{fs.ErrNotExist, "ENOENT", "no such file or directory"},
		{syscall.ENOTDIR, "ENOTDIR", "not a directory"},
		{syscall.EISDIR, "EISDIR", "illegal operation on a directory"},
		{syscall.ELOOP, "ELOOP", "too many symbolic links encountered"},
		{errTooBig, "EFBIG", "file too large"},
	} {
		if errors.Is(err, known.is) {
			return coded(known.code, "%s: %s, %s '%s'", known.code, known.text, r.Call, r.Shown)
		}
	}
	// The others are links out of the directory, or missing permissions. The text of
	// the operating system's error may contain paths of the server.
	if strings.ContainsRune(r.Path, 0) {
		return coded("ERR_INVALID_ARG_VALUE", "the path must not contain null bytes")
	}
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
