// Command minify makes the JavaScript files below a directory smaller, in place:
// the binary carries them as they are.
//
//	go run ./internal/script/js/minify dir
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: minify dir")
		os.Exit(2)
	}
	if err := minify(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "minify:", err)
		os.Exit(1)
	}
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
