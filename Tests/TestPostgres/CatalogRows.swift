/// Statements that make thousands of functions and operators as rows of the catalog: CREATE FUNCTION and CREATE OPERATOR take ten times
/// as long for each.
///
/// These objects have no rows in `pg_depend`. So a type that they use can be dropped, and dropping the schema does not
/// drop them.
enum CatalogRows {
    /// The setting that a superuser must make first.
    static let permission = "SET allow_system_table_mods = on;"

    /// Makes copies of a function without arguments, in the same schema, with other names and arguments.
    ///
    /// - Parameters:
    ///   - pattern: The name of that function, with its schema. The new ones get its body, its result and its owner.
    ///   - wanted: A query for the names and the types of the arguments, as `oid[]`. Nothing may come twice, or be there already.
    /// - Returns: The statement, with a semicolon.
    static func functions(like pattern: String, _ wanted: String) -> String {
        """
        INSERT INTO pg_proc (
            oid, proname, pronamespace, proowner, prolang, procost, prorows, provariadic, prosupport, prokind, prosecdef, proleakproof,
            proisstrict, proretset, provolatile, proparallel, pronargs, pronargdefaults, prorettype, proargtypes, prosrc)
        SELECT pg_nextoid('pg_proc', 'oid', 'pg_proc_oid_index'), wanted.name, pronamespace, proowner, prolang, procost, prorows, provariadic,
            prosupport, prokind, prosecdef, proleakproof, proisstrict, proretset, provolatile, proparallel, cardinality(wanted.arguments),
            pronargdefaults, prorettype, array_to_string(wanted.arguments, ' ')::oidvector, prosrc
        FROM (\(wanted)) AS wanted (name, arguments) JOIN pg_proc ON pg_proc.oid = '\(pattern)'::regproc;
        """
    }

    /// Makes operators that call functions of one name, which have exactly their types.
    ///
    /// - Parameters:
    ///   - name: The name of those functions, without their schema.
    ///   - schema: The schema of the functions, where the operators shall be, too.
    ///   - wanted: A query for the names, and the types of both operands. Nothing may come twice, or be there already.
    /// - Returns: The statement, with a semicolon.
    static func operators(calling name: String, in schema: String, _ wanted: String) -> String {
        """
        INSERT INTO pg_operator (
            oid, oprname, oprnamespace, oprowner, oprkind, oprcanmerge, oprcanhash, oprleft, oprright, oprresult, oprcom, oprnegate, oprcode,
            oprrest, oprjoin)
        SELECT pg_nextoid('pg_operator', 'oid', 'pg_operator_oid_index'), wanted.name, pronamespace, proowner, 'b', false, false,
            wanted.lower, wanted.upper, prorettype, 0, 0, pg_proc.oid, 0, 0
        FROM (\(wanted)) AS wanted (name, lower, upper) JOIN pg_proc
            ON proname = '\(name)' AND pronamespace = '\(schema)'::regnamespace
                AND proargtypes = concat(wanted.lower::oid, ' ', wanted.upper::oid)::oidvector;
        """
    }
}
