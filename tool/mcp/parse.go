package mcp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
)

// ParseConfig reads how to connect to a server as SDKs write it, in any of these
// forms. Names in snake_case are accepted, too.
//
//	{"type": "StdioConnectionParams", "serverParams": {"command": "npx", "args": ["-y", "some-server"], "env": {}, "cwd": ""}, "timeout": 5}
//	{"type": "StreamableHTTPConnectionParams", "url": "https://…", "transportOptions": {"requestInit": {"headers": {}}}, "timeout": 5, "sseReadTimeout": 300}
//	{"command": "npx", "args": [], "env": {}}
//	{"url": "https://…", "headers": {}}
//
// The type SseConnectionParams is for servers that speak the older HTTP. Times
// are in seconds; values of 1000 or more are milliseconds.
func ParseConfig(doc json.RawMessage) (Config, error) {
	var p params
	if err := json.Unmarshal(doc, &p); err != nil {
		return Config{}, fmt.Errorf("mcp: the connection parameters cannot be read: %w", err)
	}
	if p.Type == "" {
		switch {
		case p.Command != "" || p.ServerParams != nil || p.ServerParamsSnake != nil:
			p.Type = "StdioConnectionParams"
		case p.URL != "":
			p.Type = "StreamableHTTPConnectionParams"
		}
	}
	cfg := Config{ConnectTimeout: p.Timeout.duration(), CallTimeout: cmp.Or(p.ReadTimeout, p.ReadTimeoutSnake).duration()}
	switch p.Type {
	case "StdioConnectionParams":
		process := p.command
		for _, given := range []*command{p.ServerParams, p.ServerParamsSnake} {
			if given != nil {
				process = *given
			}
		}
		cfg.Stdio = &Stdio{Command: process.Command, Args: process.Args, Dir: process.Cwd}
		for _, name := range slices.Sorted(maps.Keys(process.Env)) {
			cfg.Stdio.Env = append(cfg.Stdio.Env, name+"="+process.Env[name])
		}
	case "StreamableHTTPConnectionParams", "StreamableHTTPServerParams":
		cfg.HTTP = p.http()
	case "SseConnectionParams", "SseServerParams", "SSEConnectionParams":
		cfg.SSE = p.http()
	case "":
		return Config{}, errors.New("mcp: the connection parameters need a type: StdioConnectionParams with a command, or StreamableHTTPConnectionParams with a url")
	default:
		return Config{}, fmt.Errorf("mcp: %q is no kind of connection: use StdioConnectionParams or StreamableHTTPConnectionParams", p.Type)
	}
	if err := cfg.check(); err != nil {
		return Config{}, fmt.Errorf("mcp: %w", err)
	}
	return cfg, nil
}

type command struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	Cwd     string            `json:"cwd"`
}

type params struct {
	command
	Type              string   `json:"type"`
	ServerParams      *command `json:"serverParams"`
	ServerParamsSnake *command `json:"server_params"`

	URL              string            `json:"url"`
	Header           map[string]string `json:"header"`
	Headers          map[string]string `json:"headers"`
	TransportOptions struct {
		RequestInit struct {
			Headers map[string]string `json:"headers"`
		} `json:"requestInit"`
	} `json:"transportOptions"`

	Timeout          seconds `json:"timeout"`
	ReadTimeout      seconds `json:"sseReadTimeout"`
	ReadTimeoutSnake seconds `json:"sse_read_timeout"`
}

func (p *params) http() *HTTP {
	at := &HTTP{URL: p.URL, Header: http.Header{}}
	for _, headers := range []map[string]string{p.Header, p.Headers, p.TransportOptions.RequestInit.Headers} {
		for name, value := range headers {
			at.Header.Set(name, value)
		}
	}
	return at
}

// seconds is a duration in the format of SDKs.
type seconds float64

func (s seconds) duration() time.Duration {
	const most = 24 * 60 * 60 * 1000
	switch {
	case !(s > 0):
		return 0
	case s > most:
		s = most
	}
	if s >= 1000 {
		return time.Duration(float64(s) * float64(time.Millisecond))
	}
	return time.Duration(float64(s) * float64(time.Second))
}
