import LibPQ

/// A function in schema `brocot` that triggers of one order call.
struct TriggerFunction {
    let name: String
    let body: String
    let comment: String
    /// Whether it runs with its owner's rights.
    var isSecurityDefiner = false
    /// The settings with which it runs, as SQL: for example `search_path = pg_catalog, pg_temp`.
    var settings: [String] = []

    /// The statements that create or replace the function. EXECUTE is revoked from PUBLIC: a role that makes a trigger
    /// with the function could request moves with the owner's rights.
    var statements: [String] {
        let function = "brocot.\(quoteIdentifier(name))()"
        let options = (isSecurityDefiner ? ["SECURITY DEFINER"] : []) + settings.map { "SET \($0)" }
        return [
            """
            CREATE OR REPLACE FUNCTION \(function) RETURNS trigger LANGUAGE plpgsql \(options.map { "\($0) " }.joined())\
            AS \(quoteLiteral(body))
            """,
            "REVOKE ALL ON FUNCTION \(function) FROM PUBLIC",
            "COMMENT ON FUNCTION \(function) IS \(quoteLiteral(comment))",
        ]
    }

    /// The same function as the catalog describes it.
    var description: TableDescription.Function {
        TableDescription.Function(
            body: body, isSecurityDefiner: isSecurityDefiner,
            settings: Set(settings.map { $0.replacing(" = ", with: "=").replacing("'", with: "") }))
    }
}
