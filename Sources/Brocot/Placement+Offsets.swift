import Ordering

extension Placement {
    /// Where SwiftUI's `onMove` and `Array.move(fromOffsets:toOffset:)` put items: both count before anything moves.
    ///
    /// To move by the order that somebody was shown, who may not have seen the latest, name the items of that order:
    /// ```swift
    /// let items = offsets.map { shown[$0] }
    /// try await client.place(items, .onMove(fromOffsets: offsets, toOffset: destination), in: "groceries")
    /// ```
    ///
    /// - Parameters:
    ///   - offsets: of the items that move, such as an `IndexSet`.
    ///   - destination: the offset of the item that they shall stand before; as many as there are items: the end.
    /// - Returns: a position, which counts without the moved items.
    public static func onMove(fromOffsets offsets: some Sequence<Int>, toOffset destination: Int) -> Placement {
        .at(destination - Set(offsets).count { $0 < destination })
    }
}
