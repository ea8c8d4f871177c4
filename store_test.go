package parley_test

import (
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
			keys, err := parley.OpenAPIKeys(t.Context(), url)
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

// Administration fails without a database, and does not make an empty one under a
// name with a mistake in it.
func TestAdministrationMakesNoDatabase(t *testing.T) {
	file := filepath.Join(t.TempDir(), "nothing.db")
	cfg := parley.Config{Sessions: parley.SessionConfig{URL: "sqlite://" + file}}
	_, doctor := parley.Doctor(t.Context(), cfg.Sessions.URL, true)
	_, rotate := parley.RotateSealingKeys(t.Context(), cfg)
	_, prune := parley.PruneSealingKeys(t.Context(), cfg)
	for name, err := range map[string]error{"doctor": doctor, "rotate": rotate, "prune": prune} {
		if err == nil || !strings.Contains(err.Error(), "there is no database") || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if made, err := os.ReadDir(filepath.Dir(file)); err != nil || len(made) > 0 {
		t.Errorf("there is %v now (%v)", made, err)
	}
}
