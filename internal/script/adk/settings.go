package adk

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/parley-run/parley/internal/passthrough"
	"github.com/parley-run/parley/model"
)

// config is a genai GenerateContentConfig. js/adk/define-llm.js has the same
// names.
type config struct {
	SystemInstruction  json.RawMessage       `json:"systemInstruction,omitempty"`
	Tools              []toolList            `json:"tools,omitempty"`
	Temperature        *float64              `json:"temperature,omitempty"`
	TopP               *float64              `json:"topP,omitempty"`
	TopK               *float64              `json:"topK,omitempty"`
	Seed               *int64                `json:"seed,omitempty"`
	PresencePenalty    *float64              `json:"presencePenalty,omitempty"`
	FrequencyPenalty   *float64              `json:"frequencyPenalty,omitempty"`
	MaxOutputTokens    int64                 `json:"maxOutputTokens,omitempty"`
	StopSequences      []string              `json:"stopSequences,omitempty"`
	ResponseMIMEType   string                `json:"responseMimeType,omitempty"`
	ResponseSchema     json.RawMessage       `json:"responseSchema,omitempty"`
	ResponseJSONSchema json.RawMessage       `json:"responseJsonSchema,omitempty"`
	ToolConfig         *toolConfig           `json:"toolConfig,omitempty"`
	ThinkingConfig     *thinkingConfig       `json:"thinkingConfig,omitempty"`
	ResponseLogprobs   bool                  `json:"responseLogprobs,omitempty"`
	Logprobs           *int64                `json:"logprobs,omitempty"`
	SafetySettings     []model.SafetySetting `json:"safetySettings,omitempty"`
	CachedContent      string                `json:"cachedContent,omitempty"`
	Labels             map[string]string     `json:"labels,omitempty"`
	ServiceTier        string                `json:"serviceTier,omitempty"`

	extra map[string]json.RawMessage
}

type toolConfig struct {
	FunctionCallingConfig *struct {
		Mode                 string   `json:"mode,omitempty"`
		AllowedFunctionNames []string `json:"allowedFunctionNames,omitempty"`
	} `json:"functionCallingConfig,omitempty"`
}

type thinkingConfig struct {
	IncludeThoughts bool   `json:"includeThoughts,omitempty"`
	ThinkingBudget  *int64 `json:"thinkingBudget,omitempty"`
	ThinkingLevel   string `json:"thinkingLevel,omitempty"`
}

// plainConfig is a config without the settings of one provider.
type plainConfig config

func (c *config) UnmarshalJSON(doc []byte) error {
	if err := json.Unmarshal(doc, (*plainConfig)(c)); err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(doc, &all); err != nil {
		return err
	}
	maps.DeleteFunc(all, func(name string, value json.RawMessage) bool {
		return isNull(value) || !slices.Contains(passthrough.Settings(), name)
	})
	if len(all) > 0 {
		c.extra = all
	}
	return nil
}

func (c config) MarshalJSON() ([]byte, error) {
	doc, err := json.Marshal(plainConfig(c))
	if err != nil || len(c.extra) == 0 {
		return doc, err
	}
	extra, err := json.Marshal(c.extra)
	if err != nil || string(doc) == "{}" {
		return extra, err
	}
	return append(append(doc[:len(doc)-1], ','), extra[1:]...), nil
}

func parseConfig(raw json.RawMessage) (*model.Config, error) {
	if isNull(raw) || string(raw) == "{}" {
		return nil, nil
	}
	var c config
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, plainly(err)
	}
	return c.model(), nil
}

// plainly describes the error in terms of the author's settings.
func plainly(err error) error {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return err
	}
	want := "an object"
	switch wrong.Type.Kind() {
	case reflect.Float64:
		want = "a number"
	case reflect.Int64:
		want = "a whole number"
	case reflect.String:
		want = "a text"
	case reflect.Bool:
		want = "true or false"
	case reflect.Slice:
		want = "a list"
	default:
	}
	got := map[string]string{"string": "a text", "object": "an object", "array": "a list", "bool": "true or false", "number": "a number"}[wrong.Value]
	if got == "" {
		got = strings.TrimPrefix(wrong.Value, "number ")
	}
	return fmt.Errorf("%s must be %s, not %s", wrong.Field, want, got)
}

func (c *config) model() *model.Config {
	out := &model.Config{
		Temperature: c.Temperature, TopP: c.TopP, TopK: c.TopK, Seed: c.Seed,
		PresencePenalty: c.PresencePenalty, FrequencyPenalty: c.FrequencyPenalty,
		MaxOutputTokens: c.MaxOutputTokens, StopSequences: c.StopSequences,
		ResponseMIMEType: c.ResponseMIMEType, ResponseSchema: c.ResponseJSONSchema,
		SafetySettings: c.SafetySettings, CachedContent: c.CachedContent, Labels: c.Labels, ServiceTier: c.ServiceTier,
		Logprobs: c.Logprobs, Extra: c.extra,
	}
	for _, list := range c.Tools {
		if list.provider != nil {
			out.ProviderTools = append(out.ProviderTools, list.provider)
		}
	}
	if out.ResponseSchema == nil {
		out.ResponseSchema = c.ResponseSchema
	}
	if c.ResponseLogprobs && out.Logprobs == nil {
		out.Logprobs = new(int64(0))
	}
	if t := c.ToolConfig; t != nil && t.FunctionCallingConfig != nil {
		out.ToolChoice = &model.ToolChoice{Mode: t.FunctionCallingConfig.Mode, Allowed: t.FunctionCallingConfig.AllowedFunctionNames}
	}
	if t := c.ThinkingConfig; t != nil {
		out.Thinking = &model.Thinking{IncludeThoughts: t.IncludeThoughts, Budget: t.ThinkingBudget, Level: t.ThinkingLevel}
	}
	return out
}

// configOf returns settings in the form of JavaScript.
func configOf(c *model.Config) config {
	out := config{
		Temperature: c.Temperature, TopP: c.TopP, TopK: c.TopK, Seed: c.Seed,
		PresencePenalty: c.PresencePenalty, FrequencyPenalty: c.FrequencyPenalty,
		MaxOutputTokens: c.MaxOutputTokens, StopSequences: c.StopSequences,
		ResponseMIMEType: c.ResponseMIMEType, ResponseJSONSchema: c.ResponseSchema,
		SafetySettings: c.SafetySettings, CachedContent: c.CachedContent, Labels: c.Labels, ServiceTier: c.ServiceTier,
		Logprobs: c.Logprobs, ResponseLogprobs: c.Logprobs != nil, extra: c.Extra,
	}
	for _, one := range c.ProviderTools {
		out.Tools = append(out.Tools, toolList{provider: one})
	}
	if t := c.ToolChoice; t != nil {
		out.ToolConfig = &toolConfig{FunctionCallingConfig: &struct {
			Mode                 string   `json:"mode,omitempty"`
			AllowedFunctionNames []string `json:"allowedFunctionNames,omitempty"`
		}{t.Mode, t.Allowed}}
	}
	if t := c.Thinking; t != nil {
		out.ThinkingConfig = &thinkingConfig{t.IncludeThoughts, t.Budget, t.Level}
	}
	return out
}
