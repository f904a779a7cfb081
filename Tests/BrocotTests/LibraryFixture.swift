import Brocot
import Daemon
import LibPQ
import TestPostgres

/// A client of the running test's database, and a connection to look from outside.
struct LibraryFixture {
    let client: BrocotClient
    let connection: Connection

    init(maximumConnections: Int = 4) async throws {
        client = try await BrocotClient.connect(
            TestDatabase.current.url, maximumConnections: maximumConnections,
            answerTimeout: TestDatabase.longestStatement, logger: .silent)
        connection = try await TestDatabase.current.connect()
    }

    /// Runs a daemon meanwhile.
    static func withDaemon(_ body: () async throws -> Void) async throws {
        let parameters = try ConnectionParameters(url: TestDatabase.current.url)
        let daemon = Daemon(DaemonConfiguration(connection: parameters), logger: .silent)
        try await whileRunning("the daemon", { try await daemon.run() }, body)
    }

    /// The items of a list of the built-in table, in order.
    func items(of list: String) async throws -> [String] {
        try await connection.query("SELECT item FROM brocot.items WHERE list = \(list) ORDER BY rank").map {
            try $0.decode(0)
        }
    }

    /// How many advisory locks of this database others than this connection hold, or wait for.
    func advisoryLocks(granted: Bool) async throws -> Int {
        let rows = try await connection.query(
            """
            SELECT count(*) FROM pg_locks
            WHERE locktype = 'advisory' AND granted = \(granted) AND pid <> pg_backend_pid()
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            """)
        return try rows[0].decode(0)
    }

    /// Returns when a session waits for an advisory lock.
    func waitForWaiter() async throws {
        try await eventually("somebody waits for an advisory lock", pause: .milliseconds(5)) {
            try await advisoryLocks(granted: false) > 0
        }
    }

    /// Attaches `public.cards`, a table of the user's with an integer `board` and a bigint `id`, and gives it these rows.
    func attachCards(_ cards: [(id: Int, board: Int)] = []) async throws {
        try await connection.execute(
            script: RegisteredTable.script(
                columns: "id bigint PRIMARY KEY, board integer NOT NULL, title text NOT NULL DEFAULT ''", item: "id"))
        try await connection.execute(
            "INSERT INTO cards (id, board) SELECT * FROM unnest(\(cards.map(\.id)), \(cards.map(\.board)))")
    }

    /// Makes the database refuse an item of the built-in table, as a trigger of the user's would.
    func refuseItem(_ item: String, sqlState: String = "P0042") async throws {
        try await connection.execute(
            script: """
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE EXCEPTION 'no % here', NEW.item USING ERRCODE = '\(sqlState)'; END $$;
                CREATE TRIGGER refuse BEFORE INSERT ON brocot.items FOR EACH ROW WHEN (NEW.item = '\(item)')
                EXECUTE FUNCTION refuse();
                """)
    }
}

/// The code of the failure that `body` throws; nil if it throws none, or a rejection.
func failureCode(_ body: () async throws -> Void) async -> BrocotError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? BrocotError)?.code
    }
}

/// The code of the rejection that `body` throws; nil if it throws none, or a failure.
func rejectionCode(_ body: () async throws -> Void) async -> Rejection.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? Rejection)?.code
    }
}
