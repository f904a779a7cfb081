/// How much a statement for the next lists claims.
struct ClaimLimits {
    /// The most lists that are found.
    let lists: Int
    /// The most changes of list, for each list and direction, whose other lists are added.
    let partners: Int
    /// The most locks that are tried.
    let locks: Int
}
