// Package price knows what models cost. Prices are integers, and so are costs: sums of
// floating-point numbers depend on their order.
package price

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/parley-run/parley/event"
)

//go:embed prices.json
var builtIn []byte

// maxFile is the size limit of a file with prices, maxModels that of a table.
const (
	maxFile   = 1 << 20
	maxModels = 10_000
)

// Table holds the prices of models. It must not be changed. A nil table has none.
type Table struct {
	// Date is the day on which the built-in prices were compared with those that
	// the providers publish, as in 2006-01-02. FileDate is that of the file; empty
	// if there is none, or if it has no date.
	Date, FileDate string
	Models         map[string]*Model
}

// Model holds the prices of a model.
type Model struct {
	Rates
	// UpTo is the number of tokens of the largest prompt that Rates are for; 0 for
	// any. Above are the prices with a larger one; nil if they are unknown.
	UpTo  int64  `json:"upTo,omitempty"`
	Above *Rates `json:"above,omitempty"`
}

// Rates are prices of tokens. A nil CachedInput means Input, and a nil Thinking means
// Output.
type Rates struct {
	Input       *Rate `json:"input"`
	CachedInput *Rate `json:"cachedInput,omitempty"`
	Output      *Rate `json:"output"`
	Thinking    *Rate `json:"thinking,omitempty"`
}

// file is the format of the file.
type file struct {
	Date   string            `json:"date"`
	Models map[string]*Model `json:"models"`
}

// Load returns the built-in prices, with those of a file in their place where it
// has some. An empty path means no file.
func Load(path string) (*Table, error) {
	known, err := parse(builtIn)
	if err != nil {
		return nil, fmt.Errorf("built-in prices: %w", err)
	}
	t := &Table{Date: known.Date, Models: known.Models}
	if path == "" {
		return t, nil
	}
	text, err := readFile(path)
	if err != nil {
		return nil, err
	}
	own, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t.FileDate = own.Date
	for name, m := range own.Models {
		if m == nil {
			delete(t.Models, name)
			continue
		}
		t.Models[name] = m
	}
	return t, nil
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // the operator chooses it
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s has more than %d bytes", path, maxFile)
	}
	return text, err
}

func parse(text []byte) (*file, error) {
	var f file
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields() // a misspelt member would be a price that does not count
	if err := d.Decode(&f); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something after the JSON object")
	}
	if f.Date != "" {
		if _, err := time.Parse(time.DateOnly, f.Date); err != nil {
			return nil, fmt.Errorf("date: %q is not a day, as in 2026-01-31", f.Date)
		}
	}
	if len(f.Models) > maxModels {
		return nil, fmt.Errorf("there are more than %d models", maxModels)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Models)) {
		if err := f.Models[name].check(); err != nil {
			return nil, fmt.Errorf("the model %q: %w", name, err)
		}
	}
	return &f, nil
}

func (m *Model) check() error {
	if m == nil { // removes a built-in price
		return nil
	}
	if m.Input == nil || m.Output == nil || m.Above != nil && (m.Above.Input == nil || m.Above.Output == nil) {
		return errors.New("input and output must both be given; 0 is a price")
	}
	if m.UpTo < 0 || m.Above != nil && m.UpTo == 0 {
		return errors.New("above needs upTo, the number of tokens of the largest prompt with the other prices")
	}
	return nil
}

// Find returns the prices of a model, nil if they are unknown. A name that is not in
// the table may be that of a version of a model that is; see base.
func (t *Table) Find(name string) *Model {
	if t == nil {
		return nil
	}
	if m := t.Models[name]; m != nil {
		return m
	}
	name = plain(name)
	if m := t.Models[name]; m != nil {
		return m
	}
	if other := base(name); other != "" {
		return t.Models[other]
	}
	return nil
}

// plain removes what says where a model is: models/, the prefix of a provider, or a path
// of Vertex AI. Prefixes of local servers stay: their models have the names of others.
func plain(name string) string {
	if strings.HasPrefix(name, "projects/") {
		if i := strings.LastIndex(name, "/models/"); i >= 0 {
			return name[i+len("/models/"):]
		}
		return name
	}
	for _, prefix := range []string{"models/", "gemini/", "openai/", "anthropic/"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return rest
		}
	}
	return name
}

// base returns the name without the version at its end: a day (2025-08-07 or 20250807), a
// number of three digits (001), or latest, after - or @. It is empty if there is none.
// Other numbers are part of names: claude-opus-4-5 is not a version of claude-opus-4.
func base(name string) string {
	for _, version := range []string{"9999-99-99", "99999999", "999", "latest"} {
		at := len(name) - len(version) - 1
		if at > 0 && (name[at] == '-' || name[at] == '@') && shaped(name[at+1:], version) {
			return name[:at]
		}
	}
	return ""
}

// shaped reports whether text is like shape, in which a 9 means any digit.
func shaped(text, shape string) bool {
	for i := range len(shape) {
		if shape[i] == '9' && (text[i] < '0' || text[i] > '9') || shape[i] != '9' && text[i] != shape[i] {
			return false
		}
	}
	return true
}

// Cost returns what a call of a model costs, in billionths of a US dollar. It returns
// false if that is unknown.
func (t *Table) Cost(name string, u *event.Usage) (nanos int64, known bool) {
	m := t.Find(name)
	if m == nil {
		return 0, false
	}
	rates := &m.Rates
	if m.UpTo > 0 && u.Prompt > m.UpTo {
		if rates = m.Above; rates == nil {
			return 0, false
		}
	}
	return rates.cost(u), true
}

func (r *Rates) cost(u *event.Usage) int64 {
	cached, thinking := r.Input, r.Output
	if r.CachedInput != nil {
		cached = r.CachedInput
	}
	if r.Thinking != nil {
		thinking = r.Thinking
	}
	// The prompt includes what was cached of it, and the answer does not include
	// thoughts.
	prompt := max(u.Prompt, 0)
	fromCache := min(max(u.CachedContent, 0), prompt)
	picos := int64(0)
	for _, part := range []struct {
		tokens int64
		rate   *Rate
	}{
		{prompt - fromCache, r.Input}, {fromCache, cached}, {u.ToolUsePrompt, r.Input}, {u.Candidates, r.Output}, {u.Thoughts, thinking},
	} {
		picos = add(picos, part.rate.times(max(part.tokens, 0)))
	}
	return picos/1000 + (picos%1000)/500 // half a billionth rounds up
}

// times returns a price in millionths of a millionth of a US dollar. It is bounded:
// providers choose the numbers of tokens.
func (r *Rate) times(tokens int64) int64 {
	if *r != 0 && tokens > math.MaxInt64/int64(*r) {
		return math.MaxInt64
	}
	return tokens * int64(*r)
}

// add adds numbers that are not negative, within bounds.
func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
