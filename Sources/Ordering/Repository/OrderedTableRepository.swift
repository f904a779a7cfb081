import LibPQ

/// Reads and writes the rows of one ordered table. The caller must have the locks of the lists.
struct OrderedTableRepository {
    let table: OrderedTable
    let statements: OrderingStatements
    let sizes: KnownListSizes?

    /// The sizes of lists that are read are remembered in `sizes`. Without `judgesVisibility`, rows that are read count as visible, and
    /// the condition of visibility is not evaluated: it may fail for a row.
    init(_ table: OrderedTable, sizes: KnownListSizes? = nil, judgesVisibility: Bool = false) {
        self.table = table
        self.sizes = sizes
        statements = OrderingStatements(table, judgesVisibility: judgesVisibility)
    }

    /// The elements, with the statements that serve them: one for all, or one for each list if the table has many partitions.
    func served<Element>(_ elements: [Element], in list: (Element) -> String) -> [(OrderingStatements, [Element])] {
        guard !elements.isEmpty else { return [] }
        guard table.hasManyPartitions else { return [(statements, elements)] }
        var (lists, groups): ([ExactText: Int], [(OrderingStatements, [Element])]) = ([:], [])
        for element in elements {
            let text = list(element)
            if let number = lists[ExactText(text)] {
                groups[number].1.append(element)
            } else {
                lists[ExactText(text)] = groups.count
                groups.append((statements.limited(to: text), [element]))
            }
        }
        return groups
    }

    /// Runs a statement of this table. The texts of statements for single lists differ, so they are not prepared.
    func rows(_ statement: SQL, on connection: isolated Connection) throws(OrderingError) -> Rows {
        try connection.rows(statement, prepared: !table.hasManyPartitions)
    }

    /// The registered tables with these names, by name.
    ///
    /// - Throws: `missingColumn` if a registered table or one of its columns does not exist; `untrustedOwner` if the current role is a
    ///   superuser that does not trust a table's owner.
    static func tables(
        named names: [String], on connection: isolated Connection
    ) throws(OrderingError) -> [ExactText: OrderedTable] {
        var columns: [ExactText: [RegisteredColumn]] = [:]
        for row in try connection.rows(OrderingStatements.keyColumns(ofTablesNamed: names)) {
            let column = try wrappingErrors { () throws(PostgresError) in try RegisteredColumn(row) }
            columns[ExactText(column.orderedTable), default: []].append(column)
        }
        var tables: [ExactText: OrderedTable] = [:]
        for (name, columns) in columns {
            tables[name] = try OrderedTable(columns)
        }
        return tables
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
