internal import LibPQ

/// The SQL with which migrations are kept account of. What `up` runs and what `plan --sql` prints is the same text.
///
/// All of it runs with `search_path = pg_catalog`, but for what stands alone (``isStandby``, ``version``).
enum MigrationQueries {
    /// The advisory lock under which migrations are applied: the first eight bytes of SHA-256 of `brocot.migrate`.
    static let lockKey: Int64 = 1122106802429718329

    /// Begins a migration's transaction. The isolation level is said, because a snapshot that is older than the lock
    /// would not show what another migrator has just applied.
    static let begin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;"

    /// The settings of a migration's transaction: those of the role or the database could change what the files mean,
    /// or end them halfway.
    static func settings(lockTimeout: Duration) -> String {
        """
        SET LOCAL search_path = pg_catalog, pg_temp;
        SET LOCAL standard_conforming_strings = on;
        SET LOCAL check_function_bodies = on;
        SET LOCAL statement_timeout = 0;
        SET LOCAL idle_in_transaction_session_timeout = 0;
        SET LOCAL lock_timeout = \(max(1, lockTimeout.milliseconds));
        SET LOCAL client_min_messages = warning;
        """
    }

    /// Only tries: a lock that is waited for shows nobody who waits, and for how long.
    static let tryLock: SQL = "SELECT pg_try_advisory_xact_lock(\(lockKey))"

    /// Who has the lock. `objsubid` 1 is what marks a key of one bigint, whose halves are the other two columns.
    static let lockHolders: SQL = """
        SELECT l.pid
        FROM pg_locks AS l
        WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
            AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
            AND l.classid::bigint = \(lockKey >> 32) AND l.objid::bigint = \(lockKey & 0xFFFF_FFFF)
        """

    /// The schema may be there, made by an administrator for a role that can't make one.
    static let createSchema = """
        DO $$
        BEGIN
            IF to_regnamespace('brocot') IS NULL THEN
                CREATE SCHEMA brocot;
            END IF;
        END
        $$;
        """

    /// Before the first migration, in the schema.
    static let createHistory = """
        CREATE TABLE brocot.schema_migrations (
            version    integer PRIMARY KEY,
            name       text NOT NULL,
            checksum   text NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            duration   interval NOT NULL
        );
        COMMENT ON TABLE brocot.schema_migrations IS 'The migrations that made this schema.';
        COMMENT ON COLUMN brocot.schema_migrations.checksum IS 'SHA-256 of the file''s text in UTF-8, in hexadecimal.';
        COMMENT ON COLUMN brocot.schema_migrations.duration IS 'How long the migration''s transaction took.';
        """

    static let isStandby: SQL = "SELECT pg_catalog.pg_is_in_recovery()"

    /// Read from the catalog by the statement's own snapshot, which is younger than the lock. `to_regclass` asks the
    /// session's cache of names, which remembers that a name was missing until the session next locks a relation or
    /// begins a transaction: getting an advisory lock brings it no news of what another migrator has just made.
    ///
    /// What has the history's name and not its columns is none.
    static let historyExists: SQL = """
        SELECT EXISTS (
            SELECT FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
            WHERE n.nspname = 'brocot' AND c.relname = 'schema_migrations' AND c.relkind = 'r'
                AND 5 = (
                    SELECT count(*) FROM pg_attribute AS a
                    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
                        AND a.attname IN ('version', 'name', 'checksum', 'applied_at', 'duration')))
        """

    static let version: SQL = "SELECT coalesce(pg_catalog.max(version), 0) FROM brocot.schema_migrations"

    /// A row of the history as ``AppliedMigration`` reads it.
    static let columns: SQL = """
        version, name, checksum, applied_at,
        (extract(epoch FROM duration) * 1000000)::bigint AS microseconds
        """

    static let history: SQL = "SELECT \(columns) FROM brocot.schema_migrations"

    /// In the order of the texts. The server computes them, which spares the binary a library.
    static func checksums(of texts: [String]) -> SQL {
        """
        SELECT encode(sha256(convert_to(text, 'UTF8')), 'hex')
        FROM unnest(\(texts)) WITH ORDINALITY AS file (text, number)
        ORDER BY number
        """
    }

    static func recordApplied(_ migration: Migration, checksum: String) -> SQL {
        """
        INSERT INTO brocot.schema_migrations (version, name, checksum, duration)
        VALUES (\(unsafeRaw: "\(migration.version)"), \(literal: migration.name), \(literal: checksum),
            clock_timestamp() - transaction_timestamp())
        """
    }
}
