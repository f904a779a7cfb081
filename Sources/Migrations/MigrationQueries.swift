internal import LibPQ

/// The SQL that records migrations. `up` runs the same text that `plan --sql` prints.
///
/// All statements run with `search_path = pg_catalog, pg_temp`.
enum MigrationQueries {
    /// Begins a migration's transaction. The isolation level is explicit, because a snapshot that is older than the lock
    /// would not show what another migrator has just applied.
    static let begin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;"

    /// The settings of a migration's transaction. The settings of the role or the database could change the meaning of the
    /// files, or stop a migration before its end. The files are UTF-8, whatever the client's encoding is.
    /// `lockTimeout` limits the wait of each statement for a lock.
    static func settings(lockTimeout: Duration) -> String {
        """
        SET LOCAL client_encoding = 'UTF8';
        SET LOCAL search_path = pg_catalog, pg_temp;
        SET LOCAL standard_conforming_strings = on;
        SET LOCAL check_function_bodies = on;
        SET LOCAL plpgsql.extra_errors = 'none';
        SET LOCAL plpgsql.extra_warnings = 'none';
        SET LOCAL statement_timeout = 0;
        DO $$
        BEGIN
            IF current_setting('transaction_timeout', true) IS NOT NULL THEN
                SET LOCAL transaction_timeout = 0;
            END IF;
        END
        $$;
        -- A program that was stopped must not keep its locks for ever. No transaction waits for a person.
        SET LOCAL idle_in_transaction_session_timeout = '60s';
        SET LOCAL lock_timeout = \(max(1, lockTimeout.milliseconds));
        SET LOCAL client_min_messages = warning;
        """
    }

    /// Creates the schema unless it exists: an administrator may have created it for a role without that right.
    static let createSchema = """
        DO $$
        BEGIN
            IF to_regnamespace('brocot') IS NULL THEN
                CREATE SCHEMA brocot;
            END IF;
        END
        $$;
        """

    /// Creates the history, before the first migration.
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

    /// Whether the history exists. The query reads the catalog with the statement's own snapshot, which is newer than the
    /// lock. `to_regclass` would read the session's cache of names, which is not refreshed by taking an advisory lock: it
    /// could still miss the table that another migrator has just created.
    ///
    /// A table with the history's name but without its columns does not count.
    static let historyExists: SQL = """
        SELECT EXISTS (
            SELECT FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
            WHERE n.nspname = 'brocot' AND c.relname = 'schema_migrations' AND c.relkind = 'r'
                AND 5 = (
                    SELECT count(*) FROM pg_attribute AS a
                    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
                        AND a.attname IN ('version', 'name', 'checksum', 'applied_at', 'duration')))
        """

    static let version: SQL = "SELECT coalesce(max(version), 0) FROM brocot.schema_migrations"

    /// For scripts: a statement that raises an error unless this version is the latest one that was applied.
    static func refuseAllVersions(but version: Int) -> String {
        """
        DO $$
        DECLARE
            found integer := 0;
        BEGIN
            IF to_regclass('brocot.schema_migrations') IS NOT NULL THEN
                SELECT coalesce(max(version), 0) INTO found FROM brocot.schema_migrations;
            END IF;
            IF found <> \(version) THEN
                RAISE EXCEPTION 'this part of the script begins after migration \(version), and the database is at %', found
                    USING ERRCODE = 'object_not_in_prerequisite_state', HINT = CASE
                        WHEN found > \(version)
                        THEN 'Run brocot migrate up. In a migration tool, mark this migration as applied afterwards.'
                        ELSE 'Print the script again for this database: brocot migrate plan --sql'
                    END;
            END IF;
        END
        $$;
        """
    }

    /// The columns of the history, which ``AppliedMigration`` reads by their names.
    static let columns: SQL = """
        version, name, checksum, applied_at,
        (extract(epoch FROM duration) * 1000000)::bigint AS microseconds
        """

    static let history: SQL = "SELECT \(columns) FROM brocot.schema_migrations"

    /// The checksums of the texts, in their order. The server computes them, so that the binary needs no library for it.
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
