import Brocot

/// Moves items with the library, as the benchmark's peer "Swift library": `LibraryMoves URL SECONDS`.
///
/// It reads moves from standard input, one on a line, with tabs between: the session's number from 0, list, item, and the item that
/// it goes behind, or nothing for the beginning, or `-` to remove it. Each session has a connection of its own. When the
/// seconds are over, it prints a line for each move that it made: the session and the microseconds.
@main
struct LibraryMoves {
    static func main() async throws {
        guard CommandLine.arguments.count == 3, let seconds = Double(CommandLine.arguments[2]) else {
            fatalError("usage: LibraryMoves URL SECONDS < MOVES")
        }
        let sessions = readMoves()
        let client = try await BrocotClient.connect(CommandLine.arguments[1], maximumConnections: sessions.count)
        // The client opens a connection when it is needed. So all connections are opened here, before the time counts.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in sessions {
                group.addTask { try await client.transaction { _ = try $0.query("SELECT pg_sleep(0.3)") } }
            }
            try await group.waitForAll()
        }
        let deadline = ContinuousClock.now + .seconds(seconds)
        let times = try await withThrowingTaskGroup(of: (Int, [Duration]).self) { group in
            for (number, moves) in sessions.enumerated() {
                group.addTask { (number, try await apply(moves, client, until: deadline)) }
            }
            var times: [(Int, [Duration])] = []
            for try await result in group { times.append(result) }
            return times
        }
        await client.close()
        for (session, durations) in times {
            for duration in durations { print(session, Int(duration / .microseconds(1)), separator: "\t") }
        }
    }

    private struct Move {
        let list: String
        let item: String
        let anchor: String
    }

    private static func readMoves() -> [[Move]] {
        var sessions: [[Move]] = []
        while let line = readLine() {
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            guard fields.count == 4, let session = Int(fields[0]) else { fatalError("no move: \(line)") }
            while sessions.count <= session { sessions.append([]) }
            sessions[session].append(Move(list: fields[1], item: fields[2], anchor: fields[3]))
        }
        return sessions
    }

    private static func apply(
        _ moves: [Move], _ client: BrocotClient, until deadline: ContinuousClock.Instant
    ) async throws -> [Duration] {
        let clock = ContinuousClock()
        var durations: [Duration] = []
        for move in moves where clock.now < deadline {
            durations.append(
                try await clock.measure {
                    switch move.anchor {
                    case "-": try await client.remove([move.item], from: .init(move.list))
                    case "": try await client.place([move.item], .first, in: .init(move.list))
                    default: try await client.place([move.item], .after(move.anchor), in: .init(move.list))
                    }
                })
        }
        return durations
    }
}
