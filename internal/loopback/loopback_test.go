package loopback_test

import (
	"testing"

	"github.com/parley-run/parley/internal/loopback"
)

func TestIs(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST:8000": true, "127.0.0.1": true, "127.9.9.9:80": true, "::1": true, "[::1]": true, "[::1]:80": true,
		"": false, ":80": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false, "0.0.0.0": false, "[::]:80": false, "10.0.0.1:80": false, "evil.example": false,
	} {
		if got := loopback.Is(host); got != want {
			t.Errorf("%q: %t", host, got)
		}
	}
}
