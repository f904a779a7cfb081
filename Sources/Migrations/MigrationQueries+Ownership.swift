internal import LibPQ

/// Queries for the objects in schema `brocot` and their owners. They read only the system catalogs, so no code of the
/// checked objects runs.
extension MigrationQueries {
    /// Which other roles the current role trusts, so that it may run their code.
    enum Trust {
        /// Superusers, and roles that were granted to the current role. For migrations.
        case grantedRoles
        /// The same roles, and the owners of triggers' functions, except of triggers on the history. For reading, which fires no trigger.
        case grantedRolesAndTriggers
        /// For a superuser, as ``grantedRolesAndTriggers``. Any other role trusts all owners, because it got its rights from them.
        case everybodyUnlessSuperuser
    }

    /// Schema `brocot` and the objects in it with their owners, for the table `object` of a WITH. Indexes, row types and array types are parts
    /// of other objects.
    ///
    /// The server records the schema of each object in `pg_depend`, and its owner in `pg_shdepend`, unless the owner is the bootstrap
    /// superuser, which has the identifier 10. `pg_depend` also has objects of other schemas that name this one, as a constant of type
    /// `regnamespace`: ``isInSchema`` leaves them out.
    static let ownedObjects = """
        SELECT 'pg_namespace'::regclass::oid AS catalog, oid, nspowner AS owner FROM pg_namespace WHERE nspname = 'brocot'
        UNION
        SELECT part.classid, part.objid, coalesce(dependency.refobjid, 10::oid)
        FROM pg_namespace AS space
        JOIN pg_depend AS part
            ON part.refclassid = 'pg_namespace'::regclass AND part.refobjid = space.oid AND part.deptype = 'n'
        LEFT JOIN pg_shdepend AS dependency
            ON dependency.dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
                AND dependency.classid = part.classid AND dependency.objid = part.objid AND dependency.objsubid = 0
                AND dependency.deptype = 'o'
        WHERE space.nspname = 'brocot'
        """

    /// Whether an object that `pg_identify_object` has identified is schema `brocot`, or in it. A trigger has no schema.
    static let isInSchema = """
        (identified.schema = 'brocot' OR object.catalog IN ('pg_namespace'::regclass, 'pg_trigger'::regclass))
        """

    static let isSuperuser: SQL = "SELECT role.rolsuper FROM pg_roles AS role WHERE role.rolname = current_user"

    /// The objects whose owners the current role does not trust, with their owners.
    ///
    /// The owner of an object that a migration uses can run code with the rights of the migrating role. So each owner must be
    /// the current role, a role that it is a member of, or a superuser. A trigger belongs to the owner of its function.
    /// Before the first migration the schema must be empty; its own owner does not matter then.
    static func foreignObjects(trusting trust: Trust = .grantedRoles, isFirstRun: Bool) -> String {
        """
        WITH RECURSIVE \(TrustedRoles.granted), object AS (
            \(ownedObjects)
            UNION ALL
            SELECT 'pg_trigger'::regclass, pg_trigger.oid, proowner
            FROM pg_trigger
            JOIN pg_class ON pg_class.oid = tgrelid\(trust == .grantedRoles ? "" : " AND relname = 'schema_migrations'")
            JOIN pg_namespace ON pg_namespace.oid = relnamespace AND nspname = 'brocot'
            JOIN pg_proc ON pg_proc.oid = tgfoid
            WHERE NOT tgisinternal
        )
        -- A hostile role may have chosen these names. A line feed in a name would forge a line of the message.
        SELECT regexp_replace(identified.type || ' ' || identified.identity, '[[:cntrl:]]', '?', 'g') AS name,
            regexp_replace(owner.rolname::text, '[[:cntrl:]]', '?', 'g') AS owner
        FROM object
        JOIN pg_roles AS owner ON owner.oid = object.owner
        CROSS JOIN LATERAL pg_identify_object(object.catalog, object.oid, 0) AS identified
        WHERE \(isInSchema)
            AND (\(isFirstRun ? "object.catalog <> 'pg_namespace'::regclass OR " : "")NOT owner.rolsuper
                AND NOT EXISTS (SELECT FROM granted WHERE granted.oid = owner.oid))
        ORDER BY object.catalog <> 'pg_namespace'::regclass, name
        """
    }

    /// For scripts, before the first migration: a statement that raises an error if the current role, or one
    /// that it is a member of, has applied migrations already.
    static let refuseOwnSchema = """
        DO $$
        BEGIN
            IF EXISTS (
                WITH RECURSIVE \(TrustedRoles.granted)
                SELECT FROM pg_class AS history
                JOIN pg_namespace AS space ON space.oid = history.relnamespace
                JOIN granted ON granted.oid = history.relowner
                WHERE space.nspname = 'brocot' AND history.relname = 'schema_migrations'
            ) THEN
                RAISE EXCEPTION 'schema brocot exists already'
                    USING ERRCODE = 'object_not_in_prerequisite_state',
                          HINT = 'Run brocot migrate up, and mark this migration as applied.';
            END IF;
        END
        $$;
        """

    /// The same check as ``foreignObjects(trusting:isFirstRun:)`` for scripts: a statement that raises an error with the objects' names.
    static func refuseForeignObjects(isFirstRun: Bool) -> String {
        """
        DO $$
        DECLARE
            found text;
        BEGIN
            SELECT string_agg(format('%s of role %I', foreign_object.name, foreign_object.owner), ', ') INTO found
            FROM (
        \(foreignObjects(isFirstRun: isFirstRun))
            ) AS foreign_object;
            IF found IS NOT NULL THEN
                RAISE EXCEPTION 'schema brocot is not only of this role: %', found
                    USING ERRCODE = 'object_not_in_prerequisite_state',
                          HINT = 'Drop what is not yours. Log in as the role that owns the schema, or grant it to this one, if you trust it.';
            END IF;
        END
        $$;
        """
    }
}
