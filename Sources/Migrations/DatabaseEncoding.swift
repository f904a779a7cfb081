/// What Brocot needs of a database's encoding.
package enum DatabaseEncoding {
    /// Why Brocot can't use a database with this encoding; nil if it can. The names are those of the server, such as `UTF8`.
    package static func fault(of encoding: String) -> String? {
        switch encoding {
        case "UTF8": nil
        case "SQL_ASCII":
            "the server accepts text that is not UTF-8, and requests with such text keep other lists waiting"
        default: "it lacks characters that keys, and Brocot's own statements, may contain"
        }
    }

    package static let advice = "Use a database with ENCODING UTF8."
}
