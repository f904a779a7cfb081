import Ordering

/// A software team's backlog, and what happens to it in a week.
enum DemoBacklog {
    static let list: ListIdentifier = "backlog"

    static let items = [
        "Export invoices as CSV", "Dark mode", "Search by customer name", "Passkeys for sign-in",
        "Move to PostgreSQL 17",
        "Reminders arrive an hour late", "Rate limit for the API", "Tour for new users",
    ]

    /// An event, and the call with which an application reacts.
    struct Event {
        let reason: String
        let call: String
    }

    /// The events of the week. Each call moves one or two items.
    static let week = [
        Event(
            reason: "Two customers missed their appointments",
            call: "brocot.move('backlog', 'Reminders arrive an hour late', first => true)"),
        Event(
            reason: "These two go together",
            call: """
                brocot.move_items('backlog', ARRAY['Passkeys for sign-in', 'Tour for new users'], after => 'Dark mode')
                """),
        Event(
            reason: "The auditor wants it third",
            call: "brocot.move('backlog', 'Move to PostgreSQL 17', at => 2)"),
    ]
}
