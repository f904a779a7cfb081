/// Which operators, functions and types a statement means where it names them without their schema.
///
/// They are looked up along the session's `search_path`, in which `pg_catalog` comes first as long as nobody names it:
/// where a role or a database has it named behind another schema, what stands there under the same name with the same
/// types is taken instead.
package enum SearchPath {
    /// For a SELECT: has `pg_catalog` searched first for the rest of the transaction, by no longer naming it. All else
    /// stays, so that what users' triggers name is found where they expect it.
    ///
    /// To name it in front would do for looking up, but things are created in the schema that is named first. In its
    /// place stands `""`, a schema that can't exist. The constants have no backslash, whose meaning is a setting too.
    package static let putSystemCatalogFirst: SQL = """
        pg_catalog.set_config('search_path', pg_catalog.regexp_replace(pg_catalog.current_setting('search_path'), \
        '(?<=^|,)[[:space:]]*("pg_catalog"|pg_catalog)[[:space:]]*(?=,|$)', '""', 'gi'), true)
        """
}
