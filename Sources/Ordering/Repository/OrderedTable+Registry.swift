import LibPQ

extension OrderedTable {
    /// The registered table of this name; nil where there is none, or its table does not exist.
    package static func named(
        _ name: String, on connection: isolated Connection
    ) throws(OrderingError) -> OrderedTable? {
        try OrderedTableRepository.tables(named: [name], on: connection)[ExactText(name)]
    }
}
