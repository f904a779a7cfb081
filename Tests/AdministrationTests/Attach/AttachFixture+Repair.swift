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

    /// Removes the constraint, the index and the triggers, which would refuse or undo a damage.
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

    /// Damages an attached table and repairs it. Expects that a second repair would find nothing. Returns what was
    /// found before the repair.
    func repair(_ damage: String, placingRows: Bool = false) async throws -> [String] {
        try await connection.execute(script: damage)
        return try await repairAsRegistered(placingRows: placingRows).lines(placingRows: placingRows)
    }

    /// Repairs a table by its registry row. Expects that a second repair would find nothing. Returns what was found
    /// before the repair.
    @discardableResult
    func repairAsRegistered(_ name: String = "public.tasks", placingRows: Bool = false) async throws -> TableFindings {
        let definition = try await registered(name)
        let found = try await findings(of: definition)
        try await repair(found, of: definition, placingRows: placingRows)
        let left = try await findings(of: definition)
        #expect(left.checkedTable?.isRepairable == false, "\(left.lines())")
        return found
    }

    /// What `brocot check` finds of a table.
    func findings(of definition: OrderDefinition = definition()) async throws -> TableFindings {
        try await tableRepair.findings(of: definition)
    }

    /// Repairs what was found.
    func repair(
        _ findings: TableFindings, of definition: OrderDefinition = definition(), placingRows: Bool = false
    ) async throws {
        try await tableRepair.repair(definition, findings, placingRows: placingRows)
    }

    /// The definition of the order, from the registry.
    func registered(_ name: String = "public.tasks") async throws -> OrderDefinition {
        try #require(try await tableRepair.definitions(named: name).first)
    }

    private var tableRepair: TableRepair { TableRepair(connection: connection, logger: .silent) }

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
