package bundle

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// App is an application in a directory.
type App struct {
	Name  string
	Dir   string
	Entry string // the path of the file that it starts with
}

// entries are the files that an application may start with, in order of
// precedence.
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

// Find finds applications: the directory itself if it has an entry file, else
// its sub-directories that have one. name, if not empty, is the name of a single
// application. root is the directory without symbolic links.
func Find(dir, name string) (root string, found []App, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", nil, err
	}
	dir = resolveLinks(dir)
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return "", nil, fmt.Errorf("the agent directory %s is not there", dir)
	}
	if entry := entryOf(dir); entry != "" {
		if name == "" {
			name = filepath.Base(dir)
		}
		return dir, []App{{name, dir, entry}}, nil
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return "", nil, err
	}
	for _, one := range list {
		if strings.HasPrefix(one.Name(), ".") || one.Name() == "node_modules" {
			continue
		}
		sub := filepath.Join(dir, one.Name())
		if entry := entryOf(sub); entry != "" {
			found = append(found, App{one.Name(), sub, entry})
		}
	}
	switch {
	case len(found) == 0:
		return "", nil, fmt.Errorf("no agent was found in %s: an application is a directory with an index.ts (or app.ts, agent.ts) that exports rootAgent", dir)
	case len(found) > 1 && name != "":
		return "", nil, fmt.Errorf("%s has %d applications, which cannot all be called %s", dir, len(found), name)
	case name != "":
		found[0].Name = name
	}
	slices.SortFunc(found, func(a, b App) int { return strings.Compare(a.Name, b.Name) })
	return dir, found, nil
}

func entryOf(dir string) string {
	if file := MainFile(dir); file != "" {
		return filepath.Join(dir, file)
	}
	return ""
}

// MainFile returns the file that the application in a directory starts with,
// relative to the directory; empty if there is no application.
func MainFile(dir string) string {
	for _, file := range entries() {
		if info, err := os.Stat(filepath.Join(dir, file)); err == nil && info.Mode().IsRegular() {
			return file
		}
	}
	return ""
}
