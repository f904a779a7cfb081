import Ordering

extension OrderNames {
    /// The command that detaches this order, for messages.
    package var detachCommand: String {
        "brocot detach \(schema).\(table)\(rank == Self.usualRankColumn ? "" : " --rank \(rank)")"
    }
}
