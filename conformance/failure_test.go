package conformance

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A run that fails says the same on /run and on /run_sse, after the events that
// it had produced, and the session continues.
func TestC34_RunFails(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		app, text, kind, why string
		events               []string // before the failure
	}{
		"before the first event": {app: "weather", text: "fail", kind: "agent", why: "boom"},
		"after three events": {app: "relay", text: "weather, then break", kind: "agent", why: "boom", events: []string{
			"reporter: get_weather?", "reporter: get_weather!", "reporter: It is sunny in Oslo.",
		}},
		"tool panics": {app: "weather", text: "panic", kind: "panic", why: "tool explode panicked", events: []string{
			"weather_agent: explode?", "weather_agent: explode! INVOCATION_ABORTED",
		}},
		"in the middle of a text": {app: "weather", text: "stutter", kind: "agent", why: "boom"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := begin(t, tt.app)
			f := refusal(t, s.Do(t, http.MethodPost, "/run", s.request(tt.text)), http.StatusInternalServerError)
			wantBrief(t, f.Events, append([]string{}, tt.events...)...)
			if !strings.Contains(f.Error, tt.why) || strings.Contains(f.Error, "secret") {
				t.Errorf("error %q", f.Error)
			}
			var detail string
			if err := json.Unmarshal(f.Detail, &detail); err != nil || detail != f.Error {
				t.Errorf("detail %s of error %q", f.Detail, f.Error)
			}

			streamed := s.another(t)
			got := rest(t, streamed.stream(t, streamed.request(tt.text)))
			last := got[len(got)-1]
			if last.Error != f.Error || last.ErrorDetails.Message != f.Error || last.ErrorDetails.Type != tt.kind {
				t.Errorf("the last frame is %+v, /run said %q", last, f.Error)
			}
			if diff := cmp.Diff(f.Events, got[:len(got)-1], volatile); diff != "" {
				t.Errorf("events (-/run +/run_sse):\n%s", diff)
			}

			for _, one := range []*talk{s, streamed} {
				history := one.get(t).Events
				wantBrief(t, history, append([]string{"user: " + tt.text}, tt.events...)...)
				wantAnswered(t, history)
				after := one.say(t, "hello")
				if got := after[0].text(); got != "You said: hello" {
					t.Errorf("the next message was answered with %q", got)
				}
			}
		})
	}
}

// The pieces before a failure are delivered, and not stored.
func TestFailureAfterPieces(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	got := rest(t, s.stream(t, with(s.request("stutter"), "streaming", true)))
	wantBrief(t, got, "weather_agent: ~ One ", "weather_agent: ~ moment, ", "weather_agent: ~ please", "weather_agent: One moment, please", "error: "+got[len(got)-1].Error)
	wantBrief(t, s.get(t).Events, "user: stutter", "weather_agent: One moment, please")
	wantBrief(t, s.say(t, "hello"), "weather_agent: You said: hello")
}

func TestC35_ModelRefuses(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	got := s.say(t, "errcode")
	wantBrief(t, got, "weather_agent: SAFETY")
	if got[0].ErrorMessage != "The answer was withheld." || got[0].Content != nil || got[0].Error != "" {
		t.Errorf("%+v", got[0])
	}
	wantBrief(t, s.get(t).Events, "user: errcode", "weather_agent: SAFETY")
	wantBrief(t, s.say(t, "hello"), "weather_agent: You said: hello")
}

// A tool that fails is the model's business.
func TestToolFails(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	got := s.say(t, "broken")
	wantBrief(t, got, "weather_agent: fail?", "weather_agent: fail!",
		`weather_agent: fail returned {"status":"error","error_message":"the sensor is broken"}`)
	want := object{"status": "error", "error_message": "the sensor is broken"}
	if diff := cmp.Diff(want, got[1].Content.Parts[0].FunctionResponse.Response); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
}
