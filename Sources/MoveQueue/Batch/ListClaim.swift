import Ordering

/// The lists that a transaction has found.
struct ListClaim {
    /// The number of lists with pending requests that were chosen, and the last one in the order of a round before which none was left.
    var found = 0
    var lastFound: ListIdentifier?
    /// The number of lists with pending requests for which the transaction had no lock to spare.
    var left = 0
    var locked: [ListIdentifier] = []
    /// Lists whose locks another session has.
    var unavailable: [ListIdentifier] = []
    /// Lists that wait for a person.
    var held: [ListIdentifier] = []
}
