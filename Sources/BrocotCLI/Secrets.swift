/// Keeps passwords out of what is printed.
enum Secrets {
    /// The text with every connection URL and every `password=…` in it replaced: somebody who forgets the name of an
    /// option gets the argument repeated, and it may be their database's URL.
    static func masked(_ text: String) -> String {
        text.replacing(/postgres(ql)?:\/\/[^\s'"]*/, with: "postgresql://…")
            .replacing(/(?i)password\s*=\s*('[^']*'|[^\s'"]*)/, with: "password=…")
    }
}
