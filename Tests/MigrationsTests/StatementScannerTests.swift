import TestLimit
import Testing

@testable import Migrations

@Suite("Scanner of statements", .usualTimeLimit) struct StatementScannerTests {
    @Test(
        "The scanner ends statements where psql ends them",
        arguments: [
            ("SELECT 1; SELECT 2", ["SELECT 1", "SELECT 2"]),
            ("  ;; SELECT 1 ;", ["SELECT 1 "]),
            ("-- only a comment; with a semicolon\n/* and ; /* a nested ; one */ ; */", []),
            ("/* off: SELECT /* old hint */ 1; SELECT 2", ["/* off: SELECT /* old hint */ 1; SELECT 2"]),
            ("SELECT 1;\n  /* SELECT 2;", ["SELECT 1", "/* SELECT 2;"]),
            ("SELECT 1; /*/", ["SELECT 1", "/*/"]),
            ("SELECT /* 1; SELECT 2", ["SELECT /* 1; SELECT 2"]),
            ("-- one\rSELECT 1; -- two\r\nSELECT 2", ["SELECT 1", "SELECT 2"]),
            ("SELECT 1 -- not; here\n, 2; SELECT 3", ["SELECT 1 -- not; here\n, 2", "SELECT 3"]),
            ("SELECT 'it''s; one'; SELECT 2", ["SELECT 'it''s; one'", "SELECT 2"]),
            (#"SELECT 'a\'; SELECT E'b\';c''d'; SELECT 3"#, [#"SELECT 'a\'"#, #"SELECT E'b\';c''d'"#, "SELECT 3"]),
            ("SELECT E'a'\n -- it's\r\n 'b\\'; c'; SELECT 2", ["SELECT E'a'\n -- it's\r\n 'b\\'; c'", "SELECT 2"]),
            ("SELECT E'a' 'b\\'; SELECT 2", ["SELECT E'a' 'b\\'", "SELECT 2"]),
            ("SELECT E'a'\n, 'b\\'; SELECT 2", ["SELECT E'a'\n, 'b\\'", "SELECT 2"]),
            (#"SELECT "a;""b"; SELECT 2"#, [#"SELECT "a;""b""#, "SELECT 2"]),
            ("DO $$ a; $b$ $$; DO $b1$ $$; $b1$; SELECT 3", ["DO $$ a; $b$ $$", "DO $b1$ $$; $b1$", "SELECT 3"]),
            ("SELECT $1; SELECT a$b$; SELECT 3", ["SELECT $1", "SELECT a$b$", "SELECT 3"]),
            (
                "CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2); SELECT 3",
                ["CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2)", "SELECT 3"]
            ),
            (
                "CREATE OR REPLACE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; END; SELECT 3",
                [
                    "CREATE OR REPLACE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; END",
                    "SELECT 3",
                ]
            ),
            ("SELECT 'never closed; ", ["SELECT 'never closed; "]),
            (#"SELECT E'\"#, [#"SELECT E'\"#]),
            ("SELECT $a$ never closed; ", ["SELECT $a$ never closed; "]),
        ])
    func endsStatementsOnlyWherePsqlDoes(script: String, statements: [String]) {
        #expect(Statement.all(in: script).map(\.text) == statements)
    }

    @Test("Offsets are counted in Unicode scalars") func countsOffsetsInUnicodeScalars() {
        let statements = Statement.all(in: "SELECT '👍🏽é';\n  SELECT 2")
        #expect(statements.map(\.offset) == [0, 16])
    }

    @Test("The scanner finds the begin of the first dollar-quoted body") func knowsWhereTheFirstDollarQuotedBodyBegins()
    {
        let statements = Statement.all(in: "SELECT 1; DO $do$\nBEGIN\nEND $do$")
        #expect(statements.map(\.bodyOffset) == [nil, 17])
    }

    @Test(
        "The scanner recognizes transaction commands",
        arguments: [
            ("BEGIN", "BEGIN"), ("start transaction", "START"), ("COMMIT AND CHAIN", "COMMIT"), ("/* x */ End", "END"),
            ("ROLLBACK TO s", "ROLLBACK"), ("ABORT", "ABORT"), ("PREPARE TRANSACTION 'x'", "PREPARE TRANSACTION"),
        ])
    func recognizesCommandsOfTransactions(script: String, command: String) {
        #expect(Statement.all(in: script).map(\.transactionCommand) == [command])
    }

    @Test(
        "The scanner takes no other statement for a transaction command",
        arguments: [
            "PREPARE p AS SELECT 1", "SELECT 'COMMIT'", "DO $$ BEGIN COMMIT; END $$", "\"begin\"",
            "-- COMMIT\nSELECT 1",
        ])
    func ignoresOtherStatements(script: String) {
        #expect(Statement.all(in: script).map(\.transactionCommand) == [nil])
    }
}
