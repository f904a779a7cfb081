#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A list of hosts is split here, and each host into its addresses. `connect_timeout` applies to each address, but libpq applies it only in its
/// blocking functions, which this module does not use.
extension ConnectionParameters {
    /// The keywords that decide which hosts are tried, and in which order.
    static let hostKeywords = ["host", "hostaddr", "port", "target_session_attrs", "load_balance_hosts"]

    /// The port that libpq uses for an empty element of a list of ports.
    private static let defaultPort = "5432"

    /// One value for each host, in the order in which they are tried. A single value is returned if only libpq can say what is wrong with
    /// the list.
    func attempts() -> [ConnectionParameters] {
        // libpq does this too: a standby is looked for first, and then any server.
        if effectiveValue("target_session_attrs") == "prefer-standby" {
            return ["standby", "any"].flatMap { kind in
                var attempt = self
                attempt["target_session_attrs"] = kind
                return attempt.attempts()
            }
        }
        let hosts = effectiveValue("host").map(splitList)
        let addresses = effectiveValue("hostaddr").map(splitList)
        let ports = effectiveValue("port").map(splitList) ?? []
        let count = max(hosts?.count ?? 1, addresses?.count ?? 1)
        let isConsistent =
            [hosts?.count, addresses?.count].allSatisfy { $0 == nil || $0 == count }
            && (ports.count <= 1 || ports.count == count)
        // libpq takes an empty value of one attempt as none, and would use the whole list of the environment instead.
        let hasEmptyElement = ((hosts ?? []) + (addresses ?? [])).contains("")
        guard count > 1, isConsistent, !hasEmptyElement else { return [self] }
        return inOrder(
            (0..<count).map { index in
                var attempt = self
                attempt["host"] = hosts?[index]
                attempt["hostaddr"] = addresses?[index]
                if ports.count > 1 { attempt["port"] = ports[index].isEmpty ? Self.defaultPort : ports[index] }
                return attempt
            })
    }

    /// One value for each address of this host. `resolve` looks up the addresses of a name.
    func attemptsByAddress(resolve: (String) -> [String]) -> [ConnectionParameters] {
        // Other hosts are folders of a socket, or are addresses already.
        guard let host = effectiveValue("host"), effectiveValue("hostaddr") ?? "" == "",
            !host.isEmpty, !host.hasPrefix("/"), !host.hasPrefix("@")
        else { return [self] }
        let addresses = resolve(host)
        guard addresses.count > 1 else { return [self] }
        return inOrder(
            addresses.map { address in
                var attempt = self
                (attempt["host"], attempt["hostaddr"]) = (host, address)
                return attempt
            })
    }

    private func inOrder(_ attempts: [ConnectionParameters]) -> [ConnectionParameters] {
        effectiveValue("load_balance_hosts") == "random" ? attempts.shuffled() : attempts
    }
}

/// Looks up the addresses of a host, in the system's order. Without a result, libpq will look them up and say what is wrong.
func addresses(of host: String) -> [String] {
    var hints = addrinfo()
    hints.ai_protocol = Int32(IPPROTO_TCP)
    var first: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, nil, &hints, &first) == 0, let first else { return [] }
    defer { freeaddrinfo(first) }
    return sequence(first: first, next: { $0.pointee.ai_next }).compactMap { entry in
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let status = getnameinfo(
            entry.pointee.ai_addr, entry.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
        guard status == 0 else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

func splitList(_ text: String) -> [String] {
    text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
}
