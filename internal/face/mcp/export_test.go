package mcp

import "net/http"

// Patience replaces what decides when a call becomes a task.
func Patience(f func(r *http.Request, over func()) (stop func() bool)) { patience = f }
