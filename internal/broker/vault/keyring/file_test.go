package keyring_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/internal/broker/vault/keyring"
	"github.com/parley-run/parley/internal/testkit/leak"
)

// childPath names the file that a child of this test has to create.
const childPath = "PARLEY_VAULT_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childPath); path != "" {
		child(path)
		return
	}
	leak.Main(m)
}

// child waits until its input ends, makes the vault and prints a sealed value.
func child(path string) {
	_, _ = io.Copy(io.Discard, os.Stdin)
	v, err := createFile(path)
	if err == nil {
		var sealed []byte
		if sealed, err = v.Seal([]byte("child"), owner); err == nil {
			fmt.Print(string(sealed))
			return
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func openFile(path string) (*vault.Vault, error) {
	return keyring.File{Path: path}.Open(context.Background())
}

func createFile(path string) (*vault.Vault, error) {
	return keyring.File{Path: path}.Create(context.Background())
}

// wantAlone makes sure that a directory holds the keyset and nothing else, and
// that the keyset is its owner's only.
func wantAlone(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Fatalf("%v, %v", info.Mode(), err)
	}
}

func TestCreateFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyset.json")
	if _, err := openFile(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("no file: %v", err)
	}
	v, err := createFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wantAlone(t, path)
	sealed := seal(t, v, "secret")
	for _, again := range []func(string) (*vault.Vault, error){createFile, openFile} {
		v, err := again(path)
		if err != nil {
			t.Fatal(err)
		}
		wantOpen(t, v, sealed, "secret")
	}
	if _, err := createFile(filepath.Join(t.TempDir(), "no", "keyset.json")); err == nil {
		t.Error("a file was made in a directory that is not there")
	}
}

// TestCreateFileAtOnce starts goroutines and processes that all find no file.
func TestCreateFileAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyset.json")
	const each = 10
	var (
		group  sync.WaitGroup
		start  = make(chan struct{})
		sealed [2 * each][]byte
		failed [2 * each]error
	)
	for i := range each {
		group.Go(func() {
			<-start
			v, err := createFile(path)
			if err == nil {
				sealed[i], err = v.Seal([]byte("child"), owner)
			}
			failed[i] = err
		})
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), childPath+"="+path)
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			<-start
			_ = stdin.Close()
			if err := cmd.Wait(); err != nil {
				failed[each+i] = fmt.Errorf("%w: %s", err, stderr.String())
			}
			sealed[each+i] = stdout.Bytes()
		})
	}
	close(start)
	group.Wait()
	if err := errors.Join(failed[:]...); err != nil {
		t.Fatal(err)
	}
	wantAlone(t, path)
	v, err := openFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range sealed {
		wantOpen(t, v, value, "child")
	}
}

func TestFileModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the modes of files say nothing here")
	}
	path := filepath.Join(t.TempDir(), "keyset.json")
	if _, err := createFile(path); err != nil {
		t.Fatal(err)
	}
	for mode, ok := range map[os.FileMode]bool{
		0o600: true, 0o400: true,
		0o640: false, 0o604: false, 0o620: false, 0o602: false, 0o601: false, 0o644: false, 0o666: false, 0o440: false,
	} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		for _, read := range []func(string) (*vault.Vault, error){openFile, createFile} {
			_, err := read(path)
			if ok && err != nil {
				t.Errorf("%04o: %v", mode, err)
			}
			if !ok && (err == nil || !strings.Contains(err.Error(), "chmod 600 "+path)) {
				t.Errorf("%04o: %v", mode, err)
			}
		}
	}
}

func TestFilesThatHoldNoKeyset(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "keyset.json")
	if err := os.WriteFile(path, []byte("marker marker"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, read := range []func(string) (*vault.Vault, error){openFile, createFile} {
		_, err := read(path)
		if err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "marker") {
			t.Errorf("%v", err)
		}
	}
	if _, err := createFile(dir); err == nil {
		t.Error("a directory is a keyset")
	}
	if err := os.WriteFile(path, []byte(aKey+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openFile(path); err != nil {
		t.Errorf("a file with a key in base64: %v", err)
	}
}
