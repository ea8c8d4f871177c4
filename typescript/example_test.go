package typescript_test

import (
	"context"
	"fmt"
	"log"

	"github.com/parley-run/parley"
	_ "github.com/parley-run/parley/model/offline" // needs no key
	_ "github.com/parley-run/parley/typescript"    // runs agents in TypeScript
)

// The directory has an index.ts that exports an agent.
func Example() {
	ctx := context.Background()
	srv, err := parley.Open(ctx, parley.Config{Scripts: parley.ScriptConfig{Dir: "../examples/weather"}, Offline: true})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close(ctx)
	answer, err := srv.Ask(ctx, "weather", "ann", "first", "What is the weather in Paris?")
	fmt.Println(answer, err)
	// Output: The weather in Paris is sunny with a temperature of 25 degrees Celsius (77 degrees Fahrenheit). <nil>
}
