// Command notices prints the licences of everything that the program parley
// contains: Go modules, the Go standard library, and the JavaScript that it embeds.
//
//	go run ./packaging/notices > THIRD_PARTY_NOTICES.txt
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licence matches the names of files that hold a licence or a notice.
var licence = regexp.MustCompile(`(?i)^(licen[cs]es?|copying|notice)([-._].*)?$`)

func main() {
	out := bufio.NewWriter(os.Stdout) //nolint:forbidigo // a tool of the build
	if err := errors.Join(run(context.Background(), out), out.Flush()); err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err) //nolint:forbidigo // likewise
		os.Exit(1)                               //nolint:forbidigo // likewise
	}
}

func run(ctx context.Context, w io.Writer) error {
	fmt.Fprintln(w, "Parley is licensed under the Apache License 2.0. It contains the following software of others.")
	parts, err := modules(ctx)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if err := section(w, p.name, p.dir); err != nil {
			return err
		}
	}
	return nil
}

type part struct{ name, dir string }

// modules are those whose packages are linked into the program on any platform,
// and directories with vendored JavaScript.
func modules(ctx context.Context) ([]part, error) {
	found := map[string]string{}
	for _, platform := range []string{"linux", "darwin", "windows"} {
		cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/parley")
		cmd.Env = append(cmd.Environ(), "GOOS="+platform, "CGO_ENABLED=0")
		cmd.Stderr = os.Stderr //nolint:forbidigo // a tool of the build
		list, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		for line := range bytes.Lines(list) {
			if name, dir, ok := strings.Cut(strings.TrimSpace(string(line)), "\t"); ok {
				found[name] = dir
			}
		}
	}
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	found["Go standard library"] = strings.TrimSpace(string(root))
	found["Packages of the developer UI"] = "internal/webui/dist"
	found["Packages of the guide"] = "internal/webui/guide"
	const thirdParty = "internal/script/js/third_party"
	entries, err := os.ReadDir(thirdParty)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() {
			found[e.Name()+" (JavaScript)"] = filepath.Join(thirdParty, e.Name())
		}
	}
	parts := make([]part, 0, len(found))
	for name, dir := range found {
		parts = append(parts, part{name, dir})
	}
	slices.SortFunc(parts, func(a, b part) int { return strings.Compare(a.name, b.name) })
	return parts, nil
}

// section prints the licence files in the top directory of a module. A module
// without any is an error: it could not be distributed.
func section(w io.Writer, name, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.IsDir() || !licence.MatchString(e.Name()) })
	if len(entries) == 0 {
		return fmt.Errorf("%s: there is no licence in %s", name, dir)
	}
	fmt.Fprintf(w, "\n%s\n%s\n", strings.Repeat("-", 80), name)
	for _, e := range entries {
		text, err := read(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "\n%s\n", bytes.TrimSpace(text))
	}
	return nil
}

// read returns the text of a file. Those of the bundles are compressed.
func read(file string) ([]byte, error) {
	text, err := os.ReadFile(file) //nolint:gosec // of a module
	if err != nil || filepath.Ext(file) != ".gz" {
		return text, err
	}
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return io.ReadAll(r)
}
