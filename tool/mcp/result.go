package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-run/parley/internal/bounded"
)

// resultOf returns the result of a tool for the model: structured content
// unchanged, texts as one text, and everything else in the encoding of the
// protocol. A result that is marked as an error is returned as an error.
func resultOf(ctx context.Context, r *sdk.CallToolResult) (any, error) {
	var texts []string
	plain := true
	for _, c := range r.Content {
		if text, ok := c.(*sdk.TextContent); ok {
			texts = append(texts, text.Text)
		} else {
			plain = false
		}
	}
	text := strings.Join(texts, "\n")
	if r.IsError {
		if text == "" {
			text = "the tool failed and did not say why"
		}
		return nil, errors.New(cut(text))
	}
	var value any = text
	switch {
	case r.StructuredContent != nil:
		value = r.StructuredContent
	case !plain:
		value = map[string]any{"content": r.Content}
	}
	doc, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("the result cannot be read: %w", err)
	}
	if err := bounded.Fits(ctx, int64(len(doc))); err != nil {
		return nil, fmt.Errorf("%w: ask for less", err)
	}
	return json.RawMessage(doc), nil
}

// cut truncates a message.
func cut(text string) string {
	const most = 4 << 10
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
