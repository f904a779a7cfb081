import LibPQ
import MoveQueue
import Ordering

/// What the log advises after an error.
extension QueueError {
    /// How a person can find out what causes a failure that passes by itself; nil if that is not known.
    var wayToCause: String? {
        databaseError?.sqlState == .lockNotAvailable
            ? "Another session may keep a table locked: run brocot doctor, see table locks." : nil
    }

    /// What a person can do about a failure that does not pass by itself; nil if it may pass.
    var nextStep: String? {
        switch self {
        case .ordering(.missingColumn): "A table or column is missing. Run brocot doctor."
        case .ordering(.triggerOfOtherOrder): "The table has the triggers of another order. Run brocot check."
        case .ordering(.untrustedOwner): "Run the daemon as a role of its own. See brocot doctor."
        case .ordering(.unsupportedKeyType), .ordering(.invalidStoredRank), .ordering(.ranksOutOfOrder):
            "Run brocot doctor."
        default:
            switch databaseError?.sqlState {
            // The server's function that refuses a statement from which a policy would hide rows.
            case SQLState.insufficientPrivilege? where databaseError?.sourceFunction == "check_enable_rls":
                "Give the daemon's role BYPASSRLS: ALTER ROLE … BYPASSRLS. See \"Row-level security\" in docs/operations.md"
            case SQLState.insufficientPrivilege?:
                "Run brocot doctor. If a right is missing, as the owner: brocot grant daemon ROLE"
            case SQLState.undefinedColumn?, SQLState.undefinedTable?: "A table or column is missing. Run brocot doctor."
            case SQLState.undefinedFunction?, SQLState.undefinedObject?, SQLState.invalidSchemaName?:
                "A function, type or schema is missing. Run brocot doctor."
            case SQLState.datatypeMismatch?, SQLState.cannotCoerce?:
                "A column or function has another type than before. Run brocot doctor."
            // A prepared statement whose columns have changed has the same SQLSTATE. It is prepared again.
            case SQLState.featureNotSupported? where databaseError?.isAboutStalePreparation != true:
                "The table has a rule, or something else that makes this statement impossible. Run brocot check --table TABLE."
            default: nil
            }
        }
    }
}
