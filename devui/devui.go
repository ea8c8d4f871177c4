// Package devui lets a program serve the developer UI. Import it for its side
// effect; parley.Config.UI turns it on.
//
//	import _ "github.com/parley-run/parley/devui"
package devui

import (
	"github.com/parley-run/parley/internal/link"
	"github.com/parley-run/parley/internal/registry"
	"github.com/parley-run/parley/internal/webui"
	_ "github.com/parley-run/parley/telemetry" // records the traces that it shows
)

func init() { registry.Register[link.DevUI]("", webui.Handler) }
