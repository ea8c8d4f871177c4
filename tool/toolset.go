package tool

// Toolset is a source of tools that can change: those of a server, or those
// that a user may use.
//
// Agents call Tools before every model call, so it should be fast and return
// the same slice when nothing has changed; callers must not change the slice.
// The context is that of the agent, without a function call.
//
// A toolset that implements io.Closer is closed with the server that runs its
// agents.
type Toolset interface {
	Tools(ctx *Context) ([]Tool, error)
}

// FixedToolset is a Toolset that always has the same tools, and need not ask anything
// outside of the process for them. When a run is repeated with its recorded answers,
// other toolsets are not asked: their tools are those of the recording.
type FixedToolset interface {
	Toolset
	// Fixed does nothing.
	Fixed()
}
