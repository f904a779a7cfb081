import Ordering

/// Plans a fixed batch of moves in memory, without a server, for valgrind to count the instructions: `.ci/instructions`.
@main
enum InstructionCount {
    static func main() throws {
        guard let name = CommandLine.arguments.dropFirst().first else {
            return print(FixedBatch.Name.allCases.map(\.rawValue).joined(separator: "\n"))
        }
        guard let name = FixedBatch.Name(rawValue: name) else { fatalError("there is no batch \(name)") }
        let batch = try FixedBatch(name)
        let changes = try batch.plan()
        print("\(name.rawValue): \(batch.moves.count) moves, \(changes) changed rows")
    }
}

/// Runs `body`. Valgrind counts the instructions of this function, by its name.
@inline(never)
func counted(_ body: () throws -> [RowChange]) rethrows -> [RowChange] { try body() }
