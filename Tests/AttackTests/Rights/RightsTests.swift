import LibPQ
import Migrations
import TestLimit
import TestPostgres
import Testing

@Suite("Rights on the objects of schema brocot", .database(migrated: false), .usualTimeLimit)
struct RightsTests {
    @Test(
        "Each role has exactly the rights that AllowedRights.swift lists, whatever the default privileges are",
        arguments: ["", "ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC"])
    func rightsAreThoseListed(defaultPrivileges: String) async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(script: defaultPrivileges)
        _ = try await Migrator(connection: connection).up()
        var found: [String: AllowedRights.Row] = [:]
        for kind in AttackingRole.allCases {
            let rights = try await kind.with { try await EffectiveRights.read(of: $0, on: connection) }
            for (object, privileges) in rights { found[object, default: [:]][kind] = privileges }
        }
        let allowed = try AllowedRights.parse(AllowedRights.table)
        for object in Set(found.keys).union(allowed.keys).sorted() {
            let there = found[object].map { AllowedRights.line(object, $0) }
            let listed = allowed[object].map { AllowedRights.line(object, $0) }
            #expect(there == listed, "An object without a line is new: weigh who may use it.")
        }
    }
}
