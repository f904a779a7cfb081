import LibPQ
import TestLimit
import Testing

@testable import MoveQueue

@Suite("Common table expressions", .usualTimeLimit) struct CommonTableExpressionTests {
    private func words(_ statement: SQL) -> String {
        statement.text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    @Test("A statement names its common table expressions in their order, before the query that reads them")
    func inOrder() {
        let first = CommonTableExpression("first (number)", as: .materialized, "SELECT \(1)")
        let second = CommonTableExpression("second", "SELECT number + \(2) AS number FROM first")
        #expect(
            words(.with([first, second], "SELECT number FROM second"))
                == """
                WITH first (number) AS MATERIALIZED ( SELECT $1 ), second AS ( SELECT number + $2 AS number FROM first ) \
                SELECT number FROM second
                """)
    }

    @Test("A statement is recursive if one of its common table expressions reads its own rows")
    func recursive() {
        let start = CommonTableExpression("start", "SELECT 1 AS number")
        let numbers = CommonTableExpression(
            "numbers", as: .recursive, "SELECT number FROM start UNION SELECT 2 FROM numbers")
        #expect(words(.with([start, numbers], "TABLE numbers")).hasPrefix("WITH RECURSIVE start AS ( "))
        #expect(words(.with([start], "TABLE start")).hasPrefix("WITH start AS ( "))
    }
}
