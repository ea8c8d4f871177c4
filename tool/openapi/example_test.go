package openapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/openapi"
)

func ExampleNew() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"forecast":"sunny in `+r.URL.Query().Get("city")+`"}`)
	}))
	defer api.Close()

	set, err := openapi.New(context.Background(), openapi.Config{BaseURL: api.URL, Spec: []byte(`
openapi: 3.0.0
info: {title: weather, version: "1"}
paths:
  /forecast:
    get:
      operationId: getForecast
      description: Returns the forecast for a city.
      parameters: [{name: city, in: query, required: true, schema: {type: string}}]
      responses: {"200": {description: The forecast.}}
`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range set.All() { // or give set to an agent, in its Toolsets
		fmt.Println(t.Declaration().Name)
		result, err := t.Call(&tool.Context{Context: context.Background(), Actions: &event.Actions{}}, json.RawMessage(`{"city":"Lisbon"}`))
		fmt.Printf("%s %v\n", result, err)
	}
	// Output:
	// get_forecast
	// {"forecast":"sunny in Lisbon"} <nil>
}
