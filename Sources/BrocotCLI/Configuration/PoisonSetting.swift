import MoveQueue
import Ordering

/// The setting for poison messages (requests that the database refuses), for all tables and for single ones:
/// `hold, public.cards=skip`.
struct PoisonSetting: Sendable, CustomStringConvertible {
    /// The possible values, as text for messages.
    static let wanted = "skip or hold, or for one table such as public.cards=hold, several separated by commas"

    /// The policy for tables without a policy of their own, here or in the registry.
    private(set) var standard: PoisonPolicy?
    private(set) var tables: [ExactText: PoisonPolicy] = [:]

    init() {}

    /// Nil if the text is not a valid value. If a table occurs twice, the later policy counts.
    init?(_ text: String) {
        var name = ""
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            // A table's name may contain commas and equals signs. So an entry ends only after a policy.
            let entry = name + part
            if name.isEmpty, let policy = Self.policy(part) {
                standard = policy
            } else if let sign = entry.lastIndex(of: "="), let policy = Self.policy(entry[entry.index(after: sign)...])
            {
                let table = String(entry[..<sign].trimming(" "))
                guard !table.isEmpty else { return nil }
                tables[ExactText(table)] = policy
                name = ""
            } else {
                name = entry + ","
            }
        }
        guard name.isEmpty else { return nil }
    }

    private static func policy(_ text: some StringProtocol) -> PoisonPolicy? {
        PoisonPolicy(rawValue: String(Substring(text).trimming(" ")))
    }

    var description: String {
        let entries = tables.map { "\($0.key.text)=\($0.value.rawValue)" }.sorted()
        return ([(standard ?? .skip).rawValue] + entries).joined(separator: ", ")
    }
}

extension Substring {
    fileprivate func trimming(_ character: Character) -> Substring {
        let start = drop { $0 == character }
        guard let end = start.lastIndex(where: { $0 != character }) else { return start }
        return start[...end]
    }
}
