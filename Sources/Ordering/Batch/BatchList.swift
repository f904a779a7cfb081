/// A list that a move of the batch reads or writes, and its known rows.
struct BatchList: Sendable {
    typealias Index = ElementIndex<BatchList>

    let identifier: ListIdentifier
    /// Whether Brocot owns the list's rows. If so, it inserts and deletes them.
    let ownsRows: Bool
    /// Whether each row of the list has a rank.
    private let hasOnlyPlacedRows: Bool
    /// The end of the list at which new rows are placed.
    let arrivalEnd: ListEnd
    var neighbourhood: Neighbourhood

    /// `table` is nil if no table with this name is registered.
    init(_ identifier: ListIdentifier, of table: OrderedTable?, reading: ReadingPolicy) {
        self.identifier = identifier
        arrivalEnd = table?.arrivalEnd ?? .last
        ownsRows = table?.ownsRows == true
        hasOnlyPlacedRows = table?.isBuiltIn == true
        neighbourhood = Neighbourhood(reading)
    }

    private var knowsAllRows: Bool { hasOnlyPlacedRows && neighbourhood.knowsAllPlacedRows }

    /// Whether it is known if and where the list has an item.
    func knows(_ key: String) -> Bool { neighbourhood.item(key) != nil || knowsAllRows }

    /// The item with this key, which may be absent; nil if the key must be looked up.
    mutating func item(_ key: String) -> KnownItem.Index? {
        if let known = neighbourhood.item(key) { return known }
        return knowsAllRows ? neighbourhood.addAbsent(key) : nil
    }
}
