import LibPQ

/// The advisory locks that several modules use.
extension AdvisoryLock {
    /// The most lists whose locks one transaction takes. `brocot.lock_lists`, `brocot.apply_pending` and the triggers of `brocot attach
    /// --arrive-now` have the same limit. Each lock needs an entry in the server's lock table, which all sessions share.
    package static let mostLists = 256

    /// The lock of a list. A transaction must have this lock to change ranks of the list's rows.
    package static func ofList(_ list: ListIdentifier) -> AdvisoryLock {
        ofList("\(list.key)", of: "\(list.orderedTable)")
    }

    /// The lock of a list, whose table and key are given as expressions.
    package static func ofList(_ list: SQL, of orderedTable: SQL) -> AdvisoryLock {
        AdvisoryLock(key: "brocot.list_lock_key(\(orderedTable), \(list))")
    }

    /// The lock that lets one daemon at a time delete old rows of the log. Any role of the database can take it.
    package static let ofLogPruning = AdvisoryLock(
        key: "pg_catalog.hashtextextended('brocot.move_log retention', 0)")
}
