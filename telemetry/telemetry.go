// Package telemetry lets a program measure what it does: it serves metrics in the
// format of Prometheus at /metrics and at parley.Config.Network.AdminAddr, and
// continues the traces of callers. Import it for its side effect:
//
//	import _ "github.com/parley-run/parley/telemetry"
//
// Package otlp also exports traces and metrics. Package devui imports this one,
// because the developer UI shows traces.
package telemetry

import (
	"context"

	"github.com/parley-run/parley/internal/observe"
	"github.com/parley-run/parley/internal/registry"
	"github.com/parley-run/parley/internal/telemetry"
)

func init() { registry.Register[observe.New]("", open) }

func open(ctx context.Context, o observe.Options) (observe.Telemetry, error) {
	t, err := telemetry.New(ctx, o)
	if err != nil {
		return nil, err
	}
	return t, nil
}
