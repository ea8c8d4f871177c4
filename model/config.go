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
	// ResponseMIMEType requests a format, such as application/json.
	ResponseMIMEType string
	// ResponseSchema is the JSON Schema that the answer must follow.
	ResponseSchema json.RawMessage
	// ToolChoice restricts which tools may or must be called.
	ToolChoice *ToolChoice
	// Thinking controls how much the model thinks before it answers.
	Thinking *Thinking
	// Logprobs requests the probabilities of that many tokens at each position; 0
	// means only that of the chosen one.
	Logprobs *int64
	// SafetySettings define what is blocked.
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

// ToolChoice restricts which tools may or must be called.
type ToolChoice struct {
	// Mode is one of the Tools… constants; empty means ToolsAuto.
	Mode string
	// Allowed are the names of the tools that the model must choose from with
	// ToolsAny; empty means all.
	Allowed []string
}

// How a model uses its tools: freely, at least one call, no call, or freely with
// arguments that are guaranteed to match the schema.
const (
	ToolsAuto      = "AUTO"
	ToolsAny       = "ANY"
	ToolsNone      = "NONE"
	ToolsValidated = "VALIDATED"
)

// Thinking controls how much a model thinks before it answers.
type Thinking struct {
	// IncludeThoughts requests a summary of the thoughts.
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

// SchemaOrTools reports whether a request to m may have a response schema or
// tools, but not both. An agent then asks for its answer as the call of a tool.
// A model declares this with a method SchemaOrTools() bool.
func SchemaOrTools(m Model) bool {
	one, ok := m.(interface{ SchemaOrTools() bool })
	return ok && one.SchemaOrTools()
}
