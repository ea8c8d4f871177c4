package parley_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley"
)

// A path that begins with a dot is relative however many slashes are before it:
// other tools write it with three.
func TestRelativeSQLiteFiles(t *testing.T) {
	for _, url := range []string{"sqlite:keys.db", "sqlite://keys.db", "sqlite://./keys.db", "sqlite:///./keys.db", "sqlite:///../here/keys.db"} {
		t.Run(url, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "here")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			t.Chdir(dir)
			keys, err := parley.OpenKeys(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			if err := keys.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat("keys.db"); err != nil {
				t.Error(err)
			}
		})
	}
}

// Who looks after a database wants one that is there, and not an empty one under
// a name with a mistake in it.
func TestNoDatabaseToLookAfter(t *testing.T) {
	file := filepath.Join(t.TempDir(), "nothing.db")
	cfg := parley.Config{Sessions: parley.SessionConfig{URL: "sqlite://" + file}}
	var out bytes.Buffer
	for name, err := range map[string]error{
		"doctor": parley.Doctor(t.Context(), cfg.Sessions.URL, true, &out),
		"rotate": parley.RotateKeys(t.Context(), cfg, &out),
		"prune":  parley.PruneKeys(t.Context(), cfg, &out),
	} {
		if err == nil || !strings.Contains(err.Error(), "there is no database") || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if made, err := os.ReadDir(filepath.Dir(file)); err != nil || len(made) > 0 || out.Len() > 0 {
		t.Errorf("there is %v now (%v), and it says %q", made, err, out.String())
	}
}
