package parley_test

import (
	"strings"
	"testing"

	"github.com/parley-run/parley"
)

// A list is of databases that can have a part of the users.
func TestListOfDatabases(t *testing.T) {
	t.Parallel()
	for _, list := range []string{"sqlite:///a.db,sqlite:///b.db", "postgres://h/a,sqlite:///b.db", "sqlite:///b.db,postgres://h/a"} {
		_, err := parley.Doctor(t.Context(), list, false)
		if err == nil || !strings.Contains(err.Error(), "must consist of postgres:// URLs") {
			t.Errorf("%s: %v", list, err)
		}
	}
	if _, err := parley.Move(t.Context(), "postgres://h/a", nil); err == nil || !strings.Contains(err.Error(), "must be a list") {
		t.Errorf("a move in one database: %v", err)
	}
}
