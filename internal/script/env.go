package script

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/joho/godotenv"

	"github.com/parley-run/parley/internal/script/bundle"
)

// environment returns the environment of the application in dir: the nearest .env
// file, not above root, overridden by the environment of the process. places are the
// path of the file, and those of nearer ones that do not exist.
func environment(dir, root string, within bundle.Bounds, process []string) (env map[string]string, places []string, err error) {
	env = map[string]string{}
	for d := dir; ; d = filepath.Dir(d) {
		file := filepath.Join(d, ".env")
		places = append(places, file)
		name, _ := filepath.Rel(dir, file)
		text, err := readAll(within.Open(file))
		if err == nil {
			env, err = parseEnv(string(text))
		}
		if errors.Is(err, bundle.ErrOutside) {
			return nil, places, fmt.Errorf("the environment of the application: %s %w", filepath.ToSlash(name), err)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			if path, ok := errors.AsType[*fs.PathError](err); ok {
				err = path.Err // without the path
			}
			return nil, places, fmt.Errorf("the environment of the application: %s: %w", filepath.ToSlash(name), err)
		}
		if d == root || d == filepath.Dir(d) {
			break
		}
	}
	for _, one := range process {
		if key, value, ok := strings.Cut(one, "="); ok {
			env[key] = value
		}
	}
	return env, places, nil
}

func readAll(f *os.File, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// parseEnv reads the text of a .env file. Its error names only a line: that of the
// package quotes the file, which contains secrets.
func parseEnv(text string) (map[string]string, error) {
	lines := strings.SplitAfter(text+"\n", "\n") // the package accepts a name without a value at the end
	env, err := godotenv.Unmarshal(strings.Join(lines, ""))
	if err == nil {
		return env, nil
	}
	// The error is after the longest part that is valid; a shorter one may end within
	// a value of several lines.
	valid := len(lines) - 1
	for ; valid > 0; valid-- {
		if _, err := godotenv.Unmarshal(strings.Join(lines[:valid], "")); err == nil {
			break
		}
	}
	return nil, fmt.Errorf("line %d is not NAME=value", valid+1)
}
