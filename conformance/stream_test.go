package conformance

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/internal/testkit"
)

func TestC31_Stream(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	// Do reads the stream as it is, frames and all.
	r := s.Do(t, http.MethodPost, "/run_sse", with(s.request("weather in Oslo"), "streaming", false)).Want(t, http.StatusOK)
	if kind := r.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		t.Errorf("content type %q", kind)
	}
	if got := r.Header.Get("Cache-Control"); got != "no-cache" {
		t.Errorf("Cache-Control %q", got)
	}
	blocks := strings.SplitAfter(string(r.Body), "\n\n")
	if len(blocks) != 4 || blocks[3] != "" {
		t.Fatalf("not three frames: %q", r.Body)
	}
	var stored struct{ Events []json.RawMessage }
	s.Do(t, http.MethodGet, s.path(), nil).Into(t, &stored)
	for i, block := range blocks[:3] {
		if want := "data: " + string(stored.Events[i+1]) + "\n\n"; block != want {
			t.Errorf("frame %d is not the stored event:\n%s%s", i, block, want)
		}
	}
	wantBrief(t, s.get(t).Events[1:], weatherTurn...)
}

func TestC32_Pieces(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	got := rest(t, s.stream(t, with(s.request("weather in Oslo"), "streaming", true)))
	wantBrief(t, got, weatherTurn[0], weatherTurn[1],
		"weather_agent: ~ It ", "weather_agent: ~ is ", "weather_agent: ~ sunny ", "weather_agent: ~ in ", "weather_agent: ~ Oslo.",
		weatherTurn[2])
	pieces, final := got[2:len(got)-1], got[len(got)-1]
	var said strings.Builder
	for _, p := range pieces {
		said.WriteString(p.text())
		if p.ID != pieces[0].ID || p.TurnComplete || p.InvocationID != final.InvocationID {
			t.Errorf("piece %+v", p)
		}
	}
	if said.String() != final.text() || final.ID == pieces[0].ID || final.Partial == nil || !final.TurnComplete {
		t.Errorf("the pieces are %q, the end is %+v", &said, final)
	}
	complete := append(got[:2:2], final)
	if diff := cmp.Diff(complete, s.get(t).Events[1:]); diff != "" {
		t.Errorf("the history is not the complete events (-sent +stored):\n%s", diff)
	}
}

// Nothing but the pieces depends on how a turn is asked for.
func TestSameTurnEverywhere(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"hello", "weather", "pair", "broken", "errcode", "long", "silent", "keep k v"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			s := begin(t, "weather")
			collected := s.say(t, text)
			s = s.another(t)
			streamed := rest(t, s.stream(t, s.request(text)))
			if diff := cmp.Diff(collected, streamed, volatile); diff != "" {
				t.Errorf("(-/run +/run_sse):\n%s", diff)
			}
			s = s.another(t)
			for _, e := range rest(t, s.stream(t, with(s.request(text), "streaming", true))) {
				if !e.partial() {
					collected = collected[1:]
				}
			}
			if len(collected) != 0 {
				t.Errorf("with pieces, %q are missing", brief(collected))
			}
		})
	}
}

// Without streaming on /run there are no pieces either.
func TestStreamingIsIgnoredByRun(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	wantBrief(t, s.run(t, with(s.request("weather"), "streaming", true)), weatherTurn...)
}

// A client that goes away after the first event loses nothing but the stream.
func TestHangUp(t *testing.T) {
	t.Parallel()
	for _, streaming := range []bool{false, true} {
		s := begin(t, "weather")
		gate := unique("g")
		stream := s.stream(t, with(s.request("slow "+gate), "streaming", streaming))
		first := next(t, stream)
		wantBrief(t, []Event{first}, "weather_agent: wait_for?")
		stream.Close()
		s.release(t, gate)

		var history []Event
		testkit.Eventually(t, "the end of the turn", func() bool {
			history = s.get(t).Events
			return history[len(history)-1].TurnComplete
		})
		wantBrief(t, history, "user: slow "+gate, "weather_agent: wait_for?", "weather_agent: wait_for!",
			`weather_agent: wait_for returned {"status":"success"}`)
		if diff := cmp.Diff(first, history[1]); diff != "" {
			t.Errorf("the first event (-sent +stored):\n%s", diff)
		}
		wantBrief(t, s.say(t, "hello again"), "weather_agent: You said: hello again")
	}
}
