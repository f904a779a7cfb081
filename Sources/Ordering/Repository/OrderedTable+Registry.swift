import LibPQ

extension OrderedTable {
    /// The registered table with this name; nil if no table with this name is registered.
    package static func named(
        _ name: String, on connection: isolated Connection
    ) throws(OrderingError) -> OrderedTable? {
        try OrderedTableRepository.tables(named: [name], on: connection)[ExactText(name)]
    }
}
