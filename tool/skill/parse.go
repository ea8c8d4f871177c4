package skill

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Limits of the front matter. Those of its members are in the specification of
// the format.
const (
	maxFrontMatter   = 16 << 10
	maxNesting       = 32
	maxName          = 64
	maxDescription   = 1024
	maxCompatibility = 500
)

var known = []string{"name", "description", "license", "compatibility", "allowed-tools", "metadata"}

var nameFormat = regexp.MustCompile(`^(?:[a-z0-9]+(?:-[a-z0-9]+)*|[a-z0-9]+(?:_[a-z0-9]+)*)$`)

// Parse reads a SKILL.md. The skill has no files.
func Parse(text []byte) (*Skill, error) {
	head, body, err := split(text)
	if err != nil {
		return nil, err
	}
	members, err := frontMatter(head)
	if err != nil {
		return nil, err
	}
	s := &Skill{Instructions: strings.TrimSpace(string(body))}
	texts := []struct {
		name     string
		value    *string
		required bool
		most     int
	}{
		{"name", &s.Name, true, maxName},
		{"description", &s.Description, true, maxDescription},
		{"license", &s.License, false, 0},
		{"compatibility", &s.Compatibility, false, maxCompatibility},
		{"allowed-tools", &s.AllowedTools, false, 0},
	}
	for _, one := range texts {
		value, ok := members[one.name]
		if !ok || value == nil {
			if one.required {
				return nil, fmt.Errorf("the front matter has no %s", one.name)
			}
			continue
		}
		text, ok := value.(string)
		switch {
		case !ok:
			return nil, fmt.Errorf("%s of the front matter is not a string: write it in quotes", one.name)
		case one.required && strings.TrimSpace(text) == "":
			return nil, fmt.Errorf("%s of the front matter is empty", one.name)
		case one.most > 0 && utf8.RuneCountInString(text) > one.most:
			return nil, fmt.Errorf("%s of the front matter has more than %d characters", one.name, one.most)
		}
		*one.value = text
	}
	if !nameFormat.MatchString(s.Name) {
		return nil, fmt.Errorf("the name %q must have lower-case letters and digits only, in words joined by single hyphens, or by single underscores", s.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(known, name) {
			if s.Other == nil {
				s.Other = map[string]any{}
			}
			s.Other[name] = members[name]
		}
	}
	if value := members["metadata"]; value != nil {
		metadata, ok := value.(map[string]any)
		if !ok {
			return nil, errors.New("metadata of the front matter is not a mapping")
		}
		s.Metadata = maps.Clone(metadata)
	}
	return s, nil
}

// split separates the front matter from the text below it.
func split(text []byte) (head, body []byte, err error) {
	if !utf8.Valid(text) {
		return nil, nil, errors.New("the file is not UTF-8")
	}
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	if !isFence(first) {
		return nil, nil, errors.New("the file must begin with front matter: a line with --- before and after it")
	}
	for at := 0; at < len(rest); {
		line, _, more := bytes.Cut(rest[at:], []byte("\n"))
		end := at + len(line)
		if more {
			end++
		}
		if isFence(line) {
			return rest[:at], rest[end:], nil
		}
		if end > maxFrontMatter {
			return nil, nil, fmt.Errorf("the front matter has more than %d bytes, or no line with --- after it", maxFrontMatter)
		}
		at = end
	}
	return nil, nil, errors.New("the front matter has no line with --- after it")
}

func isFence(line []byte) bool { return string(bytes.TrimRight(line, " \t\r")) == "---" }

// frontMatter decodes the front matter. Anchors and aliases are refused: a few
// lines with them describe a document of any size.
func frontMatter(text []byte) (map[string]any, error) {
	if err := checkNesting(text); err != nil {
		return nil, err
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, fmt.Errorf("the front matter is not YAML: %s", oneLine(err))
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return nil, errors.New("the front matter is not a mapping")
	}
	var refs finder
	ast.Walk(&refs, file.Docs[0].Body)
	if refs.found {
		return nil, errors.New("the front matter has an anchor or an alias of YAML, which is not allowed")
	}
	var members map[string]any
	if err := yaml.NodeToValue(file.Docs[0].Body, &members); err != nil {
		return nil, fmt.Errorf("the front matter is not a mapping of YAML: %s", oneLine(err))
	}
	return members, nil
}

// finder looks for anchors and aliases.
type finder struct{ found bool }

// Visit is for ast.Visitor.
func (f *finder) Visit(n ast.Node) ast.Visitor {
	if slices.Contains([]ast.NodeType{ast.AnchorType, ast.AliasType, ast.MergeKeyType}, n.Type()) {
		f.found = true
	}
	if f.found {
		return nil
	}
	return f
}

// checkNesting refuses what would take the parser, which recurses, many frames:
// brackets within each other, or lines that are indented deeper and deeper.
func checkNesting(text []byte) error {
	if bytes.Count(text, []byte("[")) > maxNesting || bytes.Count(text, []byte("{")) > maxNesting {
		return fmt.Errorf("the front matter has more than %d brackets", maxNesting)
	}
	for line := range bytes.Lines(text) {
		if len(line)-len(bytes.TrimLeft(line, " \t-?")) > 4*maxNesting {
			return fmt.Errorf("the front matter is indented by more than %d characters", 4*maxNesting)
		}
	}
	return nil
}

// oneLine is the first line of an error. Those of the parser show the source as
// well.
func oneLine(err error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	return line
}
