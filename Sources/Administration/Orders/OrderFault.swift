/// Something that is wrong with an order, or with the registry.
struct OrderFault: Hashable, Sendable {
    /// What is wrong. If ``OrderFaults`` found it, the message does not contain the name of the order.
    let message: String
    /// What to do.
    let advice: String

    /// What is wrong and what to do, for people.
    var text: String { "\(message). \(advice)" }
}
