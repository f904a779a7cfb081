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
        let url = candidates.compactMap(\.self).first { !$0.isEmpty }
        var parameters = try ConnectionParameters(url: url)
        if parameters["application_name"] == nil {
            parameters["fallback_application_name"] = "brocot"
        }
        return parameters
    }

    /// Opens one connection.
    func connect(logger: Logger) async throws(PostgresError) -> Connection {
        try await Connection.connect(parameters(), logger: logger)
    }
}
