package pgtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-run/parley/internal/testkit"
)

// errMissing is for people who run the tests.
var errMissing = errors.New("the programs of a Postgres server (initdb, postgres) were not found: install them, with " +
	"apt-get install postgresql, dnf install postgresql-server or brew install postgresql, or put their directory into PATH; as root on Debian, " +
	"PARLEY_TEST_INSTALL=1 lets the tests do it")

// binaries is the directory with the programs of a server. Missing ones are
// installed where the environment allows it.
func binaries(ctx context.Context) (string, error) {
	if dir := search(ctx); dir != "" {
		return dir, nil
	}
	if !testkit.MayInstall() {
		return "", errMissing
	}
	if err := install(ctx); err != nil {
		return "", fmt.Errorf("%w (an attempt to install them failed: %w)", errMissing, err)
	}
	if dir := search(ctx); dir != "" {
		return dir, nil
	}
	return "", errMissing
}

func search(ctx context.Context) string {
	var dirs []string
	if path, err := exec.LookPath("initdb"); err == nil {
		if target, err := filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(target)) // the other programs are there
		}
		dirs = append(dirs, filepath.Dir(path))
	}
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin", "/usr/libexec/postgresql*",
		"/opt/homebrew/opt/postgresql*/bin", "/usr/local/opt/postgresql*/bin", "/Applications/Postgres.app/Contents/Versions/*/bin",
	} {
		found, _ := filepath.Glob(pattern)
		slices.SortFunc(found, func(a, b string) int { return cmp.Compare(version(b), version(a)) }) // the newest first
		dirs = append(dirs, found...)
	}
	for _, dir := range dirs {
		if executable(filepath.Join(dir, "initdb")) && executable(filepath.Join(dir, "postgres")) {
			return dir
		}
	}
	return ""
}

// version is the first number in a path.
func version(path string) int {
	from := strings.IndexAny(path, "0123456789")
	if from < 0 {
		return 0
	}
	digits := path[from:]
	if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		digits = digits[:end]
	}
	n, _ := strconv.Atoi(digits)
	return n
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// install gets the programs, but not the server that Debian would set up and
// start with them.
func install(ctx context.Context) error {
	const dir = "/etc/postgresql-common/createcluster.d"
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // as Debian makes it
		return fmt.Errorf("configuring the installation: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "parley-tests.conf"), []byte("create_main_cluster = false\n"), 0o644); err != nil { //nolint:gosec // others have to read it
		return fmt.Errorf("configuring the installation: %w", err)
	}
	return testkit.Install(ctx, "postgresql")
}
