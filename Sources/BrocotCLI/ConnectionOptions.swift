import Administration
import ArgumentParser
import LibPQ
import Logging

/// The options of the connection, for every command that needs a database.
struct ConnectionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The database, as postgresql://user@host:port/name or libpq keywords.",
            discussion: """
                Without it: BROCOT_DATABASE_URL, else DATABASE_URL, else database_url in the settings file, else libpq's own \
                settings (PGHOST, PGDATABASE, service file, …). libpq's settings also add the values that a URL leaves out. \
                Other users of this machine can read a password given here in the process list. Put the password into one of these \
                variables, PGPASSWORD or ~/.pgpass instead.
                """,
            valueName: "url"))
    var databaseURL: String?

    @OptionGroup var settings: SettingsOptions

    /// The connection's parameters, and the logger.
    ///
    /// - Throws: ``CommandFailure`` `.usage`, or `PostgresError` `invalidParameters`. Neither repeats anything that may be a
    ///   password.
    func resolve() throws -> (parameters: ConnectionParameters, logger: Logger) {
        let reader = try settings.reader(["database_url": .option(databaseURL)])
        let logger = try LogSettings(reader).makeLogger()
        return (try ConnectionSettings(reader).parameters(logger: logger), logger)
    }

    /// The limit for the answers of commands that read only a little.
    static let answerTimeoutOfReaders = Duration.seconds(30)

    /// The limit for the answers of commands that change the queue. It is longer than such a command waits for a lock.
    static let answerTimeoutOfQueue = TransactionSettings.lockTimeoutOfQueue * 2

    /// Opens one connection, with this limit for each answer: see `ConnectionParameters.answerTimeout`.
    func connect(answerTimeout: Duration? = nil) async throws -> Connection {
        var (parameters, logger) = try resolve()
        parameters.answerTimeout = answerTimeout
        return try await Connection.connect(parameters, logger: logger)
    }

    /// Connects, and runs `body`, which writes to the schema of this version. It needs the rights of this kind of role: see
    /// ``Connection/advisingGrant(_:_:)``.
    func changing<Value>(
        as kind: RoleKind, answerTimeout: Duration? = answerTimeoutOfQueue, _ body: (Connection) async throws -> Value
    ) async throws -> Value {
        let database = try await connect(answerTimeout: answerTimeout)
        return try await database.advisingGrant(kind) {
            try await database.requireWritable()
            try await database.requireSchemaForWriting()
            return try await body(database)
        }
    }
}
