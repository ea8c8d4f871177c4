package tool

// Toolset is a source of tools that are not known before somebody asks: those of
// a server, or those that a user may use.
//
// Agents ask before every model call, so the answer should be at hand when
// nothing has changed, and then be the same slice; it must not be changed. The
// context is that of the agent, without a function call.
//
// A toolset that is an io.Closer is closed with the server that its agents belong
// to.
type Toolset interface {
	Tools(ctx *Context) ([]Tool, error)
}
