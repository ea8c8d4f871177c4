package artifact_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"strings"

	"github.com/parley-run/parley/artifact"
	"github.com/parley-run/parley/tool"
)

// Every file that is saved under a name is a new version of it. Old versions stay.
func Example() {
	ctx := context.Background()
	store := artifact.NewMemory()
	files := store.In(artifact.Place{App: "travel", User: "ann", Session: "rome"})
	for _, text := range []string{"Day 1: arrive.", "Day 1: arrive. Day 2: the Forum."} {
		saved, err := files.Save(ctx, tool.Artifact{Name: "plan.txt", MIMEType: "text/plain"}, strings.NewReader(text))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("saved version", saved.Version)
	}
	_, content, err := files.Open(ctx, "plan.txt", 0)
	if err != nil {
		log.Fatal(err)
	}
	defer content.Close()
	first, err := io.ReadAll(content)
	fmt.Println(string(first), err)
	// Output:
	// saved version 0
	// saved version 1
	// Day 1: arrive. <nil>
}
