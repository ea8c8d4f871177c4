// Package passthrough lists the members of the wire contract that Parley stores
// and sends without reading them. Members of other names are dropped.
package passthrough

// Event lists those of an event.
func Event() []string {
	return []string{
		"avgLogprobs", "cacheMetadata", "citationMetadata", "groundingMetadata",
		"inputTranscription", "interactionId", "isolationScope", "logprobsResult",
		"nodeInfo", "output", "outputTranscription", "turnCompleteReason",
	}
}

// Actions lists those of an event's actions.
func Actions() []string {
	return []string{"agentState", "compaction", "renderUiWidgets", "route", "setModelResponse"}
}

// Part lists those of a part.
func Part() []string {
	return []string{"audioTranscription", "mediaResolution", "partMetadata", "toolCall", "toolResponse", "videoMetadata"}
}

// Usage lists those of the token counts of a model call.
func Usage() []string {
	return []string{"cacheTokensDetails", "candidatesTokensDetails", "promptTokensDetails", "toolUsePromptTokensDetails", "trafficType"}
}

// Settings lists the settings of generation that only Gemini has.
func Settings() []string {
	return []string{
		"audioTimestamp", "enableEnhancedCivicAnswers", "imageConfig", "mediaResolution", "modelArmorConfig",
		"modelSelectionConfig", "responseModalities", "routingConfig", "speechConfig",
	}
}
