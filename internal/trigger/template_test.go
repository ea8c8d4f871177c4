package trigger

import (
	"errors"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/wire"
)

func values(tb testing.TB) map[string]any {
	tb.Helper()
	body, err := decode([]byte(`{"issue":{"title":"It <b>fails</b>","number":12345678901234567890,"labels":["a",{"name":"b"}],"open":true,"none":null},"a.b":{"c/d":"e"}}`))
	if err != nil {
		tb.Fatal(err)
	}
	return map[string]any{"body": body, "headers": map[string]any{"x-event": "push"}, "query": map[string]any{"q": "1", "empty": ""}, "attributes": map[string]any{}, "id": "7"}
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                       "",
		"plain { text } }}":                      "plain { text } }}",
		"{{ body.issue.title }}":                 "It <b>fails</b>",
		"{{body.issue.number}}!":                 "12345678901234567890!",
		"{{ body.issue.labels.1.name }}":         "b",
		"{{ /body/a.b/c~1d }}":                   "e",
		"{{ headers.X-Event }}/{{ id }}":         "push/7",
		"{{ query.q }}":                          "1",
		"{{ body.issue.open }}":                  "true",
		`{{ body.none ?? "no } }} \"x\"" }}`:     `no } }} "x"`,
		`{{ body.none ?? body.issue.none??id }}`: "7",
		`{{ body.none || query.empty||id }}`:     "7",
		`{{ query.empty ?? id }}`:                "",
		`{{ "{{" }} x }}`:                        "{{ x }}",
		"{{ body.issue.labels }}":                "[\n  \"a\",\n  {\n    \"name\": \"b\"\n  }\n]",
	} {
		parsed, err := parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := parsed.render(values(t)); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"{{ body.issue.none }}":      "no body.issue.none,",
		"{{ body.issue.labels.2 }}":  "no body.issue.labels.2,",
		"{{ body.issue.labels.01 }}": "no body.issue.labels.01,",
		"{{ body.issue.title.x }}":   "no body.issue.title.x,",
		"{{ type }}":                 "no type,",
		"{{ body.x ?? body.y }}":     "no body.y,",
	} {
		parsed, err := parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parsed.render(values(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		} else if _, ok := errors.AsType[*PayloadError](err); !ok {
			t.Errorf("%s: %T", text, err)
		}
	}
	for _, text := range []string{
		"{{", "{{ }}", "{{ body", "{{ body }", "{{ body | upper }}", "{{ secret }}", "{{ body. }}", `{{ "x }}`, `{{ "\x" }}`, "{{ body ?? }}",
		"{{ body.a body.b }}", "{{ .body }}", "{{ body" + strings.Repeat(".a", maxDepth) + " }}", strings.Repeat("{{ id }}", maxPlaceholders+1), strings.Repeat("x", maxTemplate+1),
	} {
		if _, err := parse(text); err == nil {
			t.Errorf("%.60s is a template", text)
		}
	}
}

// What is made of a payload is bounded, however often the template repeats it.
func TestTemplateOutputIsBounded(t *testing.T) {
	t.Parallel()
	long := map[string]any{"body": strings.Repeat("x", maxOutput/2)}
	parsed, err := parse("{{ body }}{{ body }}!")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parsed.render(long); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
}

func TestStateTemplates(t *testing.T) {
	t.Parallel()
	got, err := renderValue([]byte(`{"issue":"{{ body.issue.labels }}","n":"{{ body.issue.number }}","text":"no {{ body.issue.number }}","list":[1,"{{ id }}"],"off":null}`),
		func(text string) (any, error) { return renderText(text, values(t)) })
	if err != nil {
		t.Fatal(err)
	}
	doc, err := encode(got, "")
	if want := `{"issue":["a",{"name":"b"}],"list":[1,"7"],"n":12345678901234567890,"off":null,"text":"no 12345678901234567890"}`; err != nil || string(doc) != want {
		t.Errorf("%s, %v", doc, err)
	}
	for _, bad := range []string{`"{{ nothing }}"`, strings.Repeat("[", 40) + strings.Repeat("]", 40)} {
		if err := checkValue([]byte(bad)); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

func TestSpecs(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		`{"check":"secret"}`:                                           "",
		`{"check":"secret","header":"X-Token"}`:                        "",
		`{"check":"secret","match":{"body.a":"x","body.b":["y","z"]}}`: "",
		`{"check":"google","audience":"a","email":"e@x.example"}`:      "",
		`{}`:                                                    "check",
		`{"check":"none"}`:                                      "check",
		`{"check":"github","header":"x"}`:                       "check",
		`{"check":"secret","email":"x"}`:                        "check",
		`{"check":"secret","header":"a b"}`:                     "header",
		`{"check":"secret","header":"a","query":"b"}`:           "query",
		`{"check":"google","email":"e"}`:                        "audience",
		`{"check":"google","audience":"a"}`:                     "email",
		`{"check":"secret","userId":""}`:                        "userId",
		`{"check":"secret","userId":"a\u0007"}`:                 "userId",
		`{"check":"secret","sessionId":".."}`:                   "sessionId",
		`{"check":"secret","sessionId":"{{ x }}"}`:              "sessionId",
		`{"check":"secret","message":"{{"}`:                     "message",
		`{"check":"secret","concurrency":"x"}`:                  "concurrency",
		`{"check":"secret","events":[""]}`:                      "events",
		`{"check":"secret","match":{"x":"y"}}`:                  "match",
		`{"check":"secret","match":{"body.x":[]}}`:              "match",
		`{"check":"secret","stateDelta":{"k":"{{ nothing }}"}}`: "stateDelta",
	} {
		spec := Spec{User: "u"}
		err := wire.Decode([]byte(doc), func(in *wire.Reader) error {
			return in.Patch(func(name string) error { _, err := spec.Read(in, name); return err })
		})
		if err == nil {
			err = spec.validate()
		}
		wrong, ok := errors.AsType[*SpecError](err)
		if (err == nil) != (want == "") || ok && wrong.Field != want {
			t.Errorf("%s: %v, want %q", doc, err, want)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{"{{ body.issue.title }}", `{{ /body/a~1b ?? "x" }}{{ id }}`, "{{", `{{ "\u0041`, "{{ headers.x-event }} }}"} {
		f.Add(seed)
	}
	all := values(f)
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := parse(text)
		if err != nil {
			return
		}
		out, err := parsed.render(all)
		if err == nil && len(out) > maxOutput {
			t.Errorf("%d bytes", len(out))
		}
		if parsed.constant() && out != text {
			t.Errorf("%q became %q", text, out)
		}
	})
}
