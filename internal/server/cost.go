package server

import (
	"encoding/json"
	"net/http"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/price"
	"github.com/parley-run/parley/session"
)

// usageOf is the JSON of usage, without what it is not grouped by.
type usageOf struct {
	Day       string `json:"day,omitempty"`
	AppName   string `json:"appName,omitempty"`
	UserID    string `json:"userId,omitempty"`
	SessionID string `json:"sessionId,omitempty"`
	Runs      int64  `json:"runs"`
	counts
	Models []modelOf `json:"models"`
}

type modelOf struct {
	Model string `json:"model"`
	counts
}

type counts struct {
	PromptTokenCount        int64 `json:"promptTokenCount"`
	CandidatesTokenCount    int64 `json:"candidatesTokenCount"`
	CachedContentTokenCount int64 `json:"cachedContentTokenCount"`
	ThoughtsTokenCount      int64 `json:"thoughtsTokenCount"`
	ToolUsePromptTokenCount int64 `json:"toolUsePromptTokenCount"`
	TotalTokenCount         int64 `json:"totalTokenCount"`
	// CostUSD is empty if the cost of all tokens is unknown.
	CostUSD        json.Number `json:"costUsd,omitempty"`
	UnpricedTokens int64       `json:"unpricedTokens,omitempty"`
}

func countsOf(t *event.Usage, cost session.Cost) counts {
	c := counts{
		t.Prompt, t.Candidates, t.CachedContent, t.Thoughts, t.ToolUsePrompt, t.Total, "", cost.Unpriced,
	}
	if cost.Unpriced < t.Total {
		c.CostUSD = json.Number(price.USD(cost.Nanos))
	}
	return c
}

func modelsOf(list []session.ModelUsage) []modelOf {
	out := make([]modelOf, len(list))
	for i := range list {
		out[i] = modelOf{list[i].Model, countsOf(&list[i].Tokens, list[i].Cost)}
	}
	return out
}

// prices answers with the prices of models, and with the budgets.
func (s *Server) prices(w http.ResponseWriter, _ *http.Request) error {
	usd := func(nanos int64) json.Number {
		if nanos == 0 {
			return ""
		}
		return json.Number(price.USD(nanos))
	}
	out := struct {
		Date     string                  `json:"date"`
		FileDate string                  `json:"fileDate,omitempty"`
		Models   map[string]*price.Model `json:"models"`
		RunCost  json.Number             `json:"maxRunCostUsd,omitempty"`
		DayCost  json.Number             `json:"maxDayCostUsd,omitempty"`
		Warn     json.Number             `json:"warnDayCostUsd,omitempty"`
	}{Models: map[string]*price.Model{}, RunCost: usd(s.Limits.Cost), DayCost: usd(s.Limits.DayCost), Warn: usd(s.Limits.WarnDayCost)}
	if t := s.Prices; t != nil {
		out.Date, out.FileDate, out.Models = t.Date, t.FileDate, t.Models
	}
	return answer(w, out)
}
