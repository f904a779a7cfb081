/// The statements for an advisory lock of the server with one 64-bit key.
package struct AdvisoryLock: Sendable {
    /// An expression of type `bigint`.
    package let key: SQL

    package init(key: SQL) { self.key = key }

    package init(key: Int64) { self.key = "\(key)" }

    /// Waits for the lock. The transaction has it until its end.
    package var lock: SQL { "SELECT pg_catalog.pg_advisory_xact_lock(\(key))" }

    /// Takes the lock if it is free, and returns whether it was. The transaction has the lock until its end.
    package var tryLock: SQL { "SELECT pg_catalog.pg_try_advisory_xact_lock(\(key))" }

    /// Takes the lock if it is free, and returns whether it was. The session has the lock until ``unlockOfSession``.
    package var tryLockForSession: SQL { "SELECT pg_catalog.pg_try_advisory_lock(\(key))" }

    /// Releases the lock of the session, and returns whether the session had it.
    package var unlockOfSession: SQL { "SELECT pg_catalog.pg_advisory_unlock(\(key))" }

    /// The condition that a row of `pg_locks` shows who has the lock. `row` is the row's name.
    ///
    /// `objsubid` 1 marks a lock with one key; `classid` and `objid` are the halves of the key. All names are qualified, because some
    /// statements run with the `search_path` of the session.
    package func matches(_ row: SQL) -> SQL {
        """
        \(row).locktype OPERATOR(pg_catalog.=) 'advisory' AND \(row).objsubid OPERATOR(pg_catalog.=) 1 AND \(row).granted
            AND ((\(row).classid::pg_catalog.int8 OPERATOR(pg_catalog.<<) 32) OPERATOR(pg_catalog.|) \(row).objid::pg_catalog.int8)
                OPERATOR(pg_catalog.=) (\(key))
            AND \(row).database OPERATOR(pg_catalog.=) (
                SELECT own.oid FROM pg_catalog.pg_database AS own
                WHERE own.datname OPERATOR(pg_catalog.=) pg_catalog.current_database())
        """
    }
}
