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

// environment is what an application in dir sees: the nearest .env file, no
// further up than root, and over it the environment of the process. The places
// are that of the file, and those where a nearer one would have been.
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
				err = path.Err // without the place on this machine
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

// parseEnv reads the text of a .env file. Its error names a line and nothing
// else: that of the package quotes the file, which holds secrets.
func parseEnv(text string) (map[string]string, error) {
	lines := strings.SplitAfter(text+"\n", "\n") // a name alone at the end would pass as a value
	env, err := godotenv.Unmarshal(strings.Join(lines, ""))
	if err == nil {
		return env, nil
	}
	// What is wrong begins after the longest part that is well; a shorter one may
	// end within a value of several lines.
	well := len(lines) - 1
	for ; well > 0; well-- {
		if _, err := godotenv.Unmarshal(strings.Join(lines[:well], "")); err == nil {
			break
		}
	}
	return nil, fmt.Errorf("line %d is not NAME=value", well+1)
}
