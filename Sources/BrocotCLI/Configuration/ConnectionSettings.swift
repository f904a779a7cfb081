import FoundationEssentials
import LibPQ
import Logging

/// The settings of the connection, with their sources.
struct ConnectionSettings {
    let databaseURL: Setting<String?>

    /// - Throws: ``CommandFailure`` `.usage`, which names the setting and its source.
    init(_ reader: SettingsReader) throws(CommandFailure) {
        // An empty variable counts as not set. An empty option is a mistake, such as a shell variable that is not set.
        databaseURL = try reader.text("database_url", wanted: "a URL that is not empty") { $0.isEmpty ? nil : $0 }
    }

    /// Where to connect. Without a setting, libpq decides. Warns of a password that others can read.
    ///
    /// - Throws: `PostgresError` `invalidParameters`; its message repeats nothing that may be a password.
    func parameters(logger: Logger) throws(PostgresError) -> ConnectionParameters {
        let parameters = try parameters()
        if case .option = databaseURL.source, parameters["password"] != nil {
            logger.warning(
                """
                other users of this machine can read the password in --database-url, in the list of processes; \
                set BROCOT_DATABASE_URL or PGPASSFILE instead
                """)
        }
        return parameters
    }

    /// The same without a warning.
    func parameters() throws(PostgresError) -> ConnectionParameters {
        var parameters = try ConnectionParameters(url: databaseURL.value)
        if namesNothing {
            parameters.adviceWithoutServer = """
                No database is named. Set DATABASE_URL: export DATABASE_URL=postgresql://user@host/name. \
                brocot dev starts a database to try, and prints its URL.
                """
        }
        if parameters["application_name"] == nil { parameters["fallback_application_name"] = "brocot" }
        return parameters
    }

    /// Whether no setting names a server or a database, so that libpq tries its own defaults.
    private var namesNothing: Bool {
        let environment = ProcessInfo.processInfo.environment
        return databaseURL.value == nil
            && ["PGHOST", "PGHOSTADDR", "PGDATABASE", "PGSERVICE"].allSatisfy { (environment[$0] ?? "").isEmpty }
    }
}
