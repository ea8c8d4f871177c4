package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/genai"

	"github.com/parley-run/parley/internal/passthrough"
	"github.com/parley-run/parley/model"
)

// elsewhere are settings that only the other one of the two APIs has.
func (m *Model) elsewhere() []string {
	if m.vertex() {
		return []string{"enableEnhancedCivicAnswers"}
	}
	return []string{"audioTimestamp", "modelArmorConfig", "modelSelectionConfig", "routingConfig"}
}

// Ignored implements model.Ignorer.
func (m *Model) Ignored(c *model.Config) []string {
	var names []string
	for _, name := range m.elsewhere() {
		if c.Extra[name] != nil {
			names = append(names, name)
		}
	}
	return names
}

// SchemaOrTools reports whether the API refuses a response schema together with
// tools; see model.SchemaOrTools. The Gemini API does for models before Gemini 3,
// and Vertex AI for those before Gemini 2. A name without a version may be that of
// an old one.
func (m *Model) SchemaOrTools() bool {
	name := m.name[strings.LastIndexByte(m.name, '/')+1:]
	version, _, _ := strings.Cut(strings.TrimPrefix(name, "gemini-"), "-")
	version, _, _ = strings.Cut(version, ".")
	major, err := strconv.Atoi(version)
	return err != nil || !strings.HasPrefix(name, "gemini-") || major < 2 || major < 3 && !m.vertex()
}

func (m *Model) settings(c *model.Config) (*genai.GenerateContentConfig, error) {
	out := &genai.GenerateContentConfig{}
	if c == nil {
		c = &model.Config{}
	}
	if len(c.Extra) > 0 {
		extra, unknown := maps.Clone(c.Extra), m.elsewhere()
		maps.DeleteFunc(extra, func(name string, _ json.RawMessage) bool {
			return slices.Contains(unknown, name) || !slices.Contains(passthrough.Settings(), name)
		})
		doc, err := json.Marshal(extra)
		if err == nil {
			err = json.Unmarshal(doc, out)
		}
		if err != nil {
			return nil, fmt.Errorf("the settings are not in the form of the Gemini API: %w", err)
		}
	}
	out.HTTPOptions = &genai.HTTPOptions{ExtrasRequestProvider: fill}
	out.Temperature, out.TopP, out.TopK = single(c.Temperature), single(c.TopP), single(c.TopK)
	out.PresencePenalty, out.FrequencyPenalty = single(c.PresencePenalty), single(c.FrequencyPenalty)
	out.Seed = short(c.Seed)
	out.MaxOutputTokens = int32(min(c.MaxOutputTokens, math.MaxInt32))
	out.StopSequences = c.StopSequences
	out.ResponseMIMEType = c.ResponseMIMEType
	if len(c.ResponseSchema) > 0 {
		if !json.Valid(c.ResponseSchema) {
			return nil, errors.New("the schema of the response is not JSON")
		}
		out.ResponseJsonSchema = c.ResponseSchema
		if out.ResponseMIMEType == "" { // the API rejects a schema without it
			out.ResponseMIMEType = "application/json"
		}
	}
	if c.Logprobs != nil {
		out.ResponseLogprobs = true
		if *c.Logprobs > 0 {
			out.Logprobs = short(c.Logprobs)
		}
	}
	if t := c.Thinking; t != nil {
		out.ThinkingConfig = &genai.ThinkingConfig{
			IncludeThoughts: t.IncludeThoughts, ThinkingBudget: short(t.Budget), ThinkingLevel: genai.ThinkingLevel(t.Level),
		}
	}
	if t := c.ToolChoice; t != nil {
		out.ToolConfig = &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{
			Mode: genai.FunctionCallingConfigMode(t.Mode), AllowedFunctionNames: t.Allowed,
		}}
	}
	for _, s := range c.SafetySettings {
		one := &genai.SafetySetting{Category: genai.HarmCategory(s.Category), Threshold: genai.HarmBlockThreshold(s.Threshold)}
		if m.vertex() {
			one.Method = genai.HarmBlockMethod(s.Method)
		}
		out.SafetySettings = append(out.SafetySettings, one)
	}
	out.CachedContent, out.Labels, out.ServiceTier = c.CachedContent, c.Labels, genai.ServiceTier(c.ServiceTier)
	return out, nil
}

func single(f *float64) *float32 {
	if f == nil {
		return nil
	}
	return new(float32(*f))
}

// short returns n in the size of the API; of a larger seed, the lower bits are
// sufficient.
func short(n *int64) *int32 {
	if n == nil {
		return nil
	}
	return new(int32(*n))
}
