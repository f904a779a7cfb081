import LibPQ
import Testing

@testable import Administration

/// A damaged table, and its repair.
extension AttachFixture {
    /// An attached table with five rows of one list.
    static func withRows() async throws -> AttachFixture {
        let fixture = try await AttachFixture(
            """
            CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint);
            INSERT INTO tasks SELECT n, 1 FROM generate_series(1, 5) AS n;
            """)
        try await fixture.attach()
        return fixture
    }

    /// Removes what would refuse or undo a damage.
    static let withoutRules = """
        ALTER TABLE tasks DROP CONSTRAINT brocot_rank_is_valid; DROP INDEX brocot_tasks_rank;
        ALTER TABLE tasks DISABLE TRIGGER USER;
        """

    /// The table of ``withRows()`` after a damage and its repair, and what was found before the repair.
    static func repaired(
        _ damage: String, placingRows: Bool = false
    ) async throws -> (fixture: AttachFixture, found: [String]) {
        let fixture = try await withRows()
        return (fixture, try await fixture.repair(damage, placingRows: placingRows))
    }

    /// Damages an attached table, looks what is found, repairs it, and looks that nothing is left but what the daemon does.
    func repair(_ damage: String, placingRows: Bool = false) async throws -> [String] {
        try await connection.execute(script: damage)
        let repair = TableRepair(connection: connection, logger: Self.logger)
        let definition = try #require(try await repair.definitions(named: "public.tasks").first)
        let findings = try await repair.findings(of: definition)
        try await repair.repair(definition, findings, placingRows: placingRows)
        let left = try await repair.findings(of: definition)
        #expect(left.checkedTable?.isRepairable == false, "\(damage)")
        return findings.lines(placingRows: placingRows)
    }

    /// Gives the repaired table the rows and ranks of ``withRows()``, for the next damage.
    func restoreRows() async throws {
        try await connection.execute(
            script: """
                TRUNCATE tasks, brocot.move_requests; SET session_replication_role = replica;
                INSERT INTO tasks (id, project_id, rank_num, rank_den, rank) SELECT n, 1, n - 1, 1, n - 1 FROM generate_series(1, 5) AS n;
                RESET session_replication_role
                """)
    }

    /// The items in their order.
    func order() async throws -> [String] {
        try await texts("SELECT id FROM tasks WHERE rank IS NOT NULL ORDER BY rank")
    }
}
