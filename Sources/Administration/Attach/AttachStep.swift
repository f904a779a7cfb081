/// One step on the way to an attached or detached table.
package struct AttachStep: Hashable, Sendable {
    /// The role that must run the step.
    package enum Actor: Hashable, Sendable {
        case tableOwner
        /// The owner of `brocot.ordered_tables`.
        case registryOwner
    }

    /// The strongest lock on the table, which determines who waits.
    package enum Lock: String, Sendable {
        case none = "no lock on the table"
        case shareUpdateExclusive = "readers and writers don't wait"
        /// Only the rows that the step changes. A script changes all of them in one transaction.
        case rows = "the rows that lose their rank stay locked until COMMIT, which brocot attach does after each batch"
        /// SHARE, or SHARE ROW EXCLUSIVE.
        case share = "writers wait for a moment"
        case accessExclusive = "readers and writers wait for a moment"
    }

    /// How the statements are run.
    package enum Execution: Sendable {
        /// In one transaction.
        case together
        /// A single statement that can't run in a transaction.
        case alone
        /// In one transaction with the session's `search_path`, because it fires the user's triggers.
        case inSessionsSearchPath
    }

    /// The purpose, as a phrase that fits after "could not".
    package let purpose: String
    package let statements: [String]
    /// The names of the objects that are missing as long as the step is not done, such as `index brocot_tasks_rank`.
    let missing: [String]
    package let lock: Lock
    package let actor: Actor
    package let execution: Execution

    init(
        _ purpose: String, _ statements: [String], missing: [String] = [], lock: Lock, by actor: Actor,
        execution: Execution = .together
    ) {
        self.purpose = purpose
        self.missing = missing
        self.statements = statements
        self.lock = lock
        self.actor = actor
        self.execution = execution
    }
}
