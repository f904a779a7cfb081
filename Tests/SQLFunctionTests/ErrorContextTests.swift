import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("What brocot.error_code reads in the context of an error", .database, .usualTimeLimit)
struct ErrorContextTests {
    private let connection: Connection

    init() async throws { connection = try await TestDatabase.current.connect() }

    /// Lines of contexts: one of a user's function, and one of Brocot's.
    private static let contexts = [
        ("SQL function \"allowed\" statement 1", "PL/pgSQL function decide line 5 at SQL statement"),
        ("SQL-Funktion »allowed« Anweisung 1", "PL/pgSQL-Funktion decide Zeile 5 bei SQL-Anweisung"),
        ("función SQL «allowed» en la sentencia 1", "función PL/pgSQL decide en la línea 5 en sentencia SQL"),
        (
            "fonction SQL «\u{A0}allowed\u{A0}», instruction 1",
            "fonction PL/pgSQL decide, ligne 5 à instruction SQL"
        ),
        ("SQL関数\"allowed\"の行番号 1", "PL/pgSQL関数decideの5行目 - SQL文"),
        ("SQL 함수 \"allowed\"의 문 1", "PL/pgSQL 함수 \"decide\" 의 5번째 SQL 구문"),
        ("SQL-функция \"allowed\", оператор 1", "функция PL/pgSQL decide, строка 5, оператор SQL-оператор"),
        ("SQL 函数 \"allowed\" 语句 1", "在SQL语句的第5行的PL/pgSQL函数decide"),
        ("SQL function \"allowed\" statement 1", "decide PL/pgSQL fonksiyonu, 5. satır, SQL ifadesi içinde"),
    ]

    @Test("brocot.error_code finds the user's function in the languages of the server's messages")
    func contextsInOtherLanguages() async throws {
        try await connection.execute("CREATE FUNCTION allowed() RETURNS boolean LANGUAGE sql AS 'SELECT true'")
        for (ofUser, ofBrocot) in Self.contexts {
            let decide = ofBrocot.replacing(
                "decide", with: "brocot.decide(brocot.move_requests,timestamp with time zone)")
            let statement = ofUser.replacing("allowed", with: "INSERT INTO brocot.items")
            var codes: [String?] = []
            for context in [decide, "\(statement)\n\(decide)", "\(ofUser)\n\(decide)"] {
                let row = try await connection.query("SELECT brocot.error_code('42P01', \(context), 'public')").single()
                codes.append(try row.decode(0))
            }
            #expect(codes == [nil, nil, "failed"], "\(ofUser), \(ofBrocot)")
        }
    }

    /// A line of a context of PL/pgSQL: the function, and what it does.
    private static let frames = [
        "PL/pgSQL function %s line 5 at %s", "PL/pgSQL funkce %s řádek 5 na %s",
        "PL/pgSQL-Funktion %s Zeile 5 bei %s",
        "συνάρτηση PL/pgSQL %s γραμμή 5 στο %s", "función PL/pgSQL %s en la línea 5 en %s",
        "fonction PL/pgSQL %s, ligne 5 à %s", "funzione PL/pgSQL %s riga 5 a %s", "PL/pgSQL関数%sの5行目 - %s",
        "PL/pgSQL ფუნქცია %s ხაზზე 5 %s-სთან", "PL/pgSQL 함수 \"%s\" 의 5번째 %s", "funkcja PL/pgSQL %s, wiersz 5 w %s",
        "função PL/pgSQL %s linha 5 em %s", "функция PL/pgSQL %s, строка 5, оператор %s",
        "PL/pgSQL-funktion %s rad 5 vid %s", "%s PL/pgSQL fonksiyonu, 5. satır, %s içinde",
        "Функція PL/pgSQL %s рядок 5 в %s", "Hàm PL/pgSQL %s dòng 5 tại %s", "在%2$s的第5行的PL/pgSQL函数%1$s",
    ]

    @Test(
        "brocot.error_code recognizes RAISE in a user's function in the languages of the server's messages",
        .commonMigratedDatabase)
    func raiseInOtherLanguages() async throws {
        for message in Self.frames {
            #expect(try await errorCodes(message) == ["failed", nil, nil, nil], "\(message)")
        }
    }

    /// The codes for errors from RAISE in a user's function, from other statements there, and from Brocot's RAISE.
    private func errorCodes(_ message: String) async throws -> [String?] {
        func frame(_ signature: String, _ statement: String) -> String {
            message.contains("%1$s")
                ? message.replacing("%1$s", with: signature).replacing("%2$s", with: statement)
                : message.replacing("%s", with: signature, maxReplacements: 1).replacing("%s", with: statement)
        }
        let decide = frame("brocot.decide(brocot.move_requests,timestamp with time zone)", "SQL statement")
        var codes: [String?] = []
        for context in [
            frame("refuse()", "RAISE"), frame("refuse()", "assignment"), frame("\"RAISE\"()", "assignment"),
            frame("brocot.raise_rejection(text,text,text,text)", "RAISE"),
        ] {
            let row = try await connection.query(
                "SELECT brocot.error_code('55P03', \(context + "\n" + decide), 'public')"
            ).single()
            codes.append(try row.decode(0))
        }
        return codes
    }
}
