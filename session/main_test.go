package session_test

import (
	"testing"

	"github.com/parley-run/parley/internal/testkit/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }
