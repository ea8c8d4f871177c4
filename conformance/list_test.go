package conformance

import (
	"fmt"
	"net/http"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// list reads a page of sessions: their ids and the path of the next page.
func (s *talk) list(t *testing.T, path string) (ids []string, next string) {
	t.Helper()
	var sessions []Session
	r := s.Do(t, http.MethodGet, path, nil).Want(t, http.StatusOK).Into(t, &sessions)
	ids = []string{}
	for _, one := range sessions {
		ids = append(ids, one.ID)
	}
	if m := regexp.MustCompile(`^<([^>]+)>; rel="next"$`).FindStringSubmatch(r.Header.Get("Link")); m != nil {
		next = m[1]
	}
	return ids, next
}

func TestC13_List(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	s.say(t, "keep color red")
	second := s.another(t)
	var got []Session
	s.Do(t, http.MethodGet, s.sessions(), nil).Want(t, http.StatusOK).Into(t, &got)
	want := []Session{second.get(t), s.get(t)}
	want[1].Events = []Event{}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got[1].State["color"] != "red" {
		t.Errorf("the list lacks the state: %v", got[1].State)
	}
}

func TestC14_ListNothing(t *testing.T) {
	t.Parallel()
	s := newTalk(t)
	if got := string(s.Do(t, http.MethodGet, s.sessions(), nil).Want(t, http.StatusOK).Body); got != "[]" {
		t.Error(got)
	}
	s.App = "gone"
	s.Do(t, http.MethodGet, s.sessions(), nil).Want(t, http.StatusNotFound)
}

func TestC15_ListHidesEvaluations(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	for _, id := range []string{"___eval___session___1", "adk-eval-session-1"} {
		hidden := *s
		hidden.ID = id
		hidden.create(t, nil)
		hidden.get(t)
	}
	ids, _ := s.list(t, s.sessions())
	if diff := cmp.Diff([]string{"s1"}, ids); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPaging(t *testing.T) {
	t.Parallel()
	for _, spelling := range []string{"pageSize", "page_size"} {
		t.Run(spelling, func(t *testing.T) {
			t.Parallel()
			s := newTalk(t)
			var want []string
			for i := range 5 {
				s.ID = fmt.Sprint("s", i)
				s.create(t, nil)
				want = append([]string{s.ID}, want...)
			}
			var got []string
			pages := 0
			for path := s.sessions() + "?" + spelling + "=2"; path != ""; pages++ {
				ids, next := s.list(t, path)
				got = append(got, ids...)
				path = next
				// Neither of these may move the pages that are still to come.
				s.ID = fmt.Sprint("new", pages)
				s.create(t, nil)
				s.Do(t, http.MethodDelete, s.sessions()+"/"+ids[0], nil).Want(t, http.StatusOK)
			}
			if diff := cmp.Diff(want, got); diff != "" || pages != 3 {
				t.Errorf("%d pages (-want +got):\n%s", pages, diff)
			}
		})
	}
}

func TestPagingEdges(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	s.another(t)
	for query, want := range map[string]int{"": 2, "?pageSize=2": 2, "?pageSize=1000": 2, "?pageToken=": 2, "?pageSize=1": 1} {
		ids, next := s.list(t, s.sessions()+query)
		if len(ids) != want || (next != "") != (want == 1) {
			t.Errorf("%q: %d sessions, next page %q", query, len(ids), next)
		}
	}
	for query, status := range map[string]int{
		"?pageSize=0": 422, "?pageSize=-1": 422, "?pageSize=many": 422, "?pageSize=1001": 422, "?pageSize=1&pageToken=!": 400,
	} {
		refusal(t, s.Do(t, http.MethodGet, s.sessions()+query, nil), status)
	}
}
