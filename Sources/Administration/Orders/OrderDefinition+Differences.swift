extension OrderDefinition {
    /// Whether both order the same rows in the same lists, so that the rows can keep their order when the other options change.
    func ordersSameRows(as former: OrderDefinition) -> Bool {
        names == former.names && listColumns == former.listColumns && itemColumn == former.itemColumn
    }

    /// The options of `brocot attach` that differ, each with its former and its present value, for messages.
    func differences(from former: OrderDefinition) -> [String] {
        zip(former.options, options).compactMap { old, new in
            old.value == new.value ? nil : "\(new.name) was \(old.value) and is now \(new.value)"
        }
    }

    /// The options that define the order, always in the same sequence.
    private var options: [(name: String, value: String)] {
        [
            ("--item", itemColumn), ("--list", listColumns.isEmpty ? "not given" : listColumns.joined(separator: ", ")),
            ("--owns-rows", Self.text(ownsRows)), ("--visible", visible ?? "not given"), ("--arrive", arrive.rawValue),
            ("--arrive-now", Self.text(arriveNow)),
        ]
    }

    private static func text(_ isGiven: Bool) -> String { isGiven ? "given" : "not given" }
}
