/// One privilege on one object, which the server can confirm or deny for a role.
struct RequiredPrivilege: Sendable {
    let kind: String
    let object: String
    let privilege: String
    let column: String?

    /// One element for each privilege of the rights, and for each of its columns.
    static func all(of rights: [AccessRight]) -> [RequiredPrivilege] {
        rights.flatMap { right in
            right.privileges.flatMap { privilege in
                let columns: [String?] = privilege.columns.isEmpty ? [nil] : privilege.columns
                return columns.map { column in
                    RequiredPrivilege(
                        kind: right.object.kind, object: right.quotedObject, privilege: privilege.name, column: column)
                }
            }
        }
    }

    var description: String {
        "\(privilege)\(column.map { " (\($0))" } ?? "") on \(object)"
    }
}
