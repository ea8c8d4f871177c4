package schedule

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session/memstore"
)

// The schedules of one user are bounded, in number and in bytes; those of others do not
// count.
func TestBounds(t *testing.T) {
	t.Parallel()
	service := Service{Store: memstore.New(0).Schedules}
	create := func(user, id string, bytes int) error {
		spec := Spec{Cron: "@daily", Message: event.Text(event.RoleUser, strings.Repeat("x", bytes))}
		_, err := service.Create(t.Context(), "app", user, id, &spec)
		return err
	}
	for i := range MaxPerUser {
		if err := create("many", fmt.Sprint(i), 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := create("many", "more", 1); !errors.Is(err, ErrTooMany) {
		t.Errorf("one more: %v, want ErrTooMany", err)
	}
	if _, err := service.Change(t.Context(), "app", "many", "0", func(s *Spec) error { s.Paused = true; return nil }); err != nil {
		t.Errorf("changing one of many: %v", err)
	}
	if err := create("large", "first", MaxBytes/2); err != nil {
		t.Fatal(err)
	}
	if err := create("large", "second", MaxBytes/2); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a large one: %v, want ErrTooLarge", err)
	}
	if err := create("large", "small", 1); err != nil {
		t.Errorf("a small one: %v", err)
	}
	grow := func(s *Spec) error {
		s.Message = event.Text(event.RoleUser, strings.Repeat("x", MaxBytes))
		return nil
	}
	if _, err := service.Change(t.Context(), "app", "large", "small", grow); !errors.Is(err, ErrTooLarge) {
		t.Errorf("one that grows: %v, want ErrTooLarge", err)
	}
}
