package all_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/parley-run/parley"
	_ "github.com/parley-run/parley/all" // everything that the command has
)

// A program with everything serves the agents in a directory as the command does.
func Example() {
	dir, err := os.MkdirTemp("", "all")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	srv, err := parley.Open(ctx, parley.Config{
		Scripts:  parley.ScriptConfig{Dir: "../examples/weather"},
		Sessions: parley.SessionConfig{URL: "sqlite:" + filepath.Join(dir, "agents.db")},
		UI:       parley.UIConfig{Enabled: true},
		Offline:  true, // no key is needed
	})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close(ctx)
	answer, err := srv.Ask(ctx, "weather", "ann", "first", "What is the weather in Paris?")
	fmt.Println(answer, err)
	// Output: The weather in Paris is sunny with a temperature of 25 degrees Celsius (77 degrees Fahrenheit). <nil>
}
