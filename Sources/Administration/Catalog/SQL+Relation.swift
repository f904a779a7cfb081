import LibPQ

extension SQL {
    /// The object identifier of a relation; NULL if there is none.
    ///
    /// `to_regclass` raises an error for a schema that the current role may not use. All names are qualified.
    ///
    /// - Parameters:
    ///   - schema: The name of the schema, as an expression.
    ///   - name: The name of the relation, as an expression.
    /// - Returns: A scalar subquery.
    static func relation(schema: SQL, name: SQL) -> SQL {
        """
        (SELECT looked_up.oid
            FROM pg_catalog.pg_class AS looked_up
            JOIN pg_catalog.pg_namespace AS its_schema ON its_schema.oid OPERATOR(pg_catalog.=) looked_up.relnamespace
            WHERE looked_up.relname OPERATOR(pg_catalog.=) (\(name))::pg_catalog.name
                AND its_schema.nspname OPERATOR(pg_catalog.=) (\(schema))::pg_catalog.name)
        """
    }

    /// The object identifier of the table of the registry's row `registered`; NULL if there is none.
    static let registeredRelation = relation(schema: "registered.schema_name", name: "registered.table_name")
}
