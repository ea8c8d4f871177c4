package media_test

import (
	"testing"

	"github.com/parley-run/parley/internal/media"
)

func TestIsText(t *testing.T) {
	t.Parallel()
	for mimeType, want := range map[string]bool{
		"text/plain": true, "Text/CSV; charset=utf-8": true, "application/json": true, "application/ld+json": true,
		"image/svg+xml": true, "application/csv": true, "application/toml": true, "application/x-yaml;charset=utf-8": true,
		"application/pdf": false, "image/png": false, "application/octet-stream": false, "": false,
		"TEXT/plain; charset": true, // not a valid type, but its beginning is
	} {
		if got := media.IsText(mimeType); got != want {
			t.Errorf("%q: got %t, want %t", mimeType, got, want)
		}
	}
}
