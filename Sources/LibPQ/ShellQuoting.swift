/// Commands in messages, such as those of psql.
extension String {
    /// The text as one word of a shell. It is quoted unless it consists of letters, digits, dots, underscores, slashes and inner hyphens of
    /// ASCII.
    package var quotedForShell: String {
        wholeMatch(of: /[A-Za-z0-9._\/][A-Za-z0-9._\/\-]*/) != nil ? self : "'" + replacing("'", with: #"'\''"#) + "'"
    }
}
