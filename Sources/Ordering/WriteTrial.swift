/// The result of trying the writes of each list separately.
package struct WriteTrial: Sendable {
    /// Lists of one table that can't be written. Items move between them.
    package struct RefusedLists: Sendable {
        package let lists: [ListIdentifier]
        /// The error of their writes; nil if a trigger changed the role or the transaction.
        package let error: OrderingError?
    }

    package internal(set) var refused: [RefusedLists] = []
    /// Lists that were not tried, because the time was over.
    package internal(set) var untried: Set<ListIdentifier> = []

    package init() {}
}
