package keyring

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-run/parley/internal/broker/vault"
)

// opened is a vault of a file with one key, and what it logs.
func opened(t *testing.T) (File, *vault.Vault, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	file := File{Path: filepath.Join(t.TempDir(), "keys.json"), Log: slog.New(slog.NewTextHandler(&log, nil))}
	v, err := file.Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return file, v, &log
}

// A keyset that others could read is used as soon as they cannot.
func TestModeRepairedWhileInUse(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the modes of files say nothing here")
	}
	file, v, log := opened(t)
	if err := file.Rotate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file.Path, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := v.String(); got != "vault(1 keys)" {
		t.Errorf("while others can read it, it is %s", got)
	}
	if !strings.Contains(log.String(), "chmod 600") {
		t.Errorf("it was logged: %s", log)
	}
	if err := os.Chmod(file.Path, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := v.String(); got != "vault(2 keys)" {
		t.Errorf("with its mode repaired it is %s", got)
	}
}

// slow is a keyset whose reading a test decides about.
type slow struct {
	*watched

	begun  chan struct{}
	answer chan error
}

func newSlow(t *testing.T, file File) *slow {
	t.Helper()
	s := &slow{begun: make(chan struct{}), answer: make(chan error)}
	s.watched = &watched{path: file.Path, log: file.Log, load: func(ctx context.Context) (*vault.Ring, os.FileInfo, error) {
		s.begun <- struct{}{}
		if err := <-s.answer; err != nil {
			return nil, nil, err
		}
		return file.load(ctx)
	}}
	var err error
	if s.ring, s.seen, err = file.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// A service that fails once is asked again, not all the time, and not never.
func TestServiceFailsWhileInUse(t *testing.T) {
	file, _, log := opened(t)
	synctest.Test(t, func(t *testing.T) {
		s := newSlow(t, file)
		var asked []time.Duration
		start := time.Now()
		go func() {
			for range s.begun {
				asked = append(asked, time.Since(start))
				if len(asked) < 10 {
					s.answer <- errors.New("not now")
				} else {
					s.answer <- nil
				}
			}
		}()
		if err := file.Rotate(t.Context()); err != nil {
			t.Fatal(err)
		}
		for s.current().Keys == 1 && time.Since(start) < time.Hour {
			time.Sleep(100 * time.Millisecond)
		}
		close(s.begun)
		synctest.Wait()
		if len(asked) != 10 || asked[0] != 0 || asked[1] != firstRetry || asked[9]-asked[8] != lastRetry {
			t.Errorf("it was asked after %v", asked)
		}
		if strings.Count(log.String(), "not now") != 9 {
			t.Errorf("it was logged: %s", log)
		}
	})
}

// While a keyset is read others continue with the one before; those who have
// something that it does not open wait.
func TestUseWhileRead(t *testing.T) {
	file, before, _ := opened(t)
	old, err := before.Seal([]byte("old"), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := newSlow(t, file)
	if err := file.Rotate(t.Context()); err != nil {
		t.Fatal(err)
	}
	after, err := file.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := after.Seal([]byte("fresh"), nil)
	if err != nil {
		t.Fatal(err)
	}
	v := vault.FromRing(s.current, s.settled)
	var wg sync.WaitGroup
	wg.Go(func() { _ = v.String() }) // notices the change
	<-s.begun
	if plain, err := v.Open(old, nil); err != nil || string(plain) != "old" {
		t.Errorf("opened %q, %v", plain, err)
	}
	wg.Go(func() {
		if plain, err := v.Open(fresh, nil); err != nil || string(plain) != "fresh" {
			t.Errorf("opened %q, %v", plain, err)
		}
	})
	s.answer <- nil
	wg.Wait()
	if got := v.String(); got != "vault(2 keys)" {
		t.Errorf("it is %s", got)
	}
}
