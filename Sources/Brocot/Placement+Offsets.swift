import Ordering

extension Placement {
    /// The placement for the offsets of SwiftUI's `onMove` and `Array.move(fromOffsets:toOffset:)`, which are counted before
    /// the items move.
    ///
    /// If a person chose the offsets in an order that may be outdated, move the items by the keys of that order:
    /// ```swift
    /// let items = offsets.map { shown[$0] }
    /// try await client.place(items, .onMove(fromOffsets: offsets, toOffset: destination), in: "groceries")
    /// ```
    ///
    /// - Parameters:
    ///   - offsets: The offsets of the items that move, such as an `IndexSet`: 0 to the number of items − 1.
    ///   - destination: The offset of the item before which they are placed, 0 to the number of items. That number, or a greater
    ///     one, means the end.
    /// - Returns: A placement at a position, which is counted without the moved items. With a negative destination, the calls that
    ///   use the placement throw ``BrocotError`` `invalidArgument`.
    public static func onMove(fromOffsets offsets: some Sequence<Int>, toOffset destination: Int) -> Placement {
        .at(destination - Set(offsets).count { $0 < destination })
    }
}
