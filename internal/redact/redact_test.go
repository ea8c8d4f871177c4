package redact_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/parley-run/parley/internal/redact"
)

// A file is the same however it is read, and no secret in it is.
func TestReader(t *testing.T) {
	var set redact.Set
	set.Add("token-1234", "token-1234-longer", "1234token-", "with/slash & more", "987654321012", "short")
	far := strings.Repeat("x", 32<<10-5) // a secret that lies across what is read at once
	for in, want := range map[string]string{
		"":                                  "",
		"nothing, and short":                "nothing, and short",
		"token-1234":                        "[redacted]",
		"token-1234-longer token-1234-long": "[redacted] [redacted]-long",
		"token-123":                         "token-123",
		"a token-1234token-":                "a [redacted]token-",
		`["with\/slash & more","with/slash \u0026 more"]`: `["[redacted]","[redacted]"]`,
		"?a=with%2Fslash+%26+more":                        "?a=[redacted]",
		"{\"n\":987654321012}":                            "{\"n\":1}",
		"\xff\x00token-1234\xfe":                          "\xff\x00[redacted]\xfe",
		far + "token-1234-longer" + far:                   far + "[redacted]" + far,
		far + far + "token-1234" + far + "token":          far + far + "[redacted]" + far + "token",
	} {
		for how, read := range map[string]func(io.Reader) io.Reader{
			"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader, "with the end": iotest.DataErrReader,
		} {
			if how == "byte by byte" && len(in) > 1000 {
				continue
			}
			got, err := io.ReadAll(set.Reader(read(strings.NewReader(in))))
			if err != nil || string(got) != want {
				t.Errorf("%.60q, read %s, becomes %.60q, %v", in, how, got, err)
			}
		}
	}
	broken := errors.New("the disk is gone")
	if got, err := io.ReadAll(set.Reader(io.MultiReader(strings.NewReader("token-1234"), iotest.ErrReader(broken)))); !errors.Is(err, broken) || strings.Contains(string(got), "token") {
		t.Errorf("%q, %v", got, err)
	}
}

// Wherever a log record has a secret, it is left out.
func TestHandler(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(redact.Handler(slog.NewTextHandler(&out, nil), func(text string) string { return strings.ReplaceAll(text, "hunter2", "***") }))
	log.With("with", "hunter2").WithGroup("g").Error("it is hunter2", "text", "a hunter2", "err", errors.New("no hunter2"), "n", 2,
		slog.Group("deep", "one", []string{"hunter2"}), "any", struct{ A string }{"hunter2"})
	got := out.String()
	if strings.Contains(got, "hunter2") || strings.Count(got, "***") != 6 || !strings.Contains(got, "g.n=2") {
		t.Errorf("the log says %s", got)
	}
}
