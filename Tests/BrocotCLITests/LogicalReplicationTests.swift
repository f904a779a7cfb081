import LibPQ
import TestLimit
import TestPostgres
import Testing

/// Two databases of one server replicate as two servers do.
@Suite(
    "Logical replication",
    .database(on: .own(settings: ["wal_level": "logical", "wal_retrieve_retry_interval": "100ms"])),
    .usualTimeLimit)
struct LogicalReplicationTests {
    private struct Site {
        let url: String
        let connection: Connection

        func createTasks() async throws {
            try await connection.execute("CREATE TABLE tasks (id text PRIMARY KEY, project_id text)")
        }

        func attachTasks() async throws {
            let attached = try await BrocotProcess.run(
                "attach", "public.tasks", "--item", "id", "--list", "project_id", databaseURL: url)
            #expect(attached.exitCode == 0, "\(attached.errors)")
        }

        func drain() async throws {
            let drained = try await BrocotProcess.run("daemon", "--drain", "--workers", "1", databaseURL: url)
            #expect(drained.exitCode == 0, "\(drained.errors)")
        }

        /// Both orders: items and tasks with their ranks.
        func orders() async throws -> [String] {
            try await connection.query(
                """
                SELECT 'item ' || item || ' ' || rank AS row FROM brocot.items
                UNION ALL SELECT concat_ws(' ', 'task', id, rank) FROM tasks
                ORDER BY row
                """
            ).map { try $0.decode(0, as: String.self) }
        }

        /// Moves c and b to the end, in one transaction of the daemon. If they are at the end as b and c, they exchange their ranks.
        func exchange() async throws {
            for (table, item, end) in ["items", "public.tasks"].flatMap({ table in
                [(table, "c", "first"), (table, "b", "first"), (table, "c", "last"), (table, "b", "last")]
            }) {
                try await connection.execute(
                    """
                    INSERT INTO brocot.move_requests (ordered_table, list, items, placement)
                    VALUES (\(table), 'l', \([item]), \(end))
                    """)
            }
            try await drain()
        }
    }

    @Test(
        "A subscriber gets the order, also if items exchange ranks, requests no places itself, and can become the primary"
    )
    func subscriber() async throws {
        let (publisher, subscriber) = try await Self.makeSites()
        for site in [publisher, subscriber] { try await site.attachTasks() }
        try await publisher.connection.execute("INSERT INTO tasks VALUES ('a', 'l'), ('b', 'l'), ('c', 'l')")
        try await publisher.connection.execute("SELECT brocot.move_items('l', '{a,b,c}', last => true)")
        try await publisher.drain()
        try await Self.subscribe(subscriber, to: publisher)
        try await Self.expect(["item a 0", "item b 1", "item c 2", "task a 0", "task b 1", "task c 2"], in: subscriber)
        try await publisher.exchange()
        try await Self.expect(["item a 0", "item b 2", "item c 1", "task a 0", "task b 2", "task c 1"], in: subscriber)
        try await publisher.connection.execute("INSERT INTO tasks VALUES ('d', 'l')")
        try await Self.expect(
            ["item a 0", "item b 2", "item c 1", "task a 0", "task b 2", "task c 1", "task d"], in: subscriber)
        #expect(try await subscriber.connection.query("SELECT FROM brocot.move_requests").isEmpty)
        try await publisher.drain()
        try await Self.expect(
            ["item a 0", "item b 2", "item c 1", "task a 0", "task b 2", "task c 1", "task d 3"], in: subscriber)
        try await subscriber.connection.execute("DROP SUBSCRIPTION ordered")
        try await subscriber.exchange()
        try await Self.expect(
            ["item a 0", "item b 2", "item c 1", "task a 0", "task b 5", "task c 4", "task d 3"], in: subscriber)
    }

    @Test(
        "A table that is replicated already is attached on the publisher, and on the subscriber after the switch: the order stays"
    )
    func replicatedAlready() async throws {
        let (publisher, subscriber) = try await Self.makeSites()
        try await publisher.connection.execute("INSERT INTO tasks VALUES ('a', 'l'), ('b', 'l'), ('c', 'l')")
        try await Self.subscribe(subscriber, to: publisher)
        try await eventually(
            "the subscriber has the rows", read: { try await subscriber.connection.query("SELECT FROM tasks").count },
            until: { $0 == 3 })
        try await subscriber.connection.execute(
            "ALTER TABLE tasks ADD COLUMN rank numeric, ADD COLUMN rank_num bigint, ADD COLUMN rank_den bigint")
        try await publisher.attachTasks()
        try await publisher.connection.execute("INSERT INTO tasks VALUES ('d', 'l')")
        try await publisher.drain()
        try await Self.expect(["task a 0", "task b 1", "task c 2", "task d 3"], in: subscriber)
        try await subscriber.connection.execute("DROP SUBSCRIPTION ordered")
        try await subscriber.attachTasks()
        try await Self.expect(["task a 0", "task b 1", "task c 2", "task d 3"], in: subscriber)
        try await subscriber.exchange()
        try await Self.expect(
            ["item b 1", "item c 0", "task a 0", "task b 5", "task c 4", "task d 3"], in: subscriber)
    }

    /// A publisher and a subscriber, each with an empty table.
    private static func makeSites() async throws -> (publisher: Site, subscriber: Site) {
        let publisher = Site(url: TestDatabase.current.url, connection: try await TestDatabase.current.connect())
        try await publisher.connection.execute("CREATE DATABASE subscriber TEMPLATE migrated_template")
        let url = await TestDatabase.current.cluster.url(database: "subscriber")
        let subscriber = Site(
            url: url,
            connection: try await TestDatabase.connect(to: url))
        for site in [publisher, subscriber] { try await site.createTasks() }
        return (publisher, subscriber)
    }

    /// On one server, CREATE SUBSCRIPTION can't make the slot: that waits for the end of all transactions, so also of its own.
    private static func subscribe(_ subscriber: Site, to publisher: Site) async throws {
        try await publisher.connection.execute("CREATE PUBLICATION ordered FOR TABLE brocot.items, public.tasks")
        try await publisher.connection.execute("SELECT pg_create_logical_replication_slot('ordered', 'pgoutput')")
        try await subscriber.connection.execute(
            "CREATE SUBSCRIPTION ordered CONNECTION \(literal: publisher.url) PUBLICATION ordered WITH (create_slot = false)"
        )
    }

    private static func expect(_ orders: [String], in site: Site) async throws {
        try await eventually("the orders are \(orders)", read: site.orders) { $0 == orders }
    }
}
