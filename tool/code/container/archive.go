package container

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/parley-run/parley/tool/code"
)

// pack returns the archive with the files of a request, and with its code in a
// file of that name.
func pack(file string, req *code.Request) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	made := map[string]bool{}
	dir := func(name string) error {
		for i, c := range name + "/" {
			if c != '/' || made[name[:i]] {
				continue
			}
			made[name[:i]] = true
			if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name[:i] + "/", Mode: 0o755}); err != nil {
				return err
			}
		}
		return nil
	}
	err := dir("work")
	for _, f := range append([]code.File{{Name: file, Data: []byte(req.Code)}}, req.Files...) {
		name := path.Join("work", f.Name)
		if !strings.HasPrefix(name, "work/") {
			return nil, fmt.Errorf("the name %q of a file is not a relative path", f.Name)
		}
		if err == nil {
			err = dir(path.Dir(name))
		}
		if err == nil {
			err = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(f.Data))})
		}
		if err == nil {
			_, err = w.Write(f.Data)
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("pack the files of an execution: %w", err)
	}
	return out.Bytes(), nil
}

// unpack reads the result of an execution from the archive that the container has
// written. Files that the code has not changed are not part of the result.
func unpack(archive []byte, file string, req *code.Request) (*code.Result, error) {
	if len(archive) == 0 {
		return &code.Result{Stderr: "The code was killed. It may have used more memory than it is allowed."}, nil
	}
	given := map[string][]byte{file: []byte(req.Code)}
	for _, f := range req.Files {
		given[path.Clean(f.Name)] = f.Data
	}
	out := map[string]string{}
	result := &code.Result{}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read what the code has written: %w", err)
		}
		if h.Typeflag != tar.TypeReg {
			continue // links and directories are of no use outside
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return nil, fmt.Errorf("read what the code has written: %w", err)
		}
		name := path.Clean(h.Name)
		if stream, ok := strings.CutPrefix(name, "out/"); ok {
			out[stream] = string(data)
			continue
		}
		name, ok := strings.CutPrefix(name, "work/")
		if before, known := given[name]; !ok || name == file || known && bytes.Equal(before, data) {
			continue
		}
		result.Files = append(result.Files, code.File{Name: name, Data: data})
	}
	switch status := strings.TrimSpace(out["status"]); status {
	case "0":
		result.Stdout = out["stdout"] + out["stderr"] // which has warnings then
	case "":
		result.Stdout, result.Stderr = out["stdout"], out["stderr"]+"\nThe code has used more disk space than it is allowed."
	case fmt.Sprint(exitKilled):
		result.Stdout, result.Stderr = out["stdout"], out["stderr"]+"\nThe code was killed. It may have used more memory than it is allowed."
	default:
		result.Stdout, result.Stderr = out["stdout"], out["stderr"]
		if strings.TrimSpace(result.Stderr) == "" {
			result.Stderr = "Exit code " + status
		}
	}
	return result, nil
}
