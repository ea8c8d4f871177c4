package workflow

import (
	"errors"

	"github.com/parley-run/parley/internal/workflowrt"
)

// Error is the failure of a node.
type Error struct {
	Path string // of the node: the names of the workflow and of the nodes above it, and its own
	Err  error
}

func (e *Error) Error() string { return "node " + e.Path + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// IsTimeout reports whether a node failed because of its time limit. The function
// in Retry.If calls it to retry only such failures, or all others.
func IsTimeout(err error) bool {
	_, late := errors.AsType[*workflowrt.TimeoutError](err)
	return late
}

func init() { workflowrt.RegisterErrors(nodeErrors{}) }

type nodeErrors struct{}

func (nodeErrors) New(path string, reason error) error { return &Error{path, reason} }

func (nodeErrors) Find(err error) (path string, reason error, ok bool) {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return "", nil, false
	}
	return e.Path, e.Err, true
}
