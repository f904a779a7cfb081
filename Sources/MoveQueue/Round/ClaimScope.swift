import Ordering

/// The lists that a transaction tries to claim.
enum ClaimScope: Sendable {
    /// The next lists with requests. `readingAhead` requests are read in one scan to find them. With `withPartners`, the
    /// other lists of their changes of list are claimed too; without these lists, such changes have to wait.
    case next(from: RoundPosition, lists: Int, readingAhead: Int, withPartners: Bool)
    /// These lists, with the other lists of their changes of list.
    case lists([ListIdentifier])
    /// Lists of which one or more failed before, or the lists of a batch whose first attempt failed. Their requests are applied in parts, without trying them together first.
    case suspects([ListIdentifier])
    /// The lists of the oldest requests. A batch of these lists can decide the oldest requests, even if all of them are changes of list. It
    /// can't decide a request that comes after one of a waiting list, or of a list that is left out.
    case oldest(lists: Int, leavingOut: [ListIdentifier])
    /// A starving list. The transaction waits for its lock and its rows, as long as `lock_timeout` allows.
    case waitingFor(ListIdentifier)

    /// The lists that this scope names, without their partners; nil if it only says how many lists to find.
    var namedLists: [ListIdentifier]? {
        switch self {
        case .lists(let lists), .suspects(let lists): lists
        case .waitingFor(let list): [list]
        case .next, .oldest: nil
        }
    }

    /// The only list that this scope names; nil if it names several lists, or only their number.
    var onlyList: ListIdentifier? { namedLists?.count == 1 ? namedLists?[0] : nil }

    /// Whether this is the scope of one list, by its name or as the next list. The transaction also claims the other lists of that list's
    /// changes of list.
    var hasOneList: Bool {
        switch self {
        case .lists, .suspects, .waitingFor: onlyList != nil
        case .next(_, let count, _, _), .oldest(let count, _): count == 1
        }
    }
}
