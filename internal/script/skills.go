package script

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"

	"github.com/parley-run/parley/tool/skill"
)

// skillsDir is the directory of an application with the skills that its agents are
// offered without any code.
const skillsDir = "skills"

// skillFiles are the skills beside the code of an application.
type skillFiles struct {
	files fs.FS // nil if there are none
}

// skillsOf finds the skills of the application in dir, and returns the places to
// watch for changes of them. A directory of that name without a SKILL.md may be
// something else.
func skillsOf(dir string) (s skillFiles, places []string) {
	top := filepath.Join(dir, skillsDir)
	places = []string{top}
	files, err := fs.Sub(skill.Dir(dir), skillsDir)
	if err != nil {
		return s, places
	}
	dirs := 0
	err = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && name == ".":
			return err
		case err != nil:
			return nil //nolint:nilerr // reported when the skill is loaded
		case entry.IsDir() && (path.Base(name) == "node_modules" || len(path.Base(name)) > 1 && path.Base(name)[0] == '.'):
			return fs.SkipDir
		case entry.IsDir():
			if dirs++; dirs > skill.MaxFiles {
				return fs.SkipAll
			}
			places = append(places, filepath.Join(top, filepath.FromSlash(name))+string(filepath.Separator))
		case path.Base(name) == "SKILL.md" && path.Dir(name) != ".":
			s.files = files
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.files = files // loading it returns the error
	}
	return s, places
}

// load loads the skills. There may be none.
func (s skillFiles) load() ([]*skill.Skill, error) {
	if s.files == nil {
		return nil, nil
	}
	all, err := skill.LoadAll(s.files)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", skillsDir, err)
	}
	return all, nil
}
