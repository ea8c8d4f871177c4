package javascript_test

import (
	"context"
	"fmt"
	"log"

	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/code"
	"github.com/parley-run/parley/tool/code/javascript"
)

// Agents call an executor themselves, see code.Config. A tool may call it, too.
func ExampleExecutor_Execute() {
	executor := javascript.New(javascript.Config{})
	result, err := executor.Execute(&tool.Context{Context: context.Background()}, &code.Request{
		Code:  `const rows = files["sales.csv"].trim().split("\n"); console.log(rows.length, "rows")`,
		Files: []code.File{{Name: "sales.csv", Data: []byte("Oslo,3\nRome,4\n")}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(result.Stdout, result.Stderr)
	// Output: 2 rows
}
