// Package skill offers Agent Skills to models: directories of instructions and
// resources that a model reads when a task needs them.
//
// A skill is a directory with a file SKILL.md: front matter in YAML with at
// least a name and a description, then instructions in Markdown. See
// https://agentskills.io for the format. The model sees the names and
// descriptions of all skills; it loads the instructions of one with a tool, and
// reads the other files of its directory with another.
//
// Skills are documents that a model follows. Offer only those whose authors you
// trust as much as those of the agent's instruction.
package skill

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Limits of skills. A skill that exceeds one cannot be loaded, and a larger file
// cannot be read.
const (
	MaxSkills   = 100       // in a directory, or a toolset
	MaxDocument = 256 << 10 // bytes of a SKILL.md
	MaxFiles    = 1000      // of a skill
	MaxText     = 256 << 10 // bytes of a text that a model reads
	MaxFile     = 8 << 20   // bytes of any other file
)

// document is the name of the file that makes a directory a skill.
const document = "SKILL.md"

// Skill is a skill. It must not be changed after it has been given to a toolset.
type Skill struct {
	Name        string
	Description string // what it does, and when to use it
	License     string
	// Compatibility names requirements, such as programs.
	Compatibility string
	// AllowedTools are the tools that the skill expects, separated by spaces.
	AllowedTools string
	Metadata     map[string]any
	// Other are the members of the front matter that the format does not have.
	Other        map[string]any
	Instructions string // the text below the front matter, in Markdown

	files fs.FS // nil if there are none
	names []string
}

// Dir returns the files of a directory for Load and LoadAll. It finds no file
// outside of the directory: symbolic links that lead out of it are errors.
func Dir(name string) fs.FS { return dir(name) }

type dir string

// Open opens a file. The directory is opened each time, so there is nothing to
// close, and a directory that was replaced is found again.
func (d dir) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // files that were opened stay open
	return root.Open(filepath.FromSlash(name))
}

// LoadAll loads all skills of a directory, by name. Each of its directories has
// to be a skill; files, and directories whose names begin with a dot, are
// ignored. The error names every file that is wrong.
func LoadAll(files fs.FS) ([]*Skill, error) {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, fmt.Errorf("load skills: %w", err)
	}
	var skills []*Skill
	var errs []error
	for _, entry := range entries {
		name := entry.Name()
		if entry.Type()&fs.ModeSymlink != 0 && !ignored(name) {
			errs = append(errs, fmt.Errorf("skill %s: it is a symbolic link, which is not followed: copy the directory", name))
			continue
		}
		if !entry.IsDir() || ignored(name) {
			continue
		}
		if len(skills) == MaxSkills {
			return nil, fmt.Errorf("load skills: there are more than %d", MaxSkills)
		}
		below, err := fs.Sub(files, name)
		if err != nil {
			return nil, fmt.Errorf("load skills: %w", err)
		}
		s, err := Load(below)
		if err == nil && s.Name != name {
			err = fmt.Errorf("%s: the name %q is not that of the directory, %q", document, s.Name, name)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("skill %s: %w", name, err))
			continue
		}
		skills = append(skills, s)
	}
	return skills, errors.Join(errs...)
}

// Load loads the skill in a directory.
func Load(files fs.FS) (*Skill, error) {
	text, err := readFile(files, document, MaxDocument)
	if err != nil {
		return nil, err
	}
	s, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", document, err)
	}
	s.files = files
	err = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == "." || name == document:
		case ignored(entry.Name()) && entry.IsDir():
			return fs.SkipDir
		case ignored(entry.Name()) || !entry.Type().IsRegular():
		case len(s.names) == MaxFiles:
			return fmt.Errorf("there are more than %d files", MaxFiles)
		default:
			s.names = append(s.names, name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(s.names)
	return s, nil
}

// ignored reports whether a file or directory is not a part of a skill: what
// version control, editors and interpreters leave behind.
func ignored(name string) bool {
	return strings.HasPrefix(name, ".") || name == "node_modules" || name == "__pycache__"
}

// Files returns the paths of the skill's files without SKILL.md, sorted, with
// slashes. Files that appeared after it was loaded are not among them.
func (s *Skill) Files() []string { return slices.Clone(s.names) }

// ReadFile reads one of Files, up to a size of MaxFile.
func (s *Skill) ReadFile(name string) ([]byte, error) {
	name = path.Clean(name)
	if _, found := slices.BinarySearch(s.names, name); !found {
		return nil, fmt.Errorf("skill %s has no file %q", s.Name, name)
	}
	text, err := readFile(s.files, name, MaxFile)
	if err != nil {
		return nil, fmt.Errorf("skill %s: %w", s.Name, err)
	}
	return text, nil
}

// readFile reads a regular file with a limit.
func readFile(files fs.FS, name string, most int) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	text, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err != nil {
		return nil, err
	}
	if len(text) > most {
		return nil, fmt.Errorf("%s has more than %d bytes", name, most)
	}
	return text, nil
}
