import LibPQ

extension TestDatabase {
    /// Waits until each request is decided.
    ///
    /// - Parameter limit: How long that may take.
    /// - Throws: ``NotInTime``, with some requests that wait.
    package func waitUntilAllRequestsAreDecided(within limit: Duration = .seconds(120)) async throws {
        let observer = try await observer
        try await eventually("all requests are decided", within: limit) {
            try await observer.query(
                "SELECT concat_ws(' ', id, ordered_table, left(list, 100)) FROM brocot.move_requests LIMIT 5"
            ).map { try $0.decode(0, as: String.self) }
        } until: {
            $0.isEmpty
        }
    }
}
