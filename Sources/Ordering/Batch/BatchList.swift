/// A list that some move of a batch reads or writes, with what is known of its rows.
struct BatchList: Sendable {
    typealias Index = ElementIndex<BatchList>

    let identifier: ListIdentifier
    /// Whether Brocot owns the list's rows: it inserts and deletes them then, and each has a place.
    let ownsRows: Bool
    /// The end at which rows that arrive are placed.
    let arrivalEnd: OrderedTable.ArrivalEnd
    var neighbourhood: Neighbourhood

    init(
        _ identifier: ListIdentifier, ownsRows: Bool, arrivalEnd: OrderedTable.ArrivalEnd, reading: ReadingPolicy
    ) {
        self.arrivalEnd = arrivalEnd
        self.identifier = identifier
        self.ownsRows = ownsRows
        neighbourhood = Neighbourhood(reading)
    }

    /// Whether it is known if and where the list has an item. A list that is known whole has no items but those that are
    /// known, where each has a place.
    func knows(_ key: String) -> Bool {
        neighbourhood.member(key) != nil || (ownsRows && neighbourhood.isWhole)
    }

    /// The member with this key, which may be absent; nil where it must be looked up.
    mutating func member(_ key: String) -> ListMember.Index? {
        if let known = neighbourhood.member(key) { return known }
        return ownsRows && neighbourhood.isWhole ? neighbourhood.addAbsent(key) : nil
    }
}
