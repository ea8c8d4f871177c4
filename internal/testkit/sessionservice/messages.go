package sessionservice

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"time"
)

// The messages of the interface, in full: what is not here is refused.

type session struct {
	Name         string            `json:"name,omitempty"`
	CreateTime   string            `json:"createTime,omitempty"`
	UpdateTime   string            `json:"updateTime,omitempty"`
	ExpireTime   string            `json:"expireTime,omitempty"`
	TTL          string            `json:"ttl,omitempty"`
	DisplayName  string            `json:"displayName,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
	SessionState map[string]any    `json:"sessionState,omitempty"`
	UserID       string            `json:"userId"`
}

// id orders sessions by the time when they were made.
func (s session) id() string {
	t, _ := time.Parse(time.RFC3339Nano, s.CreateTime)
	return fmt.Sprintf("%020d %s", t.UnixMicro(), s.Name)
}

type sessionEvent struct {
	Name          string         `json:"name,omitempty"`
	Author        string         `json:"author"`
	Content       *content       `json:"content,omitempty"`
	InvocationID  string         `json:"invocationId"`
	Actions       *actions       `json:"actions,omitempty"`
	Timestamp     string         `json:"timestamp"`
	ErrorCode     string         `json:"errorCode,omitempty"`
	ErrorMessage  string         `json:"errorMessage,omitempty"`
	EventMetadata *metadata      `json:"eventMetadata,omitempty"`
	RawEvent      map[string]any `json:"rawEvent,omitempty"`

	at time.Time // Timestamp
}

// id orders events by their time.
func (e sessionEvent) id() string {
	return fmt.Sprintf("%020d %20s", e.at.UnixMicro(), path.Base(e.Name))
}

type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts"`
}

type part struct {
	Text             *string           `json:"text,omitempty"`
	InlineData       *blob             `json:"inlineData,omitempty"`
	FileData         *fileData         `json:"fileData,omitempty"`
	FunctionCall     *functionCall     `json:"functionCall,omitempty"`
	FunctionResponse *functionResponse `json:"functionResponse,omitempty"`
	Thought          bool              `json:"thought,omitempty"`
	ThoughtSignature []byte            `json:"thoughtSignature,omitempty"`
}

type blob struct {
	MIMEType string `json:"mimeType"`
	Data     []byte `json:"data"`
}

type fileData struct {
	MIMEType string `json:"mimeType"`
	FileURI  string `json:"fileUri"`
}

type functionCall struct {
	ID   string         `json:"id,omitempty"`
	Name string         `json:"name"`
	Args map[string]any `json:"args,omitempty"`
}

type functionResponse struct {
	ID       string         `json:"id,omitempty"`
	Name     string         `json:"name"`
	Response map[string]any `json:"response"`
}

type actions struct {
	SkipSummarization    bool             `json:"skipSummarization,omitempty"`
	StateDelta           map[string]any   `json:"stateDelta,omitempty"`
	ArtifactDelta        map[string]int32 `json:"artifactDelta,omitempty"`
	Escalate             bool             `json:"escalate,omitempty"`
	RequestedAuthConfigs map[string]any   `json:"requestedAuthConfigs,omitempty"`
	TransferAgent        string           `json:"transferAgent,omitempty"`
}

type metadata struct {
	GroundingMetadata  map[string]any `json:"groundingMetadata,omitempty"`
	Partial            bool           `json:"partial,omitempty"`
	TurnComplete       bool           `json:"turnComplete,omitempty"`
	Interrupted        bool           `json:"interrupted,omitempty"`
	LongRunningToolIDs []string       `json:"longRunningToolIds,omitempty"`
	Branch             string         `json:"branch,omitempty"`
	CustomMetadata     map[string]any `json:"customMetadata,omitempty"`
}

// decode reads a message strictly.
func decode(body []byte, into any) *apiError {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return invalid("Invalid JSON payload received. %v", err)
	}
	return nil
}
