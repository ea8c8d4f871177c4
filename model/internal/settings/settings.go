// Package settings decodes the options that an author sets besides the name of a
// model.
package settings

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/parley-run/parley/model"
)

// Settings are the options besides the name.
type Settings struct {
	APIKey     string            `json:"apiKey"`
	BaseURL    string            `json:"baseUrl"`
	Headers    map[string]string `json:"headers"`
	MaxTokens  int64             `json:"maxTokens"`
	MaxRetries *int              `json:"maxRetries"`
	Timeout    float64           `json:"timeout"` // in milliseconds
	VertexAI   bool              `json:"vertexai"`
	Project    string            `json:"project"`
	Location   string            `json:"location"`
}

// Of decodes the settings in the options of a model.
func Of(o model.Options) (s Settings, err error) {
	if len(o.Settings) > 0 {
		if err = json.Unmarshal(o.Settings, &s); err != nil {
			err = fmt.Errorf("the options of the model: %w", err)
		}
	}
	return s, err
}

// Limits returns the limits of calls.
func (s *Settings) Limits() (l model.Limits) {
	if s.MaxRetries != nil {
		l.Tries = max(*s.MaxRetries, 0) + 1
	}
	l.FirstByte = time.Duration(s.Timeout * float64(time.Millisecond))
	l.Idle = l.FirstByte
	return l
}
