package script

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// place is where an application was found.
type place struct {
	name  string
	dir   string
	entry string
}

// entries are the files that an application may start with, in the order in
// which they are looked for.
func entries() []string {
	var list []string
	for _, dir := range []string{"", "src"} {
		for _, base := range []string{"index", "app", "agent"} {
			for _, ext := range []string{".ts", ".mts", ".cts", ".tsx", ".js", ".mjs", ".cjs"} {
				list = append(list, filepath.Join(dir, base+ext))
			}
		}
	}
	return append(list, "root_agent.yaml")
}

// find looks for applications: the directory itself if it has an entry file,
// else its sub-directories that have one. name, if not empty, is that of a
// single application.
func find(dir, name string) ([]place, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	dir = withoutLinks(dir)
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return nil, fmt.Errorf("the agent directory %s is not there", dir)
	}
	if entry := entryOf(dir); entry != "" {
		if name == "" {
			name = filepath.Base(dir)
		}
		return []place{{name, dir, entry}}, nil
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var found []place
	for _, one := range list {
		if strings.HasPrefix(one.Name(), ".") || one.Name() == "node_modules" {
			continue
		}
		sub := filepath.Join(dir, one.Name())
		if entry := entryOf(sub); entry != "" {
			found = append(found, place{one.Name(), sub, entry})
		}
	}
	switch {
	case len(found) == 0:
		return nil, fmt.Errorf("no agent was found in %s: an application is a directory with an index.ts (or app.ts, agent.ts) that exports rootAgent", dir)
	case len(found) > 1 && name != "":
		return nil, fmt.Errorf("%s has %d applications, which cannot all be called %s", dir, len(found), name)
	case name != "":
		found[0].name = name
	}
	slices.SortFunc(found, func(a, b place) int { return strings.Compare(a.name, b.name) })
	return found, nil
}

func entryOf(dir string) string {
	if file := MainFile(dir); file != "" {
		return filepath.Join(dir, file)
	}
	return ""
}

// MainFile is the file that the application in a directory starts with,
// relative to it; empty if the directory is not that of an application.
func MainFile(dir string) string {
	for _, file := range entries() {
		if info, err := os.Stat(filepath.Join(dir, file)); err == nil && info.Mode().IsRegular() {
			return file
		}
	}
	return ""
}
