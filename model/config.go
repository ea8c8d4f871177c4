package model

import "encoding/json"

// Config has settings of generation. Zero means the default of the model. A
// model passes on the settings that its provider supports; see Ignorer for the
// others.
type Config struct {
	Temperature      *float64
	TopP             *float64
	TopK             *float64
	Seed             *int64
	PresencePenalty  *float64
	FrequencyPenalty *float64
	MaxOutputTokens  int64
	StopSequences    []string
	// ResponseMIMEType asks for a format, such as application/json.
	ResponseMIMEType string
	// ResponseSchema is the JSON Schema that the answer must follow.
	ResponseSchema json.RawMessage
	// ToolChoice says which tools may or must be called.
	ToolChoice *ToolChoice
	// Thinking says how much the model thinks before it answers.
	Thinking *Thinking
	// Logprobs asks for the probabilities of that many tokens at each position;
	// 0 for that of the chosen one alone.
	Logprobs *int64
	// SafetySettings say what is blocked.
	SafetySettings []SafetySetting
	// CachedContent is the name of a cached prompt that the request continues.
	CachedContent string
	// Labels are attached to the request in the provider's billing.
	Labels map[string]string
	// ServiceTier is the priority of the request, as the provider names it.
	ServiceTier string
	// ProviderTools are tools that the provider runs itself, each as in
	// Gemini's API, such as {"googleSearch":{}}. Other models refuse a request
	// with one.
	ProviderTools []json.RawMessage
	// Extra are settings that only Gemini has, by their names in its API:
	// audioTimestamp, enableEnhancedCivicAnswers, imageConfig, mediaResolution,
	// modelArmorConfig, modelSelectionConfig, responseModalities, routingConfig
	// and speechConfig. Others are dropped.
	Extra map[string]json.RawMessage
}

// ToolChoice says which tools may or must be called.
type ToolChoice struct {
	// Mode is one of the Tools… constants, ToolsAuto when empty.
	Mode string
	// Allowed are the names of the tools that the model must choose from with
	// ToolsAny; all of them when empty.
	Allowed []string
}

// What a model is to do with its tools: as it likes, call at least one, call
// none, or as it likes but with arguments that follow their schema for certain.
const (
	ToolsAuto      = "AUTO"
	ToolsAny       = "ANY"
	ToolsNone      = "NONE"
	ToolsValidated = "VALIDATED"
)

// Thinking says how much a model thinks before it answers.
type Thinking struct {
	// IncludeThoughts asks for a summary of the thoughts.
	IncludeThoughts bool
	// Budget is the number of tokens for thinking; 0 for none, -1 for as many
	// as the model chooses.
	Budget *int64
	// Level is MINIMAL, LOW, MEDIUM or HIGH.
	Level string
}

// SafetySetting is the threshold from which one category of harm is blocked.
type SafetySetting struct {
	Category  string `json:"category"`
	Threshold string `json:"threshold"`
	Method    string `json:"method,omitempty"`
}

// Ignorer is a model that ignores some settings.
type Ignorer interface {
	// Ignored returns the settings of c that the model ignores, by their names
	// in generateContentConfig.
	Ignored(c *Config) []string
}

// Ignored returns the settings of c, by their names in generateContentConfig,
// that m ignores. A model that is not an Ignorer ignores none.
func Ignored(m Model, c *Config) []string {
	if one, ok := m.(Ignorer); ok && c != nil {
		return one.Ignored(c)
	}
	return nil
}
