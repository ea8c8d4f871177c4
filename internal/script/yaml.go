package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/parley-run/parley/internal/script/bundle"
)

// maxBrackets bounds the nesting of YAML: the parser recurses.
const maxBrackets = 1000

// YAML returns a document of YAML as JSON.
func YAML(text []byte) ([]byte, error) {
	if bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) > maxBrackets {
		return nil, fmt.Errorf("it has more than %d brackets", maxBrackets)
	}
	var doc any
	if err := yaml.Unmarshal(text, &doc); err != nil {
		// The rest shows the source.
		line, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
		return nil, fmt.Errorf("it is not YAML: %s", line)
	}
	out, err := json.Marshal(doc)
	if err != nil {
		return nil, errors.New("it has keys that are not texts")
	}
	return out, nil
}

// Getenv returns a variable of the environment of an application: of its .env file, or
// of the process; empty if there is none.
func (a *Apps) Getenv(name, variable string) string {
	dir := a.DirOf(name)
	if dir == "" {
		return ""
	}
	env, _, err := environment(dir, a.root, bundle.NewBounds(a.root, dir), a.opts.Environ)
	if err != nil {
		return ""
	}
	return env[variable]
}
