import Metrics
import PrometheusText
import TestLimit
import Testing

@Suite("Prometheus text format", .usualTimeLimit) struct PrometheusMetricsTests {
    @Test("Counters and gauges are written in the order of their names, with help and type")
    func values() {
        let metrics = PrometheusMetrics(help: ["b_total": "Counts\n\\ things."])
        Counter(label: "b_total", dimensions: [("outcome", "applied")], factory: metrics).increment(by: 41)
        Counter(label: "b_total", dimensions: [("outcome", "applied")], factory: metrics).increment()
        Counter(label: "b_total", dimensions: [("outcome", "rejected")], factory: metrics).increment(by: 0)
        Gauge(label: "a", factory: metrics).record(1.5)
        Gauge(label: "a", factory: metrics).record(-2)
        #expect(
            metrics.text == #"""
                # TYPE a gauge
                a -2
                # HELP b_total Counts\n\\ things.
                # TYPE b_total counter
                b_total{outcome="applied"} 42
                b_total{outcome="rejected"} 0

                """#)
    }

    @Test("Timers are written as cumulative histograms in seconds")
    func histograms() {
        let metrics = PrometheusMetrics(buckets: [0.1, 1])
        let timer = Timer(label: "took_seconds", dimensions: [("what", "x")], factory: metrics)
        for milliseconds in [50, 100, 250, 4_000] { timer.recordMilliseconds(milliseconds) }
        #expect(
            metrics.text == #"""
                # TYPE took_seconds histogram
                took_seconds_bucket{what="x",le="0.1"} 2
                took_seconds_bucket{what="x",le="1"} 3
                took_seconds_bucket{what="x",le="+Inf"} 4
                took_seconds_sum{what="x"} 4.4
                took_seconds_count{what="x"} 4

                """#)
    }

    @Test("Hostile labels are quoted, and metric names are made valid")
    func hostile() {
        let metrics = PrometheusMetrics()
        Counter(label: "9 lives.total", dimensions: [("a-b", "\"\\\n}")], factory: metrics).increment()
        #expect(metrics.text == "# TYPE _9_lives_total counter\n_9_lives_total{a_b=\"\\\"\\\\\\n}\"} 1\n")
    }

    @Test(
        "Numbers are written as the format requires, also infinity and NaN",
        arguments: [
            (Double.infinity, "+Inf"), (-.infinity, "-Inf"), (.nan, "NaN"), (0.1, "0.1"), (1e300, "1e+300"),
        ])
    func numbers(value: Double, text: String) {
        let metrics = PrometheusMetrics()
        Gauge(label: "g", factory: metrics).record(value)
        #expect(metrics.text == "# TYPE g gauge\ng \(text)\n")
    }

    @Test("Destroyed metrics are forgotten, and a name has only one kind of metric")
    func registry() {
        let metrics = PrometheusMetrics()
        let counter = Counter(label: "x", factory: metrics)
        counter.increment()
        Gauge(label: "x", factory: metrics).record(7)
        #expect(metrics.text == "# TYPE x counter\nx 1\n")
        counter.destroy()
        #expect(metrics.text == "")
    }

    @Test("A counter stays correct when many tasks count at the same time")
    func concurrency() async {
        let metrics = PrometheusMetrics()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<1_000 { Counter(label: "x", factory: metrics).increment() }
                }
            }
        }
        #expect(metrics.text == "# TYPE x counter\nx 8000\n")
    }
}
