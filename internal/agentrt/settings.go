package agentrt

import (
	"github.com/parley-run/parley/model"
)

// Setting is one of generation.
type Setting struct {
	Name  string
	Value any
}

// Settings returns those that are set, by the names of generateContentConfig.
func Settings(c *model.Config) (list []Setting) {
	if c == nil {
		return nil
	}
	add := func(set bool, name string, value any) {
		if set {
			list = append(list, Setting{name, value})
		}
	}
	add(c.Temperature != nil, "temperature", c.Temperature)
	add(c.TopP != nil, "topP", c.TopP)
	add(c.TopK != nil, "topK", c.TopK)
	add(c.Seed != nil, "seed", c.Seed)
	add(c.PresencePenalty != nil, "presencePenalty", c.PresencePenalty)
	add(c.FrequencyPenalty != nil, "frequencyPenalty", c.FrequencyPenalty)
	add(c.MaxOutputTokens != 0, "maxOutputTokens", c.MaxOutputTokens)
	add(len(c.StopSequences) > 0, "stopSequences", c.StopSequences)
	add(c.ResponseMIMEType != "", "responseMimeType", c.ResponseMIMEType)
	add(c.ResponseSchema != nil, "responseJsonSchema", c.ResponseSchema)
	if t := c.ToolChoice; t != nil {
		choice := map[string]any{"mode": t.Mode}
		if len(t.Allowed) > 0 {
			choice["allowedFunctionNames"] = t.Allowed
		}
		add(true, "toolConfig", map[string]any{"functionCallingConfig": choice})
	}
	if t := c.Thinking; t != nil {
		thinking := map[string]any{"includeThoughts": t.IncludeThoughts}
		if t.Budget != nil {
			thinking["thinkingBudget"] = *t.Budget
		}
		if t.Level != "" {
			thinking["thinkingLevel"] = t.Level
		}
		add(true, "thinkingConfig", thinking)
	}
	add(c.Logprobs != nil, "logprobs", c.Logprobs)
	add(len(c.SafetySettings) > 0, "safetySettings", c.SafetySettings)
	add(c.CachedContent != "", "cachedContent", c.CachedContent)
	add(len(c.Labels) > 0, "labels", c.Labels)
	add(c.ServiceTier != "", "serviceTier", c.ServiceTier)
	add(len(c.ProviderTools) > 0, "providerTools", c.ProviderTools)
	for name, value := range c.Extra {
		add(true, name, value)
	}
	return list
}
