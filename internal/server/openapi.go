package server

import (
	"net/http"
	"sync"

	"github.com/goccy/go-yaml"

	"github.com/parley-run/parley/api"
)

var openAPI = sync.OnceValues(func() ([]byte, error) { return yaml.YAMLToJSON(api.OpenAPI) })

// openapi answers with the document that describes all this.
func (s *Server) openapi(w http.ResponseWriter, _ *http.Request) error {
	doc, err := openAPI()
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, doc)
	return nil
}
