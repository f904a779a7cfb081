import LibPQ

/// Reads the type of a column from the catalog.
extension KeyType {
    /// The columns that ``init(_:from:)`` reads, for a row of `pg_attribute` that is joined with ``source(of:)``.
    package static func columns(of attribute: SQL) -> SQL {
        """
        base.schema_name, base.name, pg_catalog.format_type(\(attribute).atttypid, NULL),
            ARRAY(
                SELECT label.enumlabel::text FROM pg_catalog.pg_enum AS label WHERE label.enumtypid = base.oid
            ) AS labels,
            EXISTS (
                SELECT FROM pg_catalog.pg_collation AS fold
                WHERE fold.oid = \(attribute).attcollation AND NOT fold.collisdeterministic
            ) AS folds,
            base.oid IS DISTINCT FROM \(attribute).atttypid AS is_domain,
            -- The modifier of varchar is four more than the length. -1 means none.
            nullif(greatest(\(attribute).atttypmod, base.modifier), -1) - 4 AS longest
        """
    }

    /// A join with the column's type or, for a domain, with the domain's base type.
    package static func source(of attribute: SQL) -> SQL {
        """
        LEFT JOIN LATERAL (
            WITH RECURSIVE type (oid, base, schema, name, modifier) AS (
                SELECT self.oid, self.typbasetype, self.typnamespace, self.typname, self.typtypmod
                FROM pg_catalog.pg_type AS self WHERE self.oid = \(attribute).atttypid
                UNION ALL
                SELECT self.oid, self.typbasetype, self.typnamespace, self.typname, greatest(type.modifier, self.typtypmod)
                FROM type JOIN pg_catalog.pg_type AS self ON self.oid = type.base
            )
            SELECT type.oid, namespace.nspname::text AS schema_name, type.name::text AS name, type.modifier
            FROM type JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = type.schema
            WHERE type.base = 0::oid
        ) AS base ON true
        """
    }

    /// Reads ``columns(of:)``.
    ///
    /// A nondeterministic collation makes different texts equal. A list would then have several names, and so several locks. So a
    /// column with such a collation can't be a key, and the collation is part of the type's name for people. PostgreSQL has no operators
    /// for domains over enum types, not even `=`.
    ///
    /// - Returns: The key type, nil if the column can't be a key; and the type's name for people, nil if the column does not
    ///   exist.
    package static func read(
        _ row: Row, from column: Int
    ) throws(PostgresError) -> (type: KeyType?, displayed: String?) {
        let names: (schema: String?, name: String?, displayed: String?) = (
            try row.decode(column), try row.decode(column + 1), try row.decode(column + 2)
        )
        guard let schema = names.schema, let name = names.name, let displayed = names.displayed else {
            return (nil, nil)
        }
        let labels = try row.decode(column + 3, as: [String].self)
        if try row.decode(column + 4, as: Bool.self) {
            return (nil, "\(displayed) with a nondeterministic collation")
        }
        if !labels.isEmpty, try row.decode(column + 5, as: Bool.self) {
            return (nil, "\(displayed), a domain over an enum type")
        }
        if !labels.isEmpty { return (.enumeration(.init(schema: schema, name: name, labels: labels)), displayed) }
        guard schema == "pg_catalog" else { return (nil, displayed) }
        if name == "varchar" { return (.varchar(longest: try row.decode(column + 6, as: Int?.self)), displayed) }
        return (KeyType(systemName: name), displayed)
    }
}
