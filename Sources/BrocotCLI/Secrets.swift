/// Keeps passwords out of what is printed.
enum Secrets {
    /// The text with every URL and every `password=…` in it replaced. Messages about wrong arguments and settings repeat them, and they
    /// may be the database's URL, for example if the name of the option was forgotten.
    static func masked(_ text: String) -> String {
        // A quote in a URL may be a character of the password. The quote that ends an argument in a message is kept.
        text.replacing(/([A-Za-z][A-Za-z0-9+.\-]*):\/\/\S*?(['"]?[.,;:]?)(?=\s|$)/) { "\($0.1)://…\($0.2)" }
            .replacing(/(?i)password\s*=\s*('([^'\\]|\\.)*'?|[^\s'"]*)/, with: "password=…")
    }
}
