import TestLimit
import Testing

@testable import LibPQ

@Suite("Parameters of connections", .usualTimeLimit) struct ConnectionParametersTests {
    @Test(
        "A URL and keywords give the same parameters",
        arguments: [
            "postgresql://ann:s3cret@db.example:6000/app?application_name=x",
            "postgres://ann:s3cret@db.example:6000/app?application_name=x",
            "host=db.example port=6000 dbname=app user=ann password='s3cret' application_name=x",
        ])
    func urlAndKeywords(_ url: String) throws {
        let parameters = try ConnectionParameters(url: url)
        #expect(parameters["host"] == "db.example")
        #expect(parameters["port"] == "6000")
        #expect(parameters["dbname"] == "app")
        #expect(parameters["user"] == "ann")
        #expect(parameters["password"] == "s3cret")
        #expect(parameters["application_name"] == "x")
        #expect(parameters["sslmode"] == nil)
    }

    @Test("No printed form of the parameters contains the password") func printsNoPassword() throws {
        let parameters = try ConnectionParameters(url: "postgresql://ann:s3cret@db.example:6000/app")
        var dumped = ""
        dump(parameters, to: &dumped)
        for text in ["\(parameters)", String(reflecting: parameters), dumped, parameters.summary] {
            #expect(!text.contains("s3cret"))
            #expect(text.contains("database \"app\" at db.example:6000 as user \"ann\""))
        }
    }

    /// libpq's messages quote what it could not read.
    @Test(
        "An error message about an invalid URL does not repeat the URL",
        arguments: [
            "postgresql://ann:s3%ZZcret@db/app", "postgresql://ann:s3/cret@db/app", "postgresql://ann:12/cret@db/app",
            "postgresql://ann:s3@cret@db/app", "postgresql://ann:s3?cret@db/app", "postgresql://ann:s3%00cret@db/app",
            "postgresql://db?password=s3@cret", "postgresql://db/app?password=s3&cret",
            "postgresql://db/app?password=s3=cret", "postgresql://db/app?password=s3&cret=1",
            "postgresql://ann:s3?cret=1",
            "postgresql://ann:12s3?cret=1", "postgresql://ann@db/app?schema=s3cret",
            "postgresql://ann:s3cret@db:s3cret/app", "postgresql://[s3cret", "postgresql://[::1]s3cret/app",
            "password=s3 cret", "password=s3 cret=1", "password='s3cret", "host=db port=s3cret", "s3cret",
            "postgresql://ann:s3\u{0}cret@db/app",
        ])
    func repeatsNoURL(_ url: String) throws {
        let error = try #require(throws: PostgresError.self) { try ConnectionParameters(url: url) }
        #expect(error.code == .invalidParameters)
        #expect(error.message.hasPrefix("The connection URL can't be understood: "))
        for text in [error.description, error.debugDescription] {
            #expect(!text.contains("s3") && !text.contains("cret"), "\(text)")
        }
    }

    @Test(
        "An error names a parameter that libpq doesn't have, and what to do about it",
        arguments: [
            "postgresql://ann:s3cret@db/app?schema=public", "postgresql://db:6000/app?connect_timeout=5&schema=s3cret",
            "postgres://one:1,two:2/app?schema=public",
        ])
    func unknownParameter(_ url: String) throws {
        let error = try #require(throws: PostgresError.self) { try ConnectionParameters(url: url) }
        #expect(error.code == .invalidParameters)
        #expect(error.message == #"The connection URL can't be understood: libpq has no parameter "schema"."#)
        #expect(
            error.hint
                == "Give Brocot a URL without it. The program brocot reads BROCOT_DATABASE_URL before DATABASE_URL.")
    }

    @Test("A password with percent-encoded characters is decoded") func percentEncodedPassword() throws {
        let parameters = try ConnectionParameters(url: "postgresql://ann:p%40%2F%3F%3A%25@db/app")
        #expect(parameters["password"] == "p@/?:%")
        #expect(parameters["host"] == "db")
    }

    @Test("The encoding is always UTF-8, and keepalive defaults apply unless the caller sets others")
    func defaultsOfParameters() throws {
        var parameters = try ConnectionParameters(url: "host=db client_encoding=LATIN1 keepalives_idle=7")
        func sent(_ keyword: String) -> [String] {
            parameters.keywordsForLibpq().filter { $0.keyword == keyword }.map(\.value)
        }
        #expect(sent("client_encoding") == ["UTF8"])
        #expect(sent("keepalives_idle") == ["7"])
        #expect(sent("tcp_user_timeout") == ["30000"])
        parameters["service"] = "app"
        #expect(sent("tcp_user_timeout") == [])
    }

    @Test("A list of hosts becomes one attempt for each host") func attemptForEachHost() throws {
        let parameters = try ConnectionParameters(url: "postgresql://ann@one:1,two:2,three:3/app")
        #expect(parameters.attempts().map { $0["host"] } == ["one", "two", "three"])
        #expect(parameters.attempts().map { $0["port"] } == ["1", "2", "3"])
        let twoOfThree = try ConnectionParameters(url: "postgresql://one,two:2,three/app")
        #expect(twoOfThree.attempts().map { $0["port"] } == ["5432", "2", "5432"])
        let noPort = try ConnectionParameters(url: "postgresql://one,two/app")
        #expect(noPort.attempts().map { $0["host"] } == ["one", "two"])
        let samePort = try ConnectionParameters(url: "host=one,two hostaddr=10.0.0.1,10.0.0.2 port=7")
        #expect(samePort.attempts().map { $0["hostaddr"] } == ["10.0.0.1", "10.0.0.2"])
        #expect(samePort.attempts().map { $0["port"] } == ["7", "7"])
    }

    @Test("With prefer-standby, a standby is looked for first, and then any server") func prefersStandby() throws {
        let parameters = try ConnectionParameters(url: "host=one,two target_session_attrs=prefer-standby")
        #expect(parameters.attempts().map { $0["host"] } == ["one", "two", "one", "two"])
        #expect(
            parameters.attempts().map { $0["target_session_attrs"] } == ["standby", "standby", "any", "any"])
    }

    @Test("A name with several addresses becomes one attempt for each address") func attemptForEachAddress() throws {
        let parameters = try ConnectionParameters(url: "host=db port=7 sslmode=verify-full")
        let attempts = parameters.attemptsByAddress { $0 == "db" ? ["10.0.0.1", "fe80::1%eth0"] : [] }
        #expect(attempts.map { $0["hostaddr"] } == ["10.0.0.1", "fe80::1%eth0"])
        // The certificate and the password file name the host, not the address.
        #expect(attempts.allSatisfy { $0["host"] == "db" && $0["port"] == "7" && $0["sslmode"] == "verify-full" })
    }

    @Test(
        "A folder, and a host whose address is given, are not looked up",
        arguments: ["host=/tmp", "host=@socket", "host=db hostaddr=10.0.0.3", "host=''"])
    func notLookedUp(_ url: String) throws {
        let attempts = try ConnectionParameters(url: url).attemptsByAddress { _ in ["10.0.0.1", "10.0.0.2"] }
        #expect(attempts.count == 1)
        #expect(attempts[0]["hostaddr"] != "10.0.0.1")
    }

    @Test("A name with one address, and a name without any, are left to libpq") func leftToLibPQ() throws {
        for addresses in [["10.0.0.1"], []] {
            let attempts = try ConnectionParameters(url: "host=db").attemptsByAddress { _ in addresses }
            #expect(attempts.map { $0["hostaddr"] } == [nil])
        }
    }

    @Test("load_balance_hosts applies to the addresses of a name too") func balancesAddresses() throws {
        let parameters = try ConnectionParameters(url: "host=db")
        let addresses = (1...200).map { "10.0.0.\($0)" }
        #expect(parameters.attemptsByAddress { _ in addresses }.map { $0["hostaddr"] } == addresses)
        var shuffling = parameters
        shuffling["load_balance_hosts"] = "random"
        let found = shuffling.attemptsByAddress { _ in addresses }.compactMap { $0["hostaddr"] }
        #expect(found != addresses && Set(found) == Set(addresses))
    }

    @Test("An address stands for itself, and a name is looked up") func looksUpNames() {
        #expect(addresses(of: "127.0.0.1") == ["127.0.0.1"])
        #expect(addresses(of: "::1") == ["::1"])
        #expect(addresses(of: "localhost").contains("127.0.0.1"))
        #expect(addresses(of: "no-such-host.invalid") == [])
    }

    @Test(
        "A list of hosts that only libpq can judge is left to libpq",
        arguments: [
            "host=one,two port=1,2,3", "host=one,two hostaddr=10.0.0.1", "host=one", "host=one,,two",

            "host=one,two hostaddr=10.0.0.1,",
        ])
    func listForLibPQ(_ url: String) throws {
        let parameters = try ConnectionParameters(url: url)
        #expect(parameters.attempts().map { $0["host"] } == [parameters["host"]])
    }
}
