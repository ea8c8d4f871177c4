package tempdir

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/testkit"
)

func TestNew(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TMPDIR", "tmp")
	if err := os.Mkdir("tmp", 0o700); err != nil {
		t.Fatal(err)
	}
	dir, err := New("test-")
	if err != nil || !filepath.IsAbs(dir.Path) { // a process that uses it may have another working directory
		t.Fatalf("the directory is %v, %v", dir, err)
	}
	if err := os.WriteFile(filepath.Join(dir.Path, "file"), nil, 0o600); err != nil {
		t.Error(err)
	}
	if err := dir.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir("tmp"); err != nil || len(left) > 0 {
		t.Errorf("there is %v, %v", left, err)
	}
}

// What processes that were killed have left is deleted, and what others use is not.
func TestAbandoned(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	abandon := func(name string, age time.Duration) string {
		dir := filepath.Join(top, "test-"+name)
		lock := filepath.Join(dir, lockName)
		if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(lock, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(lock, then, then); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	old, used, young := abandon("old", time.Hour), abandon("used", time.Hour), abandon("young", 0)
	half := filepath.Join(top, "test-half") // its deletion was interrupted
	if err := os.Mkdir(half, 0o700); err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-time.Hour)
	if err := os.Chtimes(half, then, then); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(top, "other")
	if err := os.Rename(abandon("other", time.Hour), other); err != nil {
		t.Fatal(err)
	}
	lock, err := lockFile(filepath.Join(used, lockName))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(lock.Name(), then, then); err != nil {
		t.Fatal(err)
	}
	removeAbandoned(top, "test-")
	for dir, want := range map[string]bool{old: false, half: false, used: true, young: true, other: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: there is %v", filepath.Base(dir), err == nil)
		}
	}
	_ = lock.Close()
	// A process that another test starts may have the lock until it has begun.
	testkit.Eventually(t, "what is not in use is deleted", func() bool {
		removeAbandoned(top, "test-")
		_, err := os.Stat(used)
		return err != nil
	})
}
