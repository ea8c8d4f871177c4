package telemetry

import (
	"testing"
	"time"

	"github.com/parley-run/parley/internal/agentrt"
)

// BenchmarkMetrics measures what is counted of a request and of a call of a tool.
func BenchmarkMetrics(b *testing.B) {
	m := newMetrics("test")
	b.ReportAllocs()
	for now := time.Now(); b.Loop(); {
		m.answered("POST", "POST /run", 200, now)
		m.step(&agentrt.Step{Kind: agentrt.StepTool, App: "app", Began: now, Ended: now})
	}
}
