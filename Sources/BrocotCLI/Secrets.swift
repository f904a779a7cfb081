/// Keeps passwords out of what is printed.
enum Secrets {
    /// The text with every URL and every `password=…` in it replaced. Messages about wrong arguments repeat the argument, which
    /// may be the database's URL if the name of the option was forgotten.
    static func masked(_ text: String) -> String {
        text.replacing(/([A-Za-z][A-Za-z0-9+.\-]*):\/\/[^\s'"]*/) { "\($0.1)://…" }
            .replacing(/(?i)password\s*=\s*('[^']*'|[^\s'"]*)/, with: "password=…")
    }
}
