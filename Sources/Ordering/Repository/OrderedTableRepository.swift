import LibPQ

/// Reads and writes the rows of one ordered table. The caller must have the locks of the lists.
struct OrderedTableRepository {
    let table: OrderedTable
    let statements: OrderingStatements
    let sizes: KnownListSizes?
    private let timeForLists: Duration?

    /// - Parameters:
    ///   - table: The table.
    ///   - sizes: Remembers the sizes of lists that are read.
    ///   - judgesVisibility: Without it, rows that are read count as visible, and the condition of visibility is not evaluated: it may fail
    ///     for a row.
    ///   - timeForLists: See ``MoveApplication/init(policy:reading:sizes:rowLocks:timeForLists:)``.
    init(
        _ table: OrderedTable, sizes: KnownListSizes? = nil, judgesVisibility: Bool = false,
        timeForLists: Duration? = nil
    ) {
        self.table = table
        self.sizes = sizes
        self.timeForLists = timeForLists
        statements = OrderingStatements(table, judgesVisibility: judgesVisibility)
    }

    /// The elements, with the statements that serve them: one for all, or one for each list if the table has many partitions.
    func groupedByStatements<Element>(
        _ elements: [Element], in list: (Element) -> String
    ) -> [(statements: OrderingStatements, elements: [Element])] {
        guard !elements.isEmpty else { return [] }
        guard table.hasManyPartitions else { return [(statements, elements)] }
        var numbers: [ExactText: Int] = [:]
        var groups: [(statements: OrderingStatements, elements: [Element])] = []
        for element in elements {
            let text = list(element)
            if let number = numbers[ExactText(text)] {
                groups[number].elements.append(element)
            } else {
                numbers[ExactText(text)] = groups.count
                groups.append((statements.limited(to: text), [element]))
            }
        }
        return groups
    }

    /// Whether sessions keep the statements. The texts of statements for single lists differ, so they are not kept.
    var preparesStatements: Bool { !table.hasManyPartitions }

    /// The time after which no statement for a further list begins; nil if there is none. One statement for all lists has the server's limit.
    func deadlineOfLists() -> ContinuousClock.Instant? {
        preparesStatements ? nil : timeForLists.map { .now + $0 }
    }

    /// Runs a statement of this table.
    ///
    /// - Throws: ``OrderingError/tookTooLong(table:)`` after the deadline, or an error of the database.
    func rows(
        _ statement: SQL, until deadline: ContinuousClock.Instant? = nil, on connection: isolated Connection
    ) throws(OrderingError) -> Rows {
        if let deadline, deadline < .now { throw .tookTooLong(table: table.name) }
        return try connection.rows(statement, prepared: preparesStatements)
    }
}

extension Connection {
    func rows(_ statement: SQL, prepared: Bool = true) throws(OrderingError) -> Rows {
        do { return try query(statement, prepared: prepared) } catch { throw .database(error) }
    }
}

/// Converts an error of the database into an error of this module.
func wrappingErrors<Value>(_ body: () throws(PostgresError) -> Value) throws(OrderingError) -> Value {
    do { return try body() } catch { throw .database(error) }
}
