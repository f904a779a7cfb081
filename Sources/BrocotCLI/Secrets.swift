/// Keeps passwords out of what is printed.
enum Secrets {
    /// The text with every URL and every `password=…` in it replaced: somebody who forgets the name of an
    /// option gets the argument repeated, and it may be their database's URL.
    static func masked(_ text: String) -> String {
        text.replacing(/([A-Za-z][A-Za-z0-9+.\-]*):\/\/[^\s'"]*/) { "\($0.1)://…" }
            .replacing(/(?i)password\s*=\s*('[^']*'|[^\s'"]*)/, with: "password=…")
    }
}
