package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// saving is what the commands that create and update an item share: the flags, and the
// members of the document that they set. An update has only what is given; an empty value
// resets it.
type saving struct {
	cmd    *cobra.Command
	update bool
	set    []func(doc map[string]any) error
}

// value has a flag set a member of the document. read returns nil for a value that is empty.
func (s *saving) value(flag, member string, read func() (any, error)) {
	s.set = append(s.set, func(doc map[string]any) error {
		if s.update && !s.cmd.Flags().Changed(flag) {
			return nil
		}
		value, err := read()
		if err != nil {
			return &usageError{"--" + flag + ": " + err.Error()}
		}
		if value != nil || s.update {
			doc[member] = value
		}
		return nil
	})
}

// text adds a flag with a text.
func (s *saving) text(flags *pflag.FlagSet, flag, member, usage string) {
	text := flags.String(flag, "", usage)
	s.value(flag, member, func() (any, error) {
		if *text == "" {
			return nil, nil
		}
		return *text, nil
	})
}

// seconds adds a flag with a duration, which a member has in seconds.
func (s *saving) seconds(flags *pflag.FlagSet, flag, member, usage string) {
	d := flags.Duration(flag, 0, usage)
	s.value(flag, member, func() (any, error) {
		switch {
		case *d%time.Second != 0:
			return nil, fmt.Errorf("%s is not a number of whole seconds", *d)
		case *d == 0:
			return nil, nil
		}
		return int64(*d / time.Second), nil
	})
}

// texts adds a flag with a list of texts.
func (s *saving) texts(flags *pflag.FlagSet, flag, member, usage string) {
	list := flags.StringSlice(flag, nil, usage)
	s.value(flag, member, func() (any, error) {
		if len(*list) == 0 {
			return nil, nil
		}
		return *list, nil
	})
}

// state adds a flag with keys of a state. A value that is not JSON is a text.
func (s *saving) state(flags *pflag.FlagSet) {
	list := flags.StringArray("state", nil, "`key=value` of the state that changes; the value is JSON or a\ntext; repeat it")
	s.value("state", "stateDelta", func() (any, error) {
		state := map[string]any{}
		for _, one := range nonEmpty(*list) {
			key, value, ok := strings.Cut(one, "=")
			if !ok || key == "" {
				return nil, fmt.Errorf("%q is not like unit=celsius", one)
			}
			if state[key] = value; json.Valid([]byte(value)) {
				state[key] = json.RawMessage(value)
			}
		}
		if len(state) == 0 {
			return nil, nil
		}
		return state, nil
	})
}

// nonEmpty returns the values of a flag, which is given once and empty to have none.
func nonEmpty(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(one string) bool { return one == "" })
}

// doc returns the document that the flags say.
func (s *saving) doc() (map[string]any, error) {
	doc := map[string]any{}
	for _, set := range s.set {
		if err := set(doc); err != nil {
			return nil, err
		}
	}
	if s.update && len(doc) == 0 {
		return nil, &usageError{"there is nothing to change: give a flag"}
	}
	return doc, nil
}
