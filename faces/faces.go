// Package faces lets a program serve the protocols of other clients from the same
// sessions: A2A, AG-UI, the AI SDK of Vercel, MCP, and OpenAI. Import it for its side
// effect; parley.NetworkConfig.Faces restricts which of them are served, and
// parley.NetworkConfig.Platforms adds what hosting platforms call.
//
//	import _ "github.com/parley-run/parley/faces"
package faces

import (
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/face/a2a"
	"github.com/parley-run/parley/internal/face/agentcore"
	"github.com/parley-run/parley/internal/face/agui"
	"github.com/parley-run/parley/internal/face/aisdk"
	"github.com/parley-run/parley/internal/face/mcp"
	"github.com/parley-run/parley/internal/face/openai"
	"github.com/parley-run/parley/internal/registry"
)

func init() {
	registry.Register[face.New]("a2a", a2a.New)
	registry.Register[face.New]("agui", agui.New)
	registry.Register[face.New]("aisdk", aisdk.New)
	registry.Register[face.New]("mcp", mcp.New)
	registry.Register[face.New]("openai", openai.New)
	registry.Register[face.Platform]("agentcore", agentcore.New)
	registry.Register[face.Platform]("foundry", openai.NewFoundry)
}
