package telemetry

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"

	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/observe"
	"github.com/parley-run/parley/session"
)

// metrics holds the Prometheus metrics. Their names and labels are those of OpenTelemetry's conventions, as its
// exporter would spell them. No label has a value that clients can choose: there are none for users and sessions, and
// the number of names is bounded.
type metrics struct {
	registry *prometheus.Registry

	requests *prometheus.HistogramVec
	active   prometheus.Gauge
	streams  prometheus.Gauge
	runs     *prometheus.CounterVec
	queued   prometheus.Histogram
	models   *prometheus.HistogramVec
	tokens   *prometheus.HistogramVec
	tools    *prometheus.HistogramVec
	appends  *prometheus.HistogramVec
	stored   prometheus.Observer // the most frequent one
	logins   *prometheus.CounterVec
	cost     *prometheus.CounterVec
	unpriced *prometheus.CounterVec
	warnings *prometheus.CounterVec
	firings  *prometheus.CounterVec
	delays   prometheus.Histogram
	triggers *prometheus.CounterVec
	entries  *prometheus.CounterVec
	sent     *prometheus.CounterVec

	apps, modelNames, errors bounded

	// Series that are used in every turn.
	answers    series[answer, prometheus.Observer]
	modelCalls series[outcome, prometheus.Observer]
	modelUsage series[string, usage]
	toolCalls  series[outcome, prometheus.Observer]
	endedRuns  series[ended, prometheus.Counter]
}

// Keys of series.
type (
	answer struct {
		method, pattern string
		status          int
	}
	outcome struct{ of, errorType string } // of a model, or of an application
	usage   struct{ input, output prometheus.Observer }
	ended   struct{ app, status string }
)

// Histogram buckets: seconds, and tokens.
var (
	durations   = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}
	fastOnes    = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5}
	lateness    = []float64{.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 21600, 86400}
	tokenCounts = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576}
)

func newMetrics(version string) *metrics {
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: histogram("http_server_request_duration_seconds", "Time to answer requests, streams until their end.", durations, "http_request_method", "http_route", "http_response_status_code"),
		active:   gauge("http_server_active_requests", "Requests that are being answered."),
		streams:  gauge("parley_streams_open", "Clients that follow a run over Server-Sent Events."),
		runs:     counter("parley_runs_total", "Runs that ended here, or were handed over to another process.", "app", "status"),
		queued:   prometheus.NewHistogram(prometheus.HistogramOpts{Name: "parley_run_queue_duration_seconds", Help: "Time that runs were queued before work on them began here.", Buckets: durations}),
		models:   histogram("gen_ai_client_operation_duration_seconds", "Time that models take to answer.", durations, "gen_ai_operation_name", "gen_ai_request_model", "gen_ai_provider_name", "error_type"),
		tokens:   histogram("gen_ai_client_token_usage", "Tokens of requests to models and of their answers.", tokenCounts, "gen_ai_operation_name", "gen_ai_request_model", "gen_ai_provider_name", "gen_ai_token_type"),
		tools:    histogram("parley_tool_call_duration_seconds", "Time that tools take.", durations, "app", "error_type"),
		appends:  histogram("parley_store_append_duration_seconds", "Time to store events.", fastOnes, "outcome"),
		logins:   counter("parley_logins_total", "Logins of users that tools have asked for, and what became of them.", "outcome"),
		cost:     counter("parley_cost_usd_total", "What runs that ended here have cost, in US dollars, as far as prices are known.", "app", "model"),
		unpriced: counter("parley_unpriced_tokens_total", "Tokens of runs that ended here whose price is not known.", "app", "model"),
		warnings: counter("parley_cost_warnings_total", "Users who have reached the cost of a day of which there is a warning.", "app"),
		firings:  counter("parley_schedule_firings_total", "Times at which schedules were due, and what came of them here.", "app", "outcome"),
		delays:   prometheus.NewHistogram(prometheus.HistogramOpts{Name: "parley_schedule_delay_seconds", Help: "Time between when a schedule was due and when its run was started here.", Buckets: lateness}),
		triggers: counter("parley_trigger_deliveries_total", "Requests for triggers, and what has come of them. Those of unknown senders have no application.", "app", "outcome"),
		entries:  counter("parley_inbox_entries_total", "Entries of the inbox that were answered or escalated here.", "app", "outcome"),
		sent:     counter("parley_notifications_total", "Attempts to send notifications about runs and other events.", "kind", "outcome"),
	}
	m.stored = m.appends.WithLabelValues("stored")
	m.registry.MustRegister(m.requests, m.active, m.streams, m.runs, m.queued, m.models, m.tokens, m.tools, m.appends, m.logins,
		m.cost, m.unpriced, m.warnings, m.firings, m.delays, m.triggers, m.entries, m.sent,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	about := prometheus.NewGauge(prometheus.GaugeOpts{Name: "parley_build_info", Help: "The version that runs.", ConstLabels: prometheus.Labels{"version": version}})
	about.Set(1)
	m.registry.MustRegister(about)
	return m
}

// Watch registers a function that is called for every scrape of the metrics.
func (t *Telemetry) Watch(look func() observe.Levels) { t.metrics.registry.MustRegister(levels(look)) }

type levels func() observe.Levels

var (
	runningRuns = prometheus.NewDesc("parley_runs_running", "Runs that are worked on here.", nil, nil)
	queuedRuns  = prometheus.NewDesc("parley_runs_queued", "Queued runs, for all processes that share the store.", nil, nil)
	followed    = prometheus.NewDesc("parley_runs_followed", "Runs on other servers that clients read here.", nil, nil)
	unfollowed  = prometheus.NewDesc("parley_run_follow_failures_total", "Times that the server that works on such a run could not be reached, or was lost.", nil, nil)
	freeSlots   = prometheus.NewDesc("parley_schedule_slots_free", "Runs of schedules that this server would start now; 0 if it starts none.", nil, nil)
	undelivered = prometheus.NewDesc("parley_notifications_pending", "Notifications that were not accepted yet, for all processes that share the store.", nil, nil)
	givenUp     = prometheus.NewDesc("parley_notifications_failed", "Notifications that were given up in the last days, for all processes that share the store.", nil, nil)
	engineCount = prometheus.NewDesc("parley_script_engines", "JavaScript engines.", []string{"app"}, nil)
	engineStart = prometheus.NewDesc("parley_script_engine_restarts_total", "JavaScript engines that were replaced because of what their code did.", []string{"app"}, nil)
	engineLimit = prometheus.NewDesc("parley_script_engine_memory_limit_bytes", "Memory that one JavaScript engine may use.", []string{"app"}, nil)
)

// Describe implements prometheus.Collector.
func (levels) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{runningRuns, queuedRuns, followed, unfollowed, freeSlots, undelivered, givenUp, engineCount, engineStart, engineLimit} {
		to <- d
	}
}

// lookTime bounds the query for the number of queued runs.
const lookTime = 5 * time.Second

// Collect implements prometheus.Collector.
func (look levels) Collect(to chan<- prometheus.Metric) {
	now := look()
	value := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, kind, value, labels...)
	}
	value(runningRuns, prometheus.GaugeValue, float64(now.Running))
	value(followed, prometheus.GaugeValue, float64(now.Followed))
	value(unfollowed, prometheus.CounterValue, float64(now.Unfollowed))
	value(freeSlots, prometheus.GaugeValue, float64(now.FreeScheduled))
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	if queued, err := now.Queued(ctx); err == nil { // omitted while the store is unavailable
		value(queuedRuns, prometheus.GaugeValue, float64(queued))
	}
	if now.Deliveries != nil {
		if pending, failed, err := now.Deliveries(ctx); err == nil {
			value(undelivered, prometheus.GaugeValue, float64(pending))
			value(givenUp, prometheus.GaugeValue, float64(failed))
		}
	}
	for _, e := range now.Engines {
		value(engineCount, prometheus.GaugeValue, float64(e.Count), e.App)
		value(engineStart, prometheus.CounterValue, float64(e.Restarts), e.App)
		value(engineLimit, prometheus.GaugeValue, float64(e.MemoryLimit), e.App)
	}
}

// ServeHTTP answers in the text format of Prometheus.
func (m *metrics) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	families, err := m.registry.Gather()
	if err != nil && len(families) == 0 {
		http.Error(w, "the metrics could not be gathered", http.StatusInternalServerError)
		return
	}
	format := expfmt.NewFormat(expfmt.TypeTextPlain)
	w.Header().Set("Content-Type", string(format))
	to := expfmt.NewEncoder(w, format)
	for _, family := range families {
		if to.Encode(family) != nil {
			return // the client has disconnected
		}
	}
}

// Metrics returns the handler of /metrics, in the text format of Prometheus.
func (t *Telemetry) Metrics() http.Handler { return t.metrics }

// bounded limits the number of values of a label.
type bounded struct{ known sync.Map }

const (
	mostValues  = 200
	otherValues = "_OTHER"
)

func (b *bounded) of(value string) string {
	if value == "" {
		return ""
	}
	if _, ok := b.known.Load(value); ok {
		return value
	}
	n := 0
	b.known.Range(func(any, any) bool { n++; return n < mostValues })
	if n >= mostValues {
		return otherValues
	}
	b.known.Store(value, nil)
	return value
}

// series caches metrics with their labels filled in, by the values of the labels, because filling them in takes twice
// the time of looking one up (BenchmarkMetrics). Their number is bounded, because that of label values is.
type series[K comparable, V any] struct {
	mu    sync.RWMutex
	known map[K]V
}

// of returns the metric for key. fill creates it, and reports whether its labels identify key. Otherwise it stands for
// any number of keys, and is not cached.
func (s *series[K, V]) of(key K, fill func() (V, bool)) V {
	s.mu.RLock()
	one, ok := s.known[key]
	s.mu.RUnlock()
	if ok {
		return one
	}
	one, own := fill()
	if !own {
		return one
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[K]V{}
	}
	s.known[key] = one
	return one
}

// answered counts a request.
func (m *metrics) answered(method, pattern string, status int, began time.Time) {
	took := time.Since(began).Seconds()
	m.answers.of(answer{method, pattern, status}, func() (prometheus.Observer, bool) {
		code := "" // empty if the client disconnected first
		if status != 0 {
			code = strconv.Itoa(status)
		}
		return m.requests.WithLabelValues(method, cmp.Or(routeOf(pattern), otherValues), code), true
	}).Observe(took)
}

// step counts a model call or a tool call.
func (m *metrics) step(s *agentrt.Step) {
	took := s.Ended.Sub(s.Began).Seconds()
	switch s.Kind {
	case agentrt.StepAgent:
	case agentrt.StepTool:
		m.toolCalls.of(outcome{s.App, s.ErrorType}, func() (prometheus.Observer, bool) {
			app, failure := m.apps.of(s.App), m.errors.of(s.ErrorType)
			return m.tools.WithLabelValues(app, failure), app == s.App && failure == s.ErrorType
		}).Observe(took)
	case agentrt.StepModel:
		if s.Recorded {
			return // no model was called
		}
		m.modelCalls.of(outcome{s.Model, s.ErrorType}, func() (prometheus.Observer, bool) {
			name, failure := m.modelNames.of(s.Model), m.errors.of(s.ErrorType)
			return m.models.WithLabelValues(generateContent, name, providerOf(s.Model), failure), name == s.Model && failure == s.ErrorType
		}).Observe(took)
		if s.Response == nil || s.Response.Usage == nil {
			return
		}
		u := s.Response.Usage
		to := m.modelUsage.of(s.Model, func() (usage, bool) {
			name, provider := m.modelNames.of(s.Model), providerOf(s.Model)
			return usage{
				input:  m.tokens.WithLabelValues(generateContent, name, provider, "input"),
				output: m.tokens.WithLabelValues(generateContent, name, provider, "output"),
			}, name == s.Model
		})
		to.input.Observe(float64(u.Prompt))
		to.output.Observe(float64(u.Candidates + u.Thoughts))
	}
}

// Ended counts the end of a run.
func (t *Telemetry) Ended(row *session.Run, lost bool) {
	status := string(row.Status)
	if lost {
		status = handedOver
	}
	m, app := t.metrics, row.Key.App
	m.endedRuns.of(ended{app, status}, func() (prometheus.Counter, bool) {
		name := m.apps.of(app)
		return m.runs.WithLabelValues(name, status), name == app
	}).Inc()
	if !lost { // the process that ends the run counts it
		t.Spent(app, row.Models)
	}
}

// Spent counts usage of models.
func (t *Telemetry) Spent(app string, models []session.ModelUsage) {
	m := t.metrics
	for i := range models {
		one := &models[i]
		name := m.modelNames.of(one.Model)
		if one.Unpriced > 0 {
			m.unpriced.WithLabelValues(m.apps.of(app), name).Add(float64(one.Unpriced))
		}
		if one.Unpriced < one.Tokens.Total {
			m.cost.WithLabelValues(m.apps.of(app), name).Add(float64(one.Nanos) / 1e9)
		}
	}
}

// CostWarning counts a warning of the cost of a day.
func (t *Telemetry) CostWarning(app string) {
	t.metrics.warnings.WithLabelValues(t.metrics.apps.of(app)).Inc()
}

// Appended measures an append of the store.
func (t *Telemetry) Appended(took time.Duration, err error) {
	if err != nil {
		t.metrics.appends.WithLabelValues("failed").Observe(took.Seconds())
		return
	}
	t.metrics.stored.Observe(took.Seconds())
}

// Login counts the outcome of a login.
func (t *Telemetry) Login(outcome string) { t.metrics.logins.WithLabelValues(outcome).Inc() }

// Delivery counts the outcome of a request for a trigger.
func (t *Telemetry) Delivery(app, outcome string) {
	t.metrics.triggers.WithLabelValues(t.metrics.apps.of(app), outcome).Inc()
}

// Entry counts what has become of an entry of the inbox.
func (t *Telemetry) Entry(app, outcome string) {
	t.metrics.entries.WithLabelValues(t.metrics.apps.of(app), outcome).Inc()
}

// Stream counts the clients that follow a run.
func (t *Telemetry) Stream() (ended func()) {
	t.metrics.streams.Inc()
	return t.metrics.streams.Dec
}
