/// How much a statement claims beside the lists that it is for.
struct ClaimLimits {
    /// The most changes of list, for each list and direction, whose other lists are added.
    let partners: Int
    /// The most locks that are tried.
    let locks: Int
}
