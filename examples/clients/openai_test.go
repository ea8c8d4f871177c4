package clients_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/faceclient"
	"github.com/parley-run/parley/internal/testkit/nodejs"
)

// TestOpenAI holds a conversation through the front end with the client of OpenAI.
func TestOpenAI(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it installs packages")
	}
	nodejs.Install(t, "openai")
	web := faceclient.Serve(t, parley.Config{Agents: testkit.NewFixture().Apps()})
	cmd := exec.CommandContext(t.Context(), nodejs.Node(t), "chat.js", "weather")
	cmd.Dir = "openai"
	cmd.Env = append(cmd.Environ(), "NO_COLOR=1", "PARLEY="+web.URL)
	cmd.Stdin = strings.NewReader("weather in Oslo\nkeep k v\nrecall k\ndanger users\ny\ndanger users\nn\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	rest := string(out)
	for _, want := range []string{"> It is sunny in Oslo.\n", "> ", `"v"`, "(y/n) ", `{"deleted":"users"}`, "(y/n) ", "rejected", "> \n"} {
		_, after, ok := strings.Cut(rest, want)
		if !ok {
			t.Fatalf("%q does not follow in\n%s", want, out)
		}
		rest = after
	}
}
