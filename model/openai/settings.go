package openai

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/internal/call"
)

// Ignored implements model.Ignorer.
func (m *Model) Ignored(c *model.Config) []string {
	names := slices.Collect(maps.Keys(c.Extra))
	for name, given := range map[string]bool{
		"topK":                           c.TopK != nil && m.official,
		"safetySettings":                 len(c.SafetySettings) > 0,
		"cachedContent":                  c.CachedContent != "",
		"labels":                         len(c.Labels) > 0,
		"thinkingConfig.thinkingBudget":  c.Thinking != nil && c.Thinking.Budget != nil && c.Thinking.Level == "",
		"thinkingConfig.includeThoughts": c.Thinking != nil && c.Thinking.IncludeThoughts && m.official,
		"toolConfig.mode: VALIDATED":     c.ToolChoice != nil && c.ToolChoice.Mode == model.ToolsValidated,
		"responseMimeType":               !plainFormat(c.ResponseMIMEType),
	} {
		if given {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func plainFormat(mime string) bool {
	return mime == "" || mime == "text/plain" || mime == "application/json"
}

func (m *Model) settings(body map[string]any, c *model.Config) error {
	if c == nil {
		return nil
	}
	if err := call.NoProviderTools(c); err != nil {
		return err
	}
	set(body, "temperature", c.Temperature)
	set(body, "top_p", c.TopP)
	set(body, "seed", c.Seed)
	set(body, "presence_penalty", c.PresencePenalty)
	set(body, "frequency_penalty", c.FrequencyPenalty)
	if !m.official {
		set(body, "top_k", c.TopK) // vLLM, llama.cpp and others support it
	}
	if c.MaxOutputTokens > 0 {
		// OpenAI's newer models reject the old name, other servers only know that
		// one.
		if m.official {
			body["max_completion_tokens"] = c.MaxOutputTokens
		} else {
			body["max_tokens"] = c.MaxOutputTokens
		}
	}
	if len(c.StopSequences) > 0 {
		body["stop"] = c.StopSequences
	}
	if c.Thinking != nil && c.Thinking.Level != "" {
		body["reasoning_effort"] = strings.ToLower(c.Thinking.Level)
	}
	if c.Logprobs != nil {
		body["logprobs"] = true
		if *c.Logprobs > 0 {
			body["top_logprobs"] = *c.Logprobs
		}
	}
	if c.ServiceTier != "" {
		body["service_tier"] = strings.ToLower(c.ServiceTier)
	}
	switch {
	case len(c.ResponseSchema) > 0:
		var schema any
		if json.Unmarshal(c.ResponseSchema, &schema) != nil {
			return errSchema
		}
		body["response_format"] = map[string]any{"type": "json_schema", "json_schema": map[string]any{
			"name": "response", "schema": c.ResponseSchema, "strict": strict(schema),
		}}
	case c.ResponseMIMEType == "application/json":
		body["response_format"] = map[string]any{"type": "json_object"}
	}
	return nil
}

func set[T any](body map[string]any, name string, value *T) {
	if value != nil {
		body[name] = *value
	}
}

// strict reports whether a server can enforce a schema: every object must name all
// of its members, and require them.
func strict(schema any) bool {
	switch s := schema.(type) {
	case []any:
		return !slices.ContainsFunc(s, func(one any) bool { return !strict(one) })
	case map[string]any:
		if s["type"] == "object" || s["properties"] != nil {
			members, _ := s["properties"].(map[string]any)
			required, _ := s["required"].([]any)
			if s["additionalProperties"] != false || len(required) != len(members) {
				return false
			}
		}
		for _, one := range s {
			if !strict(one) {
				return false
			}
		}
	}
	return true
}
