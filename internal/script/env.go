package script

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/joho/godotenv"
)

// environment is what an application sees: the nearest .env file, and over it
// the environment of the process.
func environment(dir string, process []string) (map[string]string, error) {
	env := map[string]string{}
	for d := dir; ; d = filepath.Dir(d) {
		text, err := os.ReadFile(filepath.Join(d, ".env")) //nolint:gosec // the agent's own
		if err == nil {
			env, err = parseEnv(string(text))
		}
		if err == nil {
			break
		}
		if !errors.Is(err, errNotExist) {
			if path, ok := errors.AsType[*fs.PathError](err); ok {
				err = path.Err // without the place on this machine
			}
			name, _ := filepath.Rel(dir, filepath.Join(d, ".env"))
			return nil, fmt.Errorf("the environment of the application: %s: %w", filepath.ToSlash(name), err)
		}
		if d == filepath.Dir(d) {
			break
		}
	}
	for _, one := range process {
		if key, value, ok := strings.Cut(one, "="); ok {
			env[key] = value
		}
	}
	return env, nil
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
