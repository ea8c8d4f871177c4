package api_test

import (
	"encoding/json"
	"fmt"
	"log"

	"github.com/parley-run/parley/api"
)

func ExampleOpenAPI() {
	var document struct {
		OpenAPI string `json:"openapi"`
		Info    struct {
			Title string `json:"title"`
		} `json:"info"`
	}
	if err := json.Unmarshal(api.OpenAPI(), &document); err != nil {
		log.Fatal(err)
	}
	fmt.Println(document.Info.Title, document.OpenAPI)
	// Output: Parley 3.0.3
}
