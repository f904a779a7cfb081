import LibPQ
import Ordering

/// The settings of the transactions of this module's commands.
package enum TransactionSettings {
    /// The settings of transactions that look at tables or change them: only `pg_catalog` is searched. The server refuses
    /// statements from which a policy would hide rows. It prints each name of the catalog in one way only, because such names are compared.
    static let ofTables = [("search_path", "pg_catalog, pg_temp"), printedNames] + ofWholeTables
    /// The settings of transactions that read or write whole tables: their statements have no time-out, and the server refuses statements from
    /// which a policy would hide rows. A program that was stopped keeps its locks for a limited time: ``limitedPauses``.
    static let ofWholeTables = [
        ("statement_timeout", "0"), ("transaction_timeout", "0"), ("row_security", "off"), limitedPauses,
        withoutCompiling,
    ]
    /// The server ends a transaction of a program that was stopped, and so frees its locks and its snapshot. The time is the longest one between two
    /// statements: no transaction waits for a person.
    static let limitedPauses = ("idle_in_transaction_session_timeout", "\(Duration.seconds(60).milliseconds)")
    /// The settings of transactions that change the queue. They wait for the locks of others, and keep their own, for a limited time only. The role's
    /// own time-outs don't count: a shorter one would end the wait for a lock with an error that names no lock.
    static func ofQueue(lockTimeout: Duration = lockTimeoutOfQueue) -> [(String, String)] {
        [
            ("lock_timeout", "\(lockTimeout.milliseconds)"), ("statement_timeout", "0"), ("transaction_timeout", "0"),
            limitedPauses,
        ]
    }
    /// How long a command that changes the queue waits for a list or a table that another session has locked.
    package static let lockTimeoutOfQueue = Duration.seconds(60)
    /// The settings of transactions that write ranks: the order's triggers let them pass.
    static func writing(_ names: OrderNames) -> [(String, String)] {
        WritingSettings.of(names.orderedTable) + ofWholeTables
    }
    /// The settings of commands that only read.
    package static let ofReading = [("lock_timeout", "\(lockTimeoutOfReading.milliseconds)"), withoutCompiling]
    /// How long a command that only reads waits for a table that another session has locked.
    package static let lockTimeoutOfReading = Duration.seconds(5)

    /// The server prints names in quotes only where they need quotes, whatever the role's setting.
    static let printedNames = ("quote_all_identifiers", "off")
    /// The server compiles no plans. It decides by the estimated costs, which are often far too high for the catalog and for tables that were
    /// never analyzed, and with many partitions compiling takes minutes.
    static let withoutCompiling = ("jit", "off")
}
