import ArgumentParser
import FoundationEssentials
import LibPQ
import Logging

/// Where the database is.
struct ConnectionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The database, as postgresql://user@host:port/name or libpq keywords.",
            discussion: """
                Else BROCOT_DATABASE_URL, else DATABASE_URL, else libpq's own (PGHOST, PGDATABASE, service file, …), \
                which also fill what the URL leaves out. Others can read a password given here from the process list: \
                better put it into a variable, PGPASSWORD or ~/.pgpass.
                """,
            valueName: "url"))
    var databaseURL: String?

    /// The names of the variables that are read, in this order, where the option is not given.
    static let environmentVariables = ["BROCOT_DATABASE_URL", "DATABASE_URL"]

    /// Where to connect: the option, else the environment.
    ///
    /// - Throws: `PostgresError` `invalidParameters`, without repeating what may be a password.
    func parameters(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(PostgresError) -> ConnectionParameters {
        let candidates = [databaseURL] + Self.environmentVariables.map { environment[$0] }
        return try Self.parameters(url: candidates.compactMap(\.self).first { !$0.isEmpty })
    }

    /// Where to connect by this URL; nil leaves everything to libpq.
    ///
    /// - Throws: `PostgresError` `invalidParameters`, without repeating what may be a password.
    static func parameters(url: String?) throws(PostgresError) -> ConnectionParameters {
        var parameters = try ConnectionParameters(url: url)
        if parameters["application_name"] == nil {
            parameters["fallback_application_name"] = "brocot"
        }
        return parameters
    }

    /// Where to connect. Warns of a password that others can read.
    func parameters(logger: Logger) throws(PostgresError) -> ConnectionParameters {
        let parameters = try parameters()
        if let databaseURL, !databaseURL.isEmpty { Self.warn(ofPasswordIn: parameters, logger: logger) }
        return parameters
    }

    /// Where a password stands on the command line, everybody can read it.
    static func warn(ofPasswordIn parameters: ConnectionParameters, logger: Logger) {
        guard parameters["password"] != nil else { return }
        logger.warning(
            """
            everybody who can list this machine's processes can read the password in --database-url; \
            set BROCOT_DATABASE_URL or PGPASSFILE instead
            """)
    }

    /// Opens one connection.
    func connect(logger: Logger) async throws(PostgresError) -> Connection {
        try await Connection.connect(parameters(logger: logger), logger: logger)
    }
}
