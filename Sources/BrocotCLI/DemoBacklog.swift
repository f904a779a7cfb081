import Ordering

/// A software team's backlog, and one week of its life.
enum DemoBacklog {
    static let list: ListIdentifier = "backlog"

    static let items = [
        "Export invoices as CSV", "Dark mode", "Search by customer name", "Passkeys for sign-in",
        "Move to PostgreSQL 17",
        "Reminders arrive an hour late", "Rate limit for the API", "Tour for new users",
    ]

    /// Something that happened, and the call that an application makes of it.
    struct Event {
        let reason: String
        let call: String
    }

    static let week = [
        Event(
            reason: "Two customers missed their appointments",
            call: "brocot.move('backlog', 'Reminders arrive an hour late', first => true)"),
        Event(
            reason: "A script took the API down on Tuesday",
            call: "brocot.move('backlog', 'Rate limit for the API', after => 'Reminders arrive an hour late')"),
        Event(
            reason: "Not this quarter",
            call: "brocot.move('backlog', 'Dark mode', last => true)"),
        Event(
            reason: "Found on Wednesday, and new in the list",
            call: "brocot.move('backlog', 'Crash on empty file names', before => 'Rate limit for the API')"),
        Event(
            reason: "These two go together",
            call: """
                brocot.move_items('backlog', ARRAY['Passkeys for sign-in', 'Tour for new users'], \
                after => 'Rate limit for the API')
                """),
        Event(
            reason: "Shipped on Thursday",
            call: "brocot.remove('backlog', 'Export invoices as CSV')"),
        Event(
            reason: "The auditor wants it third",
            call: "brocot.move('backlog', 'Move to PostgreSQL 17', at => 2)"),
    ]
}
