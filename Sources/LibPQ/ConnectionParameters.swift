internal import CLibPQ

/// The server to connect to and the user to connect as: libpq's connection keywords, see
/// <https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS>.
///
/// Keywords without a value here get one from the service file, the `PG*` variables of the environment, or libpq's
/// defaults, in this order. Printing this value shows ``summary``, never a password.
package struct ConnectionParameters: Sendable {
    /// The keywords that were given, with their values.
    private(set) var values: [String: String] = [:]
    /// How long the server may send nothing while a statement runs before the connection is closed; nil means no limit.
    ///
    /// Choose a value above `statement_timeout`, which ends slow statements. This limit is for answers that never arrive:
    /// the kernel can't notice that if a proxy or pooler keeps its end of the connection open.
    package var answerTimeout: Duration?
    /// A text that is added to the hint if no server answers, for example how to name another server.
    package var adviceWithoutServer: String?

    /// - Parameter url: A URL (`postgresql://user@host:5432/database`) or keywords (`host=… dbname=…`). With nil, all values
    ///   come from the environment.
    /// - Throws: `invalidParameters`. The message repeats no part of `url` that may contain a password.
    package init(url: String? = nil) throws(PostgresError) {
        guard let url else { return }
        guard !url.utf8.contains(0) else { throw invalidParameters("it contains a NUL character") }
        try refuseOtherScheme(url)
        try refuseMisplacedAt(url)
        values = try parse(url)
        try refuseInvalidPort(values)
    }

    /// The value that was given for a keyword; nil if none was given and libpq will choose one.
    package subscript(keyword: String) -> String? {
        get { values[keyword] }
        set { values[keyword] = newValue }
    }

    /// The value that will be used for a keyword, the environment included; nil if the server or libpq decides.
    ///
    /// The settings of a service that is named here by its keyword are unknown, because libpq reads them when it connects.
    package func effectiveValue(_ keyword: String) -> String? {
        values[keyword] ?? environmentDefaults()[keyword]
    }

    /// The values that libpq will use, except for those of a service that is named here by its keyword. To libpq, an empty value is none.
    var effectiveValues: [String: String] {
        environmentDefaults().merging(values.filter { !$0.value.isEmpty }) { $1 }
    }

    /// The statement that gives the user the right to connect. It lacks the names that only libpq knows, from a service.
    var connectCommand: String {
        let user = values["service"] == nil ? effectiveValue("user") : nil
        let database = user.map { effectiveValue("dbname") ?? $0 }
        return """
            GRANT CONNECT ON DATABASE \(database.map(quoteIdentifier) ?? "…") TO \(user.map(quoteIdentifier) ?? "…")
            """
    }

    /// Host, port, database and user as text for people.
    package var summary: String {
        let defaults = environmentDefaults()
        func value(_ keyword: String) -> String? { values[keyword] ?? defaults[keyword] }
        if let service = values["service"] {
            return "service \"\(withoutURL(service))\""
        }
        let user = value("user") ?? "(no user)"
        return summarize(
            host: value("host") ?? value("hostaddr") ?? "(local socket)", port: value("port") ?? "5432",
            database: value("dbname") ?? user, user: user)
    }
}

/// The form in which every message shows where a connection goes.
func summarize(host: String, port: String, database: String, user: String) -> String {
    """
    database "\(withoutURL(database))" at \(withoutURL(host)):\(withoutURL(port)) as user "\(withoutURL(user))"
    """
}

/// A URL, or a list of keywords, may contain a password. No host, port, database, user or service looks like one.
func withoutURL(_ value: String) -> String { isURL(value) ? "…" : value }

func isURL(_ value: String) -> Bool {
    value.contains("://") || value.contains("password=") || value.contains(/:[^\/]*@/)
}

/// Refuses a URL in the place of a single value, such as in PGDATABASE or as `dbname=postgresql://…`. libpq would take it for a name, and repeat
/// it with its password in messages.
func refuseURLs(in values: [String: String]) throws(PostgresError) {
    for keyword in ["host", "hostaddr", "port", "dbname", "user", "service"] where isURL(values[keyword] ?? "") {
        throw PostgresError(
            .invalidParameters, "the connection keyword \(keyword) contains a URL",
            hint: """
                Give the URL alone. Variables such as PGHOST and PGDATABASE, the keywords of a connection and \
                the service file take single values.
                """)
    }
}

extension ConnectionParameters: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { summary }
    package var debugDescription: String { summary }
    /// `dump` shows no secret either.
    package var customMirror: Mirror { Mirror(self, children: ["summary": summary]) }
}

extension ConnectionParameters {
    /// The keywords that libpq gets: the given ones, those that this module needs, and, unless others were set, time-outs
    /// for networks that fail silently.
    ///
    /// The added keywords are either not sent to the server, or accepted by PgBouncer too (`client_encoding`).
    func keywordsForLibpq() -> [(keyword: String, value: String)] {
        var all = values
        // All text is encoded and decoded as UTF-8 here.
        all["client_encoding"] = "UTF8"
        // Only libpq knows the settings of a service, and these must not be overridden.
        if values["service"] == nil {
            let defaults = environmentDefaults()
            for (keyword, value) in Self.networkDefaults where all[keyword] == nil && defaults[keyword] == nil {
                all[keyword] = value
            }
        }
        return all.sorted { $0.key < $1.key }.map { (keyword: $0.key, value: $0.value) }
    }

    /// A server that disappeared silently is noticed after 30 s if data was sent to it, and after 60 s otherwise.
    private static let networkDefaults = [
        ("tcp_user_timeout", "30000"), ("keepalives_idle", "30"), ("keepalives_interval", "10"),
        ("keepalives_count", "3"),
    ]
}

private func invalidParameters(_ reason: String) -> PostgresError {
    PostgresError(
        .invalidParameters, "The connection URL can't be understood: \(reason).",
        hint: """
            It looks like postgresql://user@host:5432/database, or like host=… port=… dbname=… user=…. In a URL, \
            special characters of the user's name and the password are percent-encoded: @ is %40, / is %2F, ? is %3F, \
            % is %25.
            """)
}

/// Refuses the URL of another kind of server.
private func refuseOtherScheme(_ url: String) throws(PostgresError) {
    guard let scheme = url.prefixMatch(of: /([A-Za-z][A-Za-z0-9+.\-]*):\/\//)?.1,
        scheme != "postgresql", scheme != "postgres"
    else { return }
    throw invalidParameters("\(scheme):// is not a URL of PostgreSQL, and Brocot works only with PostgreSQL")
}

/// Refuses a second `@`, and an `@` after the host. Such an `@` is most often part of a password. The rest of the password
/// would be taken for the host or the database, and be shown in messages.
private func refuseMisplacedAt(_ url: String) throws(PostgresError) {
    guard let scheme = ["postgresql://", "postgres://"].first(where: url.hasPrefix) else { return }
    let rest = url.dropFirst(scheme.count)
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    guard authority.count(where: { $0 == "@" }) <= 1, !rest[authority.endIndex...].contains("@") else {
        throw invalidParameters("it has an @ in a wrong place")
    }
}

/// The message does not repeat the port, which may be a piece of a password.
private func refuseInvalidPort(_ values: [String: String]) throws(PostgresError) {
    guard splitList(values["port"] ?? "").allSatisfy({ $0.isEmpty || (UInt16($0) ?? 0) > 0 }) else {
        throw invalidParameters("the port is not a number from 1 to 65535")
    }
}

private func parse(_ url: String) throws(PostgresError) -> [String: String] {
    var message: UnsafeMutablePointer<CChar>?
    guard let options = PQconninfoParse(url, &message) else {
        defer { PQfreemem(message) }
        guard url.contains("=") || url.contains("://") else {
            throw invalidParameters(
                "it is neither a URL nor pairs such as dbname=app. For a database name alone: dbname=NAME")
        }
        let reason = message.map { String(cString: $0) } ?? "there is no memory left"
        if let key = unknownParameter(in: url, reason) {
            throw PostgresError(
                .invalidParameters, "The connection URL can't be understood: libpq has no parameter \"\(key)\".",
                hint: "Give Brocot a URL without it. The program brocot reads BROCOT_DATABASE_URL before DATABASE_URL.")
        }
        throw invalidParameters(harmlessReason(reason))
    }
    defer { PQconninfoFree(options) }
    return dictionary(options)
}

/// The parameter behind the `?` of a URL that libpq's message says it doesn't know; nil if it may be a piece of a password.
private func unknownParameter(in url: String, _ message: String) -> Substring? {
    guard let key = message.firstMatch(of: /^invalid URI query parameter: "([A-Za-z_][A-Za-z0-9_.\-]*)"/)?.1,
        let mark = url.firstIndex(of: "?")
    else { return nil }
    let before = url[..<mark]
    // A password may contain a ? or a &: `//ann:pass?word=…`, where only digits can be a port, or `?password=pass&word=…`.
    guard before.contains("@") || !before.contains(/\/\/[^\/]*:[0-9]*[^\/0-9,]/),
        !url[mark...].lowercased().contains("password")
    else { return nil }
    return key
}

/// libpq's message quotes the wrong part of the URL, which may be a piece of the password. Only the words before the quote
/// are used.
private func harmlessReason(_ message: String) -> String {
    if message.hasPrefix("missing \"=\"") {
        return "a keyword has no value (a value with spaces stands in quotes: password='…')"
    }
    // Scalars, because a quote and a combining accent after it are one character.
    var reason = String(message.unicodeScalars.prefix { $0 != "\"" && $0 != "\n" })
    while let last = reason.last, last.isWhitespace || last == ":" || last == "(" { reason.removeLast() }
    return reason
}

/// The values from the environment, from the service file that it names, and from libpq's defaults.
private func environmentDefaults() -> [String: String] {
    guard let options = PQconndefaults() else { return [:] }
    defer { PQconninfoFree(options) }
    return dictionary(options)
}

/// The options that have a value. An option without a keyword ends libpq's list.
func dictionary(_ options: UnsafeMutablePointer<PQconninfoOption>) -> [String: String] {
    var values: [String: String] = [:]
    var option = options
    while let keyword = option.pointee.keyword {
        if let value = option.pointee.val { values[String(cString: keyword)] = String(cString: value) }
        option += 1
    }
    return values
}
