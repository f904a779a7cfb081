import Administration
import Ordering

extension AttachError {
    /// The message, safe for a terminal. Names and keys are escaped, so a line feed in a name can't begin a line. The lines of the server's errors
    /// are indented.
    var printable: String {
        switch self {
        case .equalRanks(let names, let isBeingFilled, let error):
            let names = OrderNames(
                schema: names.schema.printable, table: names.table.printable, rank: names.rank.printable)
            return Self.equalRanks(names, isBeingFilled: isBeingFilled, error).description
        case .unfinished(let orderedTable, let isOrderStored, let error):
            return Self.unfinished(orderedTable: orderedTable.printable, isOrderStored: isOrderStored, error)
                .description
        case .rowRefused(let orderedTable, let item, let error):
            return Self.rowRefused(orderedTable: orderedTable.printable, item: item.printable, error).description
        case .unfinishedRepair(let names, let error):
            return "\(error.printable)\n\(Self.adviceAfterUnfinishedRepair(of: names.orderedTable.printable))"
        case .stepFailed(let step, let error): return Self.stepFailed(step: step.printable, error).description
        case .database: return description
        case .refused, .lockTimeout, .listLocked, .busy, .lockInOtherSession, .rowNotWritten, .stepsLeft, .cancelled:
            return description.printable
        }
    }
}
