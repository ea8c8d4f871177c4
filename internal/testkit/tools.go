package testkit

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/tool"
)

type (
	none    struct{}
	valueIn struct {
		Value string `json:"value"`
	}
	keyIn struct {
		Key string `json:"key"`
	}
	gateIn struct {
		Gate string `json:"gate"`
	}
	seatIn struct {
		Seat int `json:"seat"`
	}
	weatherIn struct {
		City string `json:"city" jsonschema:"the name of the city"`
	}
	weatherOut struct {
		Status string `json:"status"`
		Report string `json:"report"`
	}
	tableIn struct {
		Table string `json:"table"`
	}
	keepIn struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	}
	result map[string]any
)

func (f *Fixture) tools() []tool.Tool {
	return []tool.Tool{
		function("get_weather", "The weather in a city.", func(_ *tool.Context, in weatherIn) (weatherOut, error) {
			return weatherOut{Status: "success", Report: "It is sunny in " + in.City + "."}, nil
		}),
		function("meet", "Waits for the other call of the same response.", func(ctx *tool.Context, in seatIn) (result, error) {
			return result{"seat": in.Seat}, f.tables.arrive(ctx, ctx.InvocationID, 2)
		}),
		function("remember", "Sets a value in every scope of the state.", func(ctx *tool.Context, in valueIn) (result, error) {
			var errs []error
			for _, key := range []string{"user:u", "app:a", "temp:t", "k"} {
				errs = append(errs, ctx.State.Set(key, in.Value))
			}
			return result{"status": "success"}, errors.Join(errs...)
		}),
		function("keep", "Sets one value of the state.", func(ctx *tool.Context, in keepIn) (result, error) {
			return result{"status": "success"}, ctx.State.Set(in.Key, in.Value)
		}),
		function("save_file", "Saves an artifact.", func(ctx *tool.Context, in fileIn) (any, error) {
			version, err := ctx.SaveArtifact(in.Name, &event.Part{Text: in.Text})
			return map[string]int64{"version": version}, err
		}),
		function("remind", "Searches the memory.", func(ctx *tool.Context, in keyIn) (any, error) {
			found, err := ctx.SearchMemory(in.Key)
			said := []string{}
			for _, one := range found {
				said = append(said, one.Author+": "+one.Content.Text())
			}
			return map[string][]string{"said": said}, err
		}),
		function("recall", "Reads one value of the state.", func(ctx *tool.Context, in keyIn) (result, error) {
			var value any
			found, err := ctx.State.Get(in.Key, &value)
			return result{"found": found, "value": value}, err
		}),
		function("wait_for", "Waits until a gate is opened.", func(ctx *tool.Context, in gateIn) (result, error) {
			return result{"status": "success"}, f.gates.wait(ctx, in.Gate)
		}),
		function("open", "Opens a gate.", func(_ *tool.Context, in gateIn) (result, error) {
			f.gates.open(in.Gate)
			return result{"status": "success"}, nil
		}),
		function("fail", "Fails.", func(*tool.Context, none) (result, error) {
			return nil, errors.New("the sensor is broken")
		}),
		function("explode", "Panics.", func(*tool.Context, none) (result, error) {
			panic("a secret of the tool")
		}),
		tool.Confirm(function("delete_table", "Deletes a table.", func(ctx *tool.Context, in tableIn) (result, error) {
			var before int
			if _, err := ctx.State.Get("deleted_"+in.Table, &before); err != nil {
				return nil, err
			}
			return result{"deleted": in.Table}, ctx.State.Set("deleted_"+in.Table, before+1)
		}), nil),
		tool.RequestInput(),
		tool.UserChoice(),
		longRunning{name: "ask_approval", receipt: result{"status": "pending", "ticket": "t-1"}},
		longRunning{name: "ask_silently"},
	}
}

func function[In, Out any](name, description string, fn func(*tool.Context, In) (Out, error)) tool.Tool {
	return tool.Must(tool.New(tool.Declaration{Name: name, Description: description}, fn))
}

// longRunning is a tool whose answer comes from outside.
type longRunning struct {
	name    string
	receipt result
}

func (l longRunning) Declaration() tool.Declaration {
	return tool.Declaration{
		Name: l.name, Description: "Asks a person, who answers later.", LongRunning: true,
		Parameters: json.RawMessage(`{"type":"object","properties":{}}`),
	}
}

func (l longRunning) Call(*tool.Context, json.RawMessage) (any, error) {
	if l.receipt == nil {
		return nil, nil
	}
	return l.receipt, nil
}

// meetings are places where goroutines wait for each other, by name. The zero
// value is ready.
type meetings struct {
	mu     sync.Mutex
	places map[string]*place
}

type place struct {
	arrived int
	open    chan struct{}
}

// at returns a place. m.mu must be held.
func (m *meetings) at(name string) *place {
	if m.places == nil {
		m.places = map[string]*place{}
	}
	if m.places[name] == nil {
		m.places[name] = &place{open: make(chan struct{})}
	}
	return m.places[name]
}

func (p *place) opened() bool {
	select {
	case <-p.open:
		return true
	default:
		return false
	}
}

// open lets everyone through, now and later.
func (m *meetings) open(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.at(name); !p.opened() {
		close(p.open)
	}
}

// wait waits until the place is open or the call is over.
func (m *meetings) wait(ctx context.Context, name string) error {
	m.mu.Lock()
	p := m.at(name)
	m.mu.Unlock()
	select {
	case <-p.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// arrive is wait for a place that opens when n have come.
func (m *meetings) arrive(ctx *tool.Context, name string, n int) error {
	m.mu.Lock()
	p := m.at(name)
	p.arrived++
	all := p.arrived == n
	m.mu.Unlock()
	if all {
		m.open(name)
	}
	return m.wait(ctx, name)
}

type fileIn struct {
	Name string `json:"name"`
	Text string `json:"text"`
}
