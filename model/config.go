package model

import "encoding/json"

// Config are settings of generation. Zero means the model's own default. A
// model passes on what its provider knows; see Ignorer for the rest.
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
	// Logprobs asks for the probabilities of so many tokens at each place; 0
	// for that of the chosen one alone.
	Logprobs *int64
	// SafetySettings say what is blocked.
	SafetySettings []SafetySetting
	// CachedContent is the name of a cached prompt that the request goes on
	// from.
	CachedContent string
	// Labels go with the request into the provider's bills.
	Labels map[string]string
	// ServiceTier is how urgent the request is, in the provider's words.
	ServiceTier string
	// ProviderTools are tools that the provider runs itself, each in the words
	// of Gemini's API, such as {"googleSearch":{}}. Only Gemini has them: a
	// request with one is refused by other models.
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
	// Budget is how many tokens it may think; 0 for none, -1 for as many as the
	// model sees fit.
	Budget *int64
	// Level is MINIMAL, LOW, MEDIUM or HIGH.
	Level string
}

// SafetySetting says from where on one kind of harm is blocked.
type SafetySetting struct {
	Category  string `json:"category"`
	Threshold string `json:"threshold"`
	Method    string `json:"method,omitempty"`
}

// Ignorer is a model that does not heed every setting.
type Ignorer interface {
	// Ignored names those settings of c that the model does not heed, as
	// generateContentConfig calls them.
	Ignored(c *Config) []string
}

// Ignored are the settings of c, by the names of generateContentConfig, that m
// does not heed. A model that is no Ignorer heeds all.
func Ignored(m Model, c *Config) []string {
	if one, ok := m.(Ignorer); ok && c != nil {
		return one.Ignored(c)
	}
	return nil
}
