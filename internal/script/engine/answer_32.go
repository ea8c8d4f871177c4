//go:build 386 || arm

package engine

import "modernc.org/quickjs"

// answers are functions that exist where values have 16 bytes; see unsafe_answer.go.
type answers struct{}

func newAnswers(*quickjs.VM, Post) (*answers, error) { return &answers{}, nil }

func (*answers) prepare(invocation) bool { return false }
