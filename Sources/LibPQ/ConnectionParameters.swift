internal import CLibPQ

/// Where to connect and as whom: libpq's connection keywords, as in
/// <https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS>.
///
/// What is not given here comes from the service file, the `PG*` environment and libpq's own defaults, in that order.
/// Printing the value shows ``summary``, never a password.
package struct ConnectionParameters: Sendable {
    /// Only what was given.
    private(set) var values: [String: String] = [:]
    /// How long the server may be silent while a statement runs before the connection is given up; nil: for ever.
    ///
    /// Longer than `statement_timeout`: that ends a slow statement, and this is for answers that never arrive, which the
    /// kernel can't notice where a proxy or a pooler keeps its end of the connection open.
    package var answerTimeout: Duration?

    /// - Parameter url: A URL (`postgresql://user@host:5432/database`) or keywords (`host=… dbname=…`); nil leaves
    ///   everything to the environment.
    /// - Throws: `invalidParameters`. The message repeats no part of `url` that may hold a password.
    package init(url: String? = nil) throws(PostgresError) {
        guard let url else { return }
        guard !url.utf8.contains(0) else { throw invalidParameters("it contains a NUL character") }
        try refuseOtherScheme(url)
        try refuseMisplacedAt(url)
        values = try parse(url)
        try refuseSuspiciousParts(values)
    }

    /// A keyword's value as it was given: nil where libpq fills the gap.
    package subscript(keyword: String) -> String? {
        get { values[keyword] }
        set { values[keyword] = newValue }
    }

    /// What will be used, including the environment's part; nil where the server or libpq decide.
    ///
    /// A service that is named here by its keyword is read by libpq only as it connects.
    func effectiveValue(_ keyword: String) -> String? {
        values[keyword] ?? environmentDefaults()[keyword]
    }

    /// Host, port, database and user, for people.
    package var summary: String {
        let defaults = environmentDefaults()
        func value(_ keyword: String) -> String? { values[keyword] ?? defaults[keyword] }
        if let service = values["service"] {
            return "service \"\(service)\""
        }
        let user = value("user") ?? "(no user)"
        return summarize(
            host: value("host") ?? value("hostaddr") ?? "(local socket)", port: value("port") ?? "5432",
            database: value("dbname") ?? user, user: user)
    }
}

/// The one form in which places to connect to are shown.
func summarize(host: String, port: String, database: String, user: String) -> String {
    "database \"\(database)\" at \(host):\(port) as user \"\(user)\""
}

extension ConnectionParameters: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { summary }
    package var debugDescription: String { summary }
    /// So that `dump` shows no secret either.
    package var customMirror: Mirror { Mirror(self, children: ["summary": summary]) }
}

extension ConnectionParameters {
    /// What is handed to libpq: the given keywords, those that this module relies on, and time-outs for dead networks
    /// where nobody set others.
    ///
    /// Only keywords that stay on this side, or that PgBouncer accepts too (`client_encoding`).
    func keywordsForLibpq() -> [(keyword: String, value: String)] {
        var all = values
        // Every text codec here is UTF-8.
        all["client_encoding"] = "UTF8"
        // A service's settings are known only to libpq, and must not be overridden.
        if values["service"] == nil {
            let defaults = environmentDefaults()
            for (keyword, value) in Self.networkDefaults where all[keyword] == nil && defaults[keyword] == nil {
                all[keyword] = value
            }
        }
        return all.sorted { $0.key < $1.key }.map { (keyword: $0.key, value: $0.value) }
    }

    /// A peer that is gone without a word is noticed after 30 s of unanswered data, or 60 s of silence.
    private static let networkDefaults = [
        ("tcp_user_timeout", "30000"), ("keepalives_idle", "30"), ("keepalives_interval", "10"),
        ("keepalives_count", "3"),
    ]

    /// One value per host, in the order of the list, since `connect_timeout` is per host and only who knows where one
    /// host ends can move on to the next.
    ///
    /// A single value where libpq alone knows the list (a service), or needs all of it (`prefer-standby` goes through
    /// it twice).
    func attempts() -> [ConnectionParameters] {
        let hosts = effectiveValue("host").map(splitList)
        let addresses = effectiveValue("hostaddr").map(splitList)
        let ports = effectiveValue("port").map(splitList) ?? []
        let count = max(hosts?.count ?? 1, addresses?.count ?? 1)
        let isConsistent =
            [hosts?.count, addresses?.count].allSatisfy { $0 == nil || $0 == count }
            && (ports.count <= 1 || ports.count == count)
        guard count > 1, isConsistent, values["service"] == nil,
            effectiveValue("target_session_attrs") != "prefer-standby"
        else { return [self] }
        return (0..<count).map { index in
            var attempt = self
            attempt["host"] = hosts?[index]
            attempt["hostaddr"] = addresses?[index]
            if ports.count > 1 { attempt["port"] = ports[index] }
            return attempt
        }
    }
}

private func splitList(_ text: String) -> [String] {
    text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
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

/// The URL of another kind of server.
private func refuseOtherScheme(_ url: String) throws(PostgresError) {
    guard let scheme = url.prefixMatch(of: /([A-Za-z][A-Za-z0-9+.\-]*):\/\//)?.1,
        scheme != "postgresql", scheme != "postgres"
    else { return }
    throw invalidParameters("\(scheme):// is not PostgreSQL's scheme, and Brocot works with PostgreSQL only")
}

/// A second `@`, or one after the host, is most often a password's, of which the rest would be taken for the host or the
/// database and shown in messages.
private func refuseMisplacedAt(_ url: String) throws(PostgresError) {
    guard let scheme = ["postgresql://", "postgres://"].first(where: url.hasPrefix) else { return }
    let rest = url.dropFirst(scheme.count)
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    guard authority.count(where: { $0 == "@" }) <= 1, !rest[authority.endIndex...].contains("@") else {
        throw invalidParameters("it has an @ where none can be")
    }
}

/// What is left of the same mistakes after parsing: never echo a part that may come from a password.
private func refuseSuspiciousParts(_ values: [String: String]) throws(PostgresError) {
    if let port = values["port"] {
        let ports = splitList(port)
        guard ports.allSatisfy({ $0.isEmpty || UInt16($0) != nil }) else {
            throw invalidParameters("the port is not a number from 1 to 65535")
        }
    }
}

private func parse(_ url: String) throws(PostgresError) -> [String: String] {
    var message: UnsafeMutablePointer<CChar>?
    guard let options = PQconninfoParse(url, &message) else {
        defer { PQfreemem(message) }
        throw invalidParameters(harmlessReason(message.map { String(cString: $0) } ?? "there is no memory left"))
    }
    defer { PQconninfoFree(options) }
    return dictionary(options)
}

/// libpq quotes the offending part, which may be a piece of the password: only its own words before that are passed on.
private func harmlessReason(_ message: String) -> String {
    if message.hasPrefix("missing \"=\"") {
        return "a keyword has no value (a value with spaces stands in quotes: password='…')"
    }
    var reason = message.prefix { $0 != "\"" && $0 != "\n" }
    while let last = reason.last, last.isWhitespace || last == ":" || last == "(" { reason.removeLast() }
    return String(reason)
}

/// What the environment, the service file that it names and libpq's own defaults say.
private func environmentDefaults() -> [String: String] {
    guard let options = PQconndefaults() else { return [:] }
    defer { PQconninfoFree(options) }
    return dictionary(options)
}

/// The options that have a value, up to the one without a keyword, which ends the list.
func dictionary(_ options: UnsafeMutablePointer<PQconninfoOption>) -> [String: String] {
    var values: [String: String] = [:]
    var option = options
    while let keyword = option.pointee.keyword {
        if let value = option.pointee.val { values[String(cString: keyword)] = String(cString: value) }
        option += 1
    }
    return values
}
