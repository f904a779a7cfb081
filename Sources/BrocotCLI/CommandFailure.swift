/// The failure of a command, with a message for people.
struct CommandFailure: Error, CustomStringConvertible {
    let status: ExitStatus
    let description: String

    /// A message about wrong usage may repeat an argument or a setting, so secrets in it are masked.
    init(_ status: ExitStatus, _ description: String) {
        self.status = status
        self.description = status == .usage ? Secrets.masked(description) : description
    }
}
