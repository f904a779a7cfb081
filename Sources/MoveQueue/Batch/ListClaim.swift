import Ordering

/// The lists that a transaction has found.
struct ListClaim {
    /// The number of lists with pending requests that were found, and the last of them in the order of a round.
    var found = 0
    var lastFound: ListIdentifier?
    var locked: [ListIdentifier] = []
    /// Lists whose locks another session has.
    var unavailable: [ListIdentifier] = []
    /// Lists that wait for a person.
    var held: [ListIdentifier] = []
}
