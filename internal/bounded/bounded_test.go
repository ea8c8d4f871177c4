package bounded

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}

func TestReader(t *testing.T) {
	for _, tt := range []struct {
		name  string
		unit  Unit
		text  string
		limit int64
		want  string // nil for all of the text
	}{
		{"nothing", Whole, "", 4, ""},
		{"as much as may be", Whole, "abcd", 4, ""},
		{"too much", Whole, "abcde", 4, "it must not be larger than 4 bytes"},
		{"lines", Whole, "ab\ncd\n", 4, "it must not be larger than 4 bytes"},
		{"each line", Line, "abc\ncde\r\nf", 5, ""},
		{"a long line", Line, "abc\ncdefgh", 5, "it must not be larger than 5 bytes"},
		{"each event", Event, "abc\nde\n\nabc\r\nd\r\n\r\n", 11, ""},
		{"a long event", Event, "a\n\nabc\nde\nfghij\n\n", 9, "it must not be larger than 9 bytes"},
	} {
		for way, wrap := range map[string]func(io.Reader) io.Reader{"": nil, " byte by byte": iotest.OneByteReader, " with its end": iotest.DataErrReader} {
			var from io.Reader = strings.NewReader(tt.text)
			if wrap != nil {
				from = wrap(from)
			}
			src := &closing{Reader: from}
			got, err := io.ReadAll(NewReader(src, tt.limit, tt.unit, "it"))
			switch {
			case tt.want == "" && (err != nil || string(got) != tt.text || src.closed):
				t.Errorf("%s%s: %q, %v", tt.name, way, got, err)
			case tt.want != "" && (err == nil || err.Error() != tt.want || !src.closed || !strings.HasPrefix(tt.text, string(got))):
				t.Errorf("%s%s: %q, %v, want %q", tt.name, way, got, err, tt.want)
			}
		}
	}
}

func TestDecoded(t *testing.T) {
	const limit = 4 * valueSize
	for text, ok := range map[string]bool{
		`[1,2,3]`:                true, // a list, and two more values
		`[1,2,3,4,5]`:            false,
		`["[{,[{,","\\",",,,,"]`: true,
		`["\",","[{,[{,"]`:       true,
		"no \"JSON\n[[[[[[":      false,
	} {
		_, err := io.ReadAll(NewDecoded(io.NopCloser(strings.NewReader(text)), limit, Whole, "it"))
		if _, large := errors.AsType[*Error](err); large == ok {
			t.Errorf("%s: %v", text, err)
		}
	}
	// Each event counts by itself.
	text := strings.Repeat("data: [1,2,3]\n\n", 10)
	if _, err := io.ReadAll(NewDecoded(io.NopCloser(strings.NewReader(text)), limit, Event, "it")); err != nil {
		t.Error(err)
	}
}

func TestBudget(t *testing.T) {
	ctx := With(context.Background(), &Limits{ToolResult: 100})
	budget := NewBudget(ctx)
	// What is read counts as it comes, and what it became of it in the end.
	reading := budget.Call(ctx)
	if _, err := io.ReadAll(NewResult(reading, io.NopCloser(strings.NewReader(strings.Repeat("x", 100))))); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := Fits(budget.Call(ctx), 100); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	if err := Fits(budget.Call(ctx), 1); err == nil {
		t.Error("more was taken than there is")
	}
	if err := Fits(reading, 10); err != nil {
		t.Error(err)
	}
	if err := Fits(budget.Call(ctx), 90); err != nil {
		t.Errorf("what was given back cannot be taken: %v", err)
	}
	if err := Fits(ctx, 101); err == nil {
		t.Error("a result is larger than it may be")
	}
	if err := Fits(ctx, 100); err != nil {
		t.Error(err)
	}
}
