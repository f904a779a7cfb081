import LibPQ
import Metrics
import TestLimit
import Testing

@testable import Daemon

@Suite("Samples of the queue for metrics", .usualTimeLimit) struct QueueSamplerTests {
    @Test(
        "A sample follows after 100 times the time that the last one took, but after at least 15 s and at most a minute",
        arguments: [(0.001, 15.0), (0.2, 20.0), (2.7, 60.0)])
    func pause(duration: Double, pause: Double) throws {
        let sampler = QueueSampler(
            DaemonConfiguration(connection: try ConnectionParameters(url: "")),
            metrics: DaemonMetrics(NOOPMetricsHandler.instance))
        #expect(sampler.pause(afterSampleOf: .seconds(duration)) == .seconds(pause))
    }
}
