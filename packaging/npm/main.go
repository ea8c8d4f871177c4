// Command npm makes the packages for npm out of the programs that goreleaser has
// built: one per platform, which holds the program, and one that people install,
// which depends on all of them optionally, so that npm installs the one that fits.
//
//	go run ./packaging/npm dist dist/npm
package main

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const name = "@parley-run/parley"

//go:embed parley.js
var launcher []byte

//go:embed README.md
var readme []byte

// artifact is the part of an entry of goreleaser's artifacts.json that is used.
type artifact struct {
	Type   string `json:"type"`
	Path   string `json:"path"`
	GOOS   string `json:"goos"`
	GOARCH string `json:"goarch"`
}

// manifest is a package.json.
type manifest struct {
	Name                 string            `json:"name"`
	Version              string            `json:"version"`
	Description          string            `json:"description"`
	License              string            `json:"license"`
	Repository           map[string]string `json:"repository"`
	Type                 string            `json:"type,omitempty"`
	OS                   []string          `json:"os,omitempty"`
	CPU                  []string          `json:"cpu,omitempty"`
	Bin                  map[string]string `json:"bin,omitempty"`
	Engines              map[string]string `json:"engines,omitempty"`
	OptionalDependencies map[string]string `json:"optionalDependencies,omitempty"`
}

func main() {
	if len(os.Args) != 3 { //nolint:forbidigo // a tool of the build
		fmt.Fprintln(os.Stderr, "usage: npm DIST OUT") //nolint:forbidigo // likewise
		os.Exit(2)                                     //nolint:forbidigo // likewise
	}
	if err := assemble(os.Args[1], os.Args[2]); err != nil { //nolint:forbidigo // likewise
		fmt.Fprintln(os.Stderr, "npm:", err) //nolint:forbidigo // likewise
		os.Exit(1)                           //nolint:forbidigo // likewise
	}
}

// assemble writes the packages below out. Paths in artifacts.json are relative to
// the parent of dist, where goreleaser ran.
func assemble(dist, out string) error {
	root := filepath.Dir(filepath.Clean(dist))
	var meta struct {
		Version string `json:"version"`
	}
	if err := read(filepath.Join(dist, "metadata.json"), &meta); err != nil {
		return err
	}
	var all []artifact
	if err := read(filepath.Join(dist, "artifacts.json"), &all); err != nil {
		return err
	}
	base := manifest{
		Version:     meta.Version,
		Description: "Parley, an agent runtime server",
		License:     "Apache-2.0",
		Repository:  map[string]string{"type": "git", "url": "git+https://github.com/parley-run/parley.git"},
	}
	platforms := map[string]string{}
	for _, a := range all {
		if a.Type != "Binary" {
			continue
		}
		m, file := base, "parley"
		node, cpu := nodeNames(a.GOOS, a.GOARCH)
		if a.GOOS == "windows" {
			file += ".exe"
		}
		m.Name, m.OS, m.CPU = fmt.Sprintf("%s-%s-%s", name, node, cpu), []string{node}, []string{cpu}
		dir := filepath.Join(out, strings.TrimPrefix(m.Name, "@parley-run/"))
		program, err := os.ReadFile(filepath.Join(root, a.Path)) //nolint:gosec // of the build
		if err != nil {
			return err
		}
		err = errors.Join(
			write(filepath.Join(dir, "bin", file), program, 0o755),
			writeManifest(dir, m),
			write(filepath.Join(dir, "README.md"), readme, 0o644),
			copyFile(root, dir, "LICENSE"),
			copyFile(root, dir, "THIRD_PARTY_NOTICES.txt"),
		)
		if err != nil {
			return err
		}
		platforms[m.Name] = meta.Version
	}
	if len(platforms) == 0 {
		return fmt.Errorf("%s lists no program: run goreleaser first", filepath.Join(dist, "artifacts.json"))
	}
	m := base
	m.Name, m.Type, m.OptionalDependencies = name, "module", platforms
	m.Bin = map[string]string{"parley": "parley.js"}
	m.Engines = map[string]string{"node": ">=18"}
	dir := filepath.Join(out, "parley")
	return errors.Join(
		write(filepath.Join(dir, "parley.js"), launcher, 0o755),
		writeManifest(dir, m),
		write(filepath.Join(dir, "README.md"), readme, 0o644),
		copyFile(root, dir, "LICENSE"),
	)
}

// nodeNames are the names that Node.js has for a platform.
func nodeNames(goos, goarch string) (platform, arch string) {
	platforms := map[string]string{"windows": "win32"}
	arches := map[string]string{"amd64": "x64"}
	return cmp.Or(platforms[goos], goos), cmp.Or(arches[goarch], goarch)
}

func read(path string, v any) error {
	data, err := os.ReadFile(path) //nolint:gosec // the operator names it
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// copyFile copies a file of the repository into a package.
func copyFile(root, dir, file string) error {
	data, err := os.ReadFile(filepath.Join(root, file)) //nolint:gosec // of the build
	if err != nil {
		return err
	}
	return write(filepath.Join(dir, file), data, 0o644)
}

func writeManifest(dir string, m manifest) error {
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return write(filepath.Join(dir, "package.json"), append(data, '\n'), 0o644)
}

func write(path string, data []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // a package is public
		return err
	}
	return os.WriteFile(path, data, mode) //nolint:gosec // the directory is named by the operator
}
