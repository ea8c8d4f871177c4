package session

import (
	"encoding/json"
	"strings"
)

// MetadataKey is the key of the state with the metadata of a session that people
// see: {"displayName": "…", "labels": {"name": "value"}}.
const MetadataKey = "__session_metadata__"

// Metadata is what lists can be filtered by.
type Metadata struct {
	Title  string
	Labels map[string]string
}

// MetadataOf returns the metadata in a state. It ignores each part that is invalid,
// because clients write the state.
func MetadataOf(s State) Metadata {
	var out Metadata
	var parts, labels map[string]json.RawMessage
	if json.Unmarshal(s[MetadataKey], &parts) != nil {
		return out
	}
	_ = json.Unmarshal(parts["displayName"], &out.Title)
	if json.Unmarshal(parts["labels"], &labels) != nil {
		return out
	}
	for name, raw := range labels {
		var value *string // null is not a label
		if json.Unmarshal(raw, &value) != nil || value == nil {
			continue
		}
		if out.Labels == nil {
			out.Labels = map[string]string{}
		}
		out.Labels[name] = *value
	}
	return out
}

// Matches reports whether a session passes the filter.
func (f *Filter) Matches(m Metadata, s *Session) bool {
	if f.Title != "" && !strings.Contains(strings.ToLower(m.Title), strings.ToLower(f.Title)) {
		return false
	}
	for name, value := range f.Labels {
		if v, ok := m.Labels[name]; !ok || v != value {
			return false
		}
	}
	if f.Root != "" && s.ID != f.Root && (s.Origin == nil || s.Origin.Root != f.Root) {
		return false
	}
	return (f.Since.IsZero() || !s.Updated.Before(f.Since)) && (f.Before.IsZero() || s.Updated.Before(f.Before))
}

// Empty reports whether the filter selects everything.
func (f *Filter) Empty() bool {
	return f.Title == "" && len(f.Labels) == 0 && f.Since.IsZero() && f.Before.IsZero() && f.Root == ""
}
