package admin

import (
	"cmp"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"

	"github.com/clew-dev/clew/gateway"
)

// metrics are what Prometheus reads. Labels are names of APIs, outcomes and kinds of tokens:
// few, and none that a client chooses.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	epochs   *prometheus.CounterVec
	list     *prometheus.CounterVec
	usage    *prometheus.CounterVec
	full     *prometheus.HistogramVec
	added    *prometheus.HistogramVec
	inFlight prometheus.Gauge
}

// newMetrics takes what says whether the database can be used, nil without one.
func newMetrics(health func() error) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "clew", Subsystem: "gateway", Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "clew", Subsystem: "gateway", Name: name, Help: help, Buckets: buckets}, []string{"api"})
	}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: counter("requests_total", "Requests by what became of them, and by the class of the status.", "api", "outcome", "code"),
		epochs:   counter("epochs_total", "Switches to a new summary; those of outcome rescued are among them.", "api"),
		list:     counter("list_tokens_total", "Tokens of lists as they came (before) and as they were sent on (after), estimated.", "api", "list"),
		usage:    counter("usage_tokens_total", "Tokens as upstreams report them: input (all of it), cache_read, cache_write, output.", "api", "kind"),
		full:     histogram("window_used_ratio", "Share of the window that was sent.", []float64{.1, .2, .3, .4, .5, .6, .7, .8, .9, 1, 1.2}),
		added:    histogram("added_seconds", "Time that was added before a request was sent on.", prometheus.ExponentialBuckets(50e-6, 2, 15)),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "clew", Subsystem: "gateway", Name: "in_flight", Help: "Requests whose answer has not ended."}),
	}
	m.registry.MustRegister(m.requests, m.epochs, m.list, m.usage, m.full, m.added, m.inFlight,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if health != nil {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: "clew", Subsystem: "gateway", Name: "database_up", Help: "1 while the database can be used; requests go on without it.",
		}, func() float64 {
			if health() != nil {
				return 0
			}
			return 1
		}))
	}
	return m
}

func (m *metrics) add(e *gateway.Event) {
	api := cmp.Or(e.API, "other")
	m.requests.WithLabelValues(api, string(e.Outcome), class(e.Status)).Inc()
	if e.Outcome == gateway.Compacted || e.Outcome == gateway.Rescued {
		m.epochs.WithLabelValues(api).Inc()
	}
	m.list.WithLabelValues(api, "before").Add(float64(e.Before))
	m.list.WithLabelValues(api, "after").Add(float64(e.After))
	if e.Window > 0 {
		m.full.WithLabelValues(api).Observe(float64(e.After) / float64(e.Window))
	}
	m.added.WithLabelValues(api).Observe(e.Took.Seconds())
	if u := e.Usage; u != nil {
		for kind, n := range map[string]int64{"input": u.Input, "cache_read": u.CacheRead, "cache_write": u.CacheWrite, "output": u.Output} {
			m.usage.WithLabelValues(api, kind).Add(float64(n))
		}
	}
}

// class is the class of a status; an upstream that could not be reached gave none.
func class(status int) string {
	if status < 100 || status > 599 {
		return "none"
	}
	return strconv.Itoa(status/100) + "xx"
}

// handler writes the metrics as text. Package promhttp would do it too, but its compression
// takes time at each start of the program.
func (m *metrics) handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		families, err := m.registry.Gather()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		format := expfmt.NewFormat(expfmt.TypeTextPlain)
		w.Header().Set("Content-Type", string(format))
		out := expfmt.NewEncoder(w, format)
		for _, f := range families {
			if out.Encode(f) != nil {
				return // the reader has gone
			}
		}
	})
}

// count counts the requests that h is answering.
func (m *metrics) count(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.inFlight.Inc()
		defer m.inFlight.Dec()
		h.ServeHTTP(w, r)
	})
}
