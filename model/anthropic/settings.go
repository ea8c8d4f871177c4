package anthropic

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/internal/call"
)

// Ignored implements model.Ignorer.
func (m *Model) Ignored(c *model.Config) []string {
	names := slices.Collect(maps.Keys(c.Extra))
	for name, given := range map[string]bool{
		"seed":                       c.Seed != nil,
		"presencePenalty":            c.PresencePenalty != nil,
		"frequencyPenalty":           c.FrequencyPenalty != nil,
		"logprobs":                   c.Logprobs != nil,
		"safetySettings":             len(c.SafetySettings) > 0,
		"cachedContent":              c.CachedContent != "",
		"labels":                     len(c.Labels) > 0,
		"serviceTier":                c.ServiceTier != "" && serviceTier(c.ServiceTier) == "",
		"toolConfig.mode: VALIDATED": c.ToolChoice != nil && c.ToolChoice.Mode == model.ToolsValidated,
		// A schema makes the API answer in JSON; it has no mode for JSON alone.
		"responseMimeType": c.ResponseMIMEType != "" && c.ResponseMIMEType != "text/plain" && c.ResponseSchema == nil,
	} {
		if given {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func serviceTier(name string) sdk.MessageNewParamsServiceTier {
	switch tier := sdk.MessageNewParamsServiceTier(strings.ToLower(name)); tier {
	case sdk.MessageNewParamsServiceTierAuto, sdk.MessageNewParamsServiceTierStandardOnly:
		return tier
	}
	return ""
}

func (m *Model) settings(p *sdk.MessageNewParams, c *model.Config) error {
	if c == nil {
		return nil
	}
	if err := call.NoProviderTools(c); err != nil {
		return err
	}
	if c.Temperature != nil {
		p.Temperature = param.NewOpt(min(*c.Temperature, 1)) // others go up to 2
	}
	if c.TopP != nil {
		p.TopP = param.NewOpt(*c.TopP)
	}
	if c.TopK != nil {
		p.TopK = param.NewOpt(int64(*c.TopK))
	}
	p.StopSequences = c.StopSequences
	p.ServiceTier = serviceTier(c.ServiceTier)
	if t := c.Thinking; t != nil {
		m.think(p, t)
	}
	if c.MaxOutputTokens > 0 {
		p.MaxTokens = c.MaxOutputTokens
	}
	if len(c.ResponseSchema) > 0 {
		var schema map[string]any
		if json.Unmarshal(c.ResponseSchema, &schema) != nil {
			return errors.New("the schema of the response is not JSON")
		}
		// The SDK knows which parts of a schema the API supports, and converts the
		// others to text. It offers that under an older name only.
		schema, _ = sdk.BetaJSONSchemaOutputFormat(schema).Schema.(map[string]any)
		p.OutputConfig.Format = sdk.JSONOutputFormatParam{Schema: schema}
	}
	return nil
}

// think requests thoughts: as many as the model chooses, unless there is a budget.
func (m *Model) think(p *sdk.MessageNewParams, t *model.Thinking) {
	shown := sdk.ThinkingConfigAdaptiveDisplayOmitted
	if t.IncludeThoughts {
		shown = sdk.ThinkingConfigAdaptiveDisplaySummarized
	}
	switch {
	case t.Budget != nil && *t.Budget == 0:
		p.Thinking = sdk.ThinkingConfigParamUnion{OfDisabled: &sdk.ThinkingConfigDisabledParam{}}
		return
	case t.Budget != nil && *t.Budget > 0:
		budget := max(*t.Budget, 1024) // the minimum of the API
		p.Thinking = sdk.ThinkingConfigParamUnion{OfEnabled: &sdk.ThinkingConfigEnabledParam{
			BudgetTokens: budget, Display: sdk.ThinkingConfigEnabledDisplay(shown),
		}}
		p.MaxTokens = max(p.MaxTokens, budget+4096) // it includes thoughts and answer
	default:
		p.Thinking = sdk.ThinkingConfigParamUnion{OfAdaptive: &sdk.ThinkingConfigAdaptiveParam{Display: shown}}
	}
	switch level := strings.ToLower(t.Level); level {
	case "":
	case "minimal":
		p.OutputConfig.Effort = sdk.OutputConfigEffortLow
	default:
		p.OutputConfig.Effort = sdk.OutputConfigEffort(level)
	}
}
