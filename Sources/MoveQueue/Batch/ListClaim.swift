import Ordering

/// The lists that a transaction looked at.
struct ListClaim {
    /// How many lists with pending requests were found, and the last of them in the order of a round.
    var found = 0
    var lastFound: ListIdentifier?
    var locked: [ListIdentifier] = []
    /// Lists whose locks somebody else has.
    var unavailable: [ListIdentifier] = []
    /// Lists that wait for a person.
    var held: [ListIdentifier] = []
}
