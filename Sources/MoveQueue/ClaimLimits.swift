/// How much a statement for the next lists claims.
struct ClaimLimits {
    /// The most lists that are found.
    var lists: Int
    /// The most changes of list, for each list and direction, whose other lists are added.
    var partners: Int
    /// The most locks that are tried.
    var locks: Int
}
