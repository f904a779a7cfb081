internal import LibPQ

/// The role with which migrations run: the owner of schema `brocot`, where the current role may become it.
extension MigrationQueries {
    /// Makes the schema's owner the role of the transaction. So the objects of all migrations belong to one role, whoever migrates.
    /// The role stays if it may not become the owner, or if the owner is a superuser: functions that run with their owner's rights
    /// must not have those of a superuser.
    ///
    /// The owner may be any role that the current one trusts, so ``foreignObjects(trusting:isFirstRun:)`` comes first.
    static let becomeOwner = """
        DO $$
        DECLARE
            schema_owner name;
            -- Since PostgreSQL 16, a member may lack the right to SET ROLE.
            needed CONSTANT text := CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER' END;
        BEGIN
            SELECT owner.rolname INTO schema_owner
            FROM pg_namespace AS space JOIN pg_roles AS owner ON owner.oid = space.nspowner
            WHERE space.nspname = 'brocot' AND owner.rolname <> current_user AND NOT owner.rolsuper
                -- The server asks what the session's first role may become, which may have more rights than its present one.
                AND pg_has_role(session_user, owner.oid, needed) AND pg_has_role(current_user, owner.oid, needed);
            IF FOUND THEN
                EXECUTE format('SET LOCAL ROLE %I', schema_owner);
            END IF;
        END
        $$;
        """

    /// Whether all of these roles are members of the current one.
    static func areMembers(_ roles: Set<String>) -> SQL {
        """
        SELECT coalesce(bool_and(pg_has_role(role.oid, current_user, 'MEMBER')), false)
        FROM pg_roles AS role WHERE role.rolname = ANY (\(roles.sorted())::text[]::name[])
        """
    }

    /// The objects in the schema that its owner can't change, because other roles own them, with these roles, and the owner's name.
    /// Nothing if the current role is not the schema's owner. The names are as in `ALTER … OWNER TO`, such as `TABLE brocot.items`.
    ///
    /// Objects of extensions are left out: no migration makes any. A column's sequence belongs to the owner of its table.
    static let objectsOfOthers: SQL = """
        WITH object AS (
            \(unsafeRaw: ownedObjects)
        )
        SELECT regexp_replace(
                CASE identified.type WHEN 'composite type' THEN 'TYPE' ELSE upper(identified.type) END || ' ' || identified.identity,
                '[[:cntrl:]]', '?', 'g') AS name,
            regexp_replace(owner.rolname::text, '[[:cntrl:]]', '?', 'g') AS owner, current_user::text AS schema_owner
        FROM object
        JOIN pg_roles AS owner ON owner.oid = object.owner
        JOIN pg_namespace AS space ON space.oid = object.schema AND space.nspname = 'brocot'
        JOIN pg_roles AS schema_owner ON schema_owner.oid = space.nspowner AND schema_owner.rolname = current_user
        CROSS JOIN LATERAL pg_identify_object(object.catalog, object.oid, 0) AS identified
        WHERE object.catalog <> 'pg_namespace'::regclass
            -- The server's own condition for the owner's rights.
            AND NOT pg_has_role(current_user, object.owner, 'USAGE')
            AND NOT EXISTS (
                SELECT FROM pg_depend AS link
                WHERE link.classid = object.catalog AND link.objid = object.oid AND link.objsubid = 0
                    AND (link.deptype = 'e'
                        OR link.deptype IN ('a', 'i') AND link.refclassid = 'pg_class'::regclass AND link.refobjsubid > 0))
        ORDER BY object.catalog <> 'pg_class'::regclass, name
        """
}
