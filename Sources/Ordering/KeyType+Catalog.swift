import LibPQ

/// Reads the type of a column from the catalog.
extension KeyType {
    /// The columns that ``read(_:from:)`` reads.
    private enum CatalogColumn: Int, CaseIterable {
        /// The schema and the name of the base type; NULL if the column does not exist.
        case schema, name
        /// The type's name for people; NULL if the column does not exist.
        case displayedName
        /// The labels of an enum type.
        case labels
        case hasNondeterministicCollation
        case isDomain
        /// The greatest number of characters of a varchar; NULL if there is no limit.
        case longest

        func expression(of attribute: SQL) -> SQL {
            switch self {
            case .schema: "base.schema_name"
            case .name: "base.name"
            case .displayedName: "pg_catalog.format_type(\(attribute).atttypid, NULL)"
            case .labels:
                """
                ARRAY(
                    SELECT label.enumlabel::text FROM pg_catalog.pg_enum AS label WHERE label.enumtypid = base.oid
                ) AS labels
                """
            case .hasNondeterministicCollation:
                """
                EXISTS (
                    SELECT FROM pg_catalog.pg_collation AS used_collation
                    WHERE used_collation.oid = \(attribute).attcollation AND NOT used_collation.collisdeterministic
                ) AS has_nondeterministic_collation
                """
            case .isDomain: "base.oid IS DISTINCT FROM \(attribute).atttypid AS is_domain"
            // The modifier of varchar is four more than the length. -1 means none.
            case .longest: "nullif(greatest(\(attribute).atttypmod, base.modifier), -1) - 4 AS longest"
            }
        }
    }

    /// The columns that ``read(_:from:)`` reads, for a row of `pg_attribute` that is joined with ``source(of:)``.
    package static func columns(of attribute: SQL) -> SQL {
        CatalogColumn.allCases.map { $0.expression(of: attribute) }.joined(separator: ",\n")
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

    /// Reads ``columns(of:)``. `first` is the number of the first of them in the row, counted from 0.
    ///
    /// A nondeterministic collation makes different texts equal. A list would then have several names, and so several locks. So a
    /// column with such a collation can't be a key, and the collation is part of the type's name for people. PostgreSQL has no operators
    /// for domains over enum types, not even `=`.
    ///
    /// - Returns: The key type, nil if the column can't be a key; and the type's name for people, nil if the column does not
    ///   exist.
    package static func read(
        _ row: Row, from first: Int
    ) throws(PostgresError) -> (type: KeyType?, displayed: String?) {
        typealias Column = CatalogColumn
        let schema = try row.decode(Column.schema, from: first, as: String?.self)
        let name = try row.decode(Column.name, from: first, as: String?.self)
        let displayed = try row.decode(Column.displayedName, from: first, as: String?.self)
        guard let schema, let name, let displayed else { return (nil, nil) }
        let labels = try row.decode(Column.labels, from: first, as: [String].self)
        if try row.decode(Column.hasNondeterministicCollation, from: first) {
            return (nil, "\(displayed) with a nondeterministic collation")
        }
        if !labels.isEmpty, try row.decode(Column.isDomain, from: first) {
            return (nil, "\(displayed), a domain over an enum type")
        }
        if !labels.isEmpty { return (.enumeration(.init(schema: schema, name: name, labels: labels)), displayed) }
        guard schema == "pg_catalog" else { return (nil, displayed) }
        if name == "varchar" { return (.varchar(longest: try row.decode(Column.longest, from: first)), displayed) }
        return (KeyType(systemName: name), displayed)
    }
}
