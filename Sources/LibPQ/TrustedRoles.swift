/// The roles whose code the current role may run with its own rights.
///
/// The function `pg_has_role` does not help here, because it is always true for a superuser.
package enum TrustedRoles {
    /// The current role and the roles that were granted to it, as the recursive table `granted` of a WITH RECURSIVE. All names are qualified.
    ///
    /// A role with the ADMIN option on another role can grant that role to a superuser without the superuser's consent.
    /// So a grant to a superuser counts only if a superuser has made it.
    package static let granted = """
        granted AS (
            SELECT role.oid FROM pg_catalog.pg_roles AS role WHERE role.rolname OPERATOR(pg_catalog.=) current_user
            UNION
            SELECT membership.roleid
            FROM granted
            JOIN pg_catalog.pg_auth_members AS membership ON membership.member OPERATOR(pg_catalog.=) granted.oid
            -- Since PostgreSQL 16, the creator of a role may have only the right to administer it. That does not count.
            WHERE coalesce((pg_catalog.to_jsonb(membership) OPERATOR(pg_catalog.->>) 'inherit_option')::pg_catalog.bool
                    OR (pg_catalog.to_jsonb(membership) OPERATOR(pg_catalog.->>) 'set_option')::pg_catalog.bool, true)
                AND EXISTS (
                    SELECT FROM pg_catalog.pg_roles AS own
                    LEFT JOIN pg_catalog.pg_roles AS grantor ON grantor.oid OPERATOR(pg_catalog.=) membership.grantor
                    WHERE own.rolname OPERATOR(pg_catalog.=) current_user AND (NOT own.rolsuper OR grantor.rolsuper))
        )
        """
}
