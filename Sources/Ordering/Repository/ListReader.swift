import LibPQ

/// Reads one list in its order. It takes no lock.
package struct ListReader: Sendable {
    private let list: String
    private let statements: OrderingStatements
    /// Whether the table has a condition of visibility.
    private let hasCondition: Bool

    private init(_ list: String, of table: OrderedTable) {
        self.list = list
        hasCondition = table.visible != nil
        statements = OrderingStatements(table)
    }

    /// Finds the list's table.
    ///
    /// - Returns: The reader, or a rejection if the table is not registered or the list's key is invalid.
    package static func open(
        _ list: ListIdentifier, on connection: isolated Connection
    ) throws(OrderingError) -> Result<ListReader, Rejection> {
        let name = list.orderedTable
        guard let table = try OrderedTable.named(name, on: connection) else {
            return .failure(.unknownOrderedTable(name))
        }
        if let rejection = table.rejection(ofList: list.key) { return .failure(rejection) }
        return .success(ListReader(list.key, of: table))
    }

    /// An item and its rank.
    package struct PlacedItem: Sendable {
        package let key: String
        /// The column `rank`.
        package let sortKey: PostgresNumeric
        package let rank: (numerator: Int64, denominator: Int64)
    }

    /// The first placed items of the list.
    package func items(limit: Int, on connection: isolated Connection) throws(OrderingError) -> [PlacedItem] {
        let statement = statements.items(of: list, after: nil, limit: limit, withFractions: true)
        do throws(PostgresError) {
            typealias Column = OrderingStatements.ItemColumn
            var items: [PlacedItem] = []
            for row in try rows(statement, on: connection) {
                items.append(
                    PlacedItem(
                        key: try row.decode(Column.key), sortKey: try row.decode(Column.sortKey),
                        rank: (try row.decode(Column.numerator), try row.decode(Column.denominator))))
            }
            return items
        } catch {
            throw .database(error)
        }
    }

    /// The first placed items beyond a rank, with their sort keys; nil means from the beginning of the list.
    package func page(
        after rank: PostgresNumeric?, limit: Int, on connection: isolated Connection
    ) throws(OrderingError) -> [(key: String, rank: PostgresNumeric)] {
        let statement = statements.items(of: list, after: rank, limit: limit, withFractions: false)
        do throws(PostgresError) {
            typealias Column = OrderingStatements.ItemColumn
            var items: [(key: String, rank: PostgresNumeric)] = []
            for row in try rows(statement, on: connection) {
                items.append((try row.decode(Column.key), try row.decode(Column.sortKey)))
            }
            return items
        } catch {
            throw .database(error)
        }
    }

    /// The items at these positions, by their position. The list is read once, up to the last of the positions.
    package func items(
        atOffsets offsets: [Int], on connection: isolated Connection
    ) throws(OrderingError) -> [Int: String] {
        guard !offsets.isEmpty else { return [:] }
        let wanted = AscendingOffsets(offsets)
        do throws(PostgresError) {
            typealias Column = OrderingStatements.NumberColumn
            var items: [Int: String] = [:]
            for row in try rows(statements.rows(of: list, at: wanted, count: 1), on: connection) {
                let offset = wanted.offsets[try row.decode(Column.number, as: Int.self) - 1]
                items[offset] = try row.decode(OrderingStatements.RowColumn.key, from: Column.allCases.count)
            }
            return items
        } catch {
            throw .database(error)
        }
    }

    private func rows(_ statement: SQL, on connection: isolated Connection) throws(PostgresError) -> Rows {
        func query(on connection: isolated Connection) throws(PostgresError) -> Rows { try connection.query(statement) }
        return hasCondition
            ? try connection.inSystemCatalog(wrapping: { $0 }, query) : try query(on: connection)
    }
}
