// Command minify makes the JavaScript files below a directory smaller, in place, and
// puts them into an archive if one is named: the binary carries them.
//
//	go run ./internal/script/js/minify dir [archive]
package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	if len(os.Args) != 2 && len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: minify dir [archive]")
		os.Exit(2)
	}
	err := minify(os.Args[1])
	if err == nil && len(os.Args) == 3 {
		err = pack(os.Args[1], os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "minify:", err)
		os.Exit(1)
	}
}

// pack writes an archive of the JavaScript files below a directory, under the name
// of the directory. It has no times, so that the same files are the same archive.
func pack(dir, archive string) error {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	w.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser, error) { return flate.NewWriter(to, flate.BestCompression) })
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".js" {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(filepath.Dir(dir), file)
		if err != nil {
			return err
		}
		to, err := w.Create(filepath.ToSlash(name))
		if err == nil {
			_, err = to.Write(text)
		}
		return err
	})
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	return os.WriteFile(archive, out.Bytes(), 0o644)
}

func minify(dir string) error {
	return filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".js" {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		small, err := shorten(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		return os.WriteFile(file, []byte(small), 0o644)
	})
}

// pure matches what tells the bundler which calls it may leave out. The printer
// keeps it only together with the spaces.
var pure = regexp.MustCompile(`[@#]__(PURE|NO_SIDE_EFFECTS)__`)

var indentation = regexp.MustCompile(`(?m)^ +`)

// shorten leaves names as they are: stack traces and inspected values show them.
func shorten(code string) (string, error) {
	small, err := transform(code, true)
	if err != nil || !pure.MatchString(code) {
		return small, err
	}
	printed, err := transform(code, false)
	if err != nil {
		return "", err
	}
	trimmed := indentation.ReplaceAllString(printed, "")
	if again, err := transform(trimmed, true); err != nil || again != small {
		return printed, nil //nolint:nilerr // the spaces are in a text, too
	}
	return trimmed, nil
}

func transform(code string, spaces bool) (string, error) {
	result := api.Transform(code, api.TransformOptions{
		MinifyWhitespace: spaces, MinifySyntax: true, Target: api.ES2023, Charset: api.CharsetUTF8, LegalComments: api.LegalCommentsNone,
	})
	if len(result.Errors) > 0 {
		return "", errors.New(result.Errors[0].Text)
	}
	return string(result.Code), nil
}
