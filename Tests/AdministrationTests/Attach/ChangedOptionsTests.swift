import LibPQ
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("Options that change while a table stays attached", .database, .usualTimeLimit)
struct ChangedOptionsTests {
    private static let everyOption = [
        AttachFixture.definition(),
        AttachFixture.definition(arrive: .first),
        AttachFixture.definition(arrive: .none),
        AttachFixture.definition(arriveNow: true),
        AttachFixture.definition(visible: "(title IS NOT NULL)"),
        AttachFixture.definition(ownsRows: true),
    ]

    private let order = "SELECT string_agg(title, '' ORDER BY rank) FROM tasks WHERE project_id = 1"

    private func registryAndCatalog(_ fixture: AttachFixture) async throws -> [String] {
        try await fixture.catalog()
            + fixture.texts("SELECT to_jsonb(known) FROM brocot.ordered_tables AS known ORDER BY name")
            // The functions for moves at once.
            + fixture.texts(
                "SELECT prosrc FROM pg_proc WHERE pronamespace = 'brocot'::regnamespace AND proname ~ '_[0-9a-f]{16}$' ORDER BY proname"
            )
    }

    /// A path through the indices of ``everyOption`` that makes each change from one option to another exactly once. It
    /// begins at 0. From each index it goes to all later indices and back, to the next one last. At the end it goes
    /// back to 0.
    private static var everyChange: [Int] {
        let (count, starts) = (everyOption.count, 0..<everyOption.count - 1)
        return starts.flatMap { start in (start + 2..<count).flatMap { [$0, start] } + [start + 1] } + starts.reversed()
    }

    @Test("A table whose options were changed is as if it had been attached with them") func sameAsAttached()
        async throws
    {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        var attached: [[String]] = []
        for definition in Self.everyOption {
            try await fixture.attach(definition, orderBy: "title")
            attached.append(try await registryAndCatalog(fixture))
            try await fixture.detach(droppingColumns: false)
        }
        var former = Self.everyOption[0]
        try await fixture.attach(former)
        for number in Self.everyChange {
            let definition = Self.everyOption[number]
            try await fixture.attach(definition, mayChangeOptions: true)
            #expect(try await registryAndCatalog(fixture) == attached[number], "from \(former) to \(definition)")
            #expect(try await fixture.attacher.plan(definition).steps.isEmpty, "from \(former) to \(definition)")
            former = definition
        }
        #expect(try await fixture.texts(order) == ["abc"])
    }

    @Test(
        "Removing an item at once keeps its row after --owns-rows was taken away, and deletes it after --owns-rows was given"
    )
    func ownedRows() async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        try await fixture.attach(AttachFixture.definition(ownsRows: true), orderBy: "title")
        let remove =
            "SELECT brocot.remove_now(1, min(id), ordered_table => 'public.tasks') FROM tasks WHERE rank IS NOT NULL AND project_id = 1"
        let counts = "SELECT count(*) || '/' || count(rank) FROM tasks WHERE project_id = 1"
        try await fixture.attach(AttachFixture.definition(), mayChangeOptions: true)
        try await fixture.connection.execute(script: remove)
        #expect(try await fixture.texts(counts) == ["3/2"])
        try await fixture.attach(AttachFixture.definition(ownsRows: true), mayChangeOptions: true)
        try await fixture.connection.execute(script: remove)
        #expect(try await fixture.texts(counts) == ["2/1"])
    }

    @Test("brocot check finds functions for moves at once that were made for another value of --owns-rows")
    func functionsOfFormerOption() async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        try await fixture.attach()
        try await fixture.connection.execute("UPDATE brocot.ordered_tables SET owns_rows = true WHERE name <> 'items'")
        let found = try await fixture.repairAsRegistered()
        #expect(found.lines() == ["missing: functions for moves at once"])
    }

    @Test("New rows are placed as the changed options say") func arrival() async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        try await fixture.attach(orderBy: "title")
        try await fixture.attach(AttachFixture.definition(arrive: .first, arriveNow: true), mayChangeOptions: true)
        try await fixture.connection.execute(script: "INSERT INTO tasks (project_id, title) VALUES (1, 'd')")
        #expect(try await fixture.texts(order) == ["dabc"])
        try await fixture.attach(mayChangeOptions: true)
        try await fixture.connection.execute(script: "INSERT INTO tasks (project_id, title) VALUES (1, 'e')")
        #expect(try await fixture.requests() == ["public.tasks 1 {7} arrive"])
    }

    @Test("Pending requests are decided after the options have changed") func pendingRequests() async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        try await fixture.attach(orderBy: "title")
        try await fixture.connection.execute(
            script: "SELECT brocot.move('1', '1', first => true, ordered_table => 'public.tasks')")
        try await fixture.attach(AttachFixture.definition(visible: "(title <> 'a')"), mayChangeOptions: true)
        try await fixture.connection.execute(script: "SELECT brocot.apply_pending()")
        #expect(try await fixture.texts(order) == ["cab"])
    }

    @Test("A condition of visibility that fails can be replaced") func brokenCondition() async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        try await fixture.attach(AttachFixture.definition(visible: "(title IS NOT NULL)"))
        try await fixture.connection.execute(script: "ALTER TABLE tasks RENAME title TO name")
        let refusal = await refusal {
            try await fixture.attach(AttachFixture.definition(visible: "(title IS NOT NULL)"), mayChangeOptions: true)
        }
        #expect(refusal?.contains("the condition of visibility fails") == true, "\(refusal ?? "")")
        let definition = AttachFixture.definition(visible: "(name IS NOT NULL)")
        try await fixture.attach(definition, mayChangeOptions: true)
        #expect(try await fixture.attacher.plan(definition).steps.isEmpty)
    }

    @Test("A change of options that was interrupted after any step is continued by brocot attach")
    func interrupted() async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        try await fixture.attach(orderBy: "title")
        let changed = AttachFixture.definition(arrive: .first, arriveNow: true)
        try await fixture.attach(changed, mayChangeOptions: true)
        let finished = try await registryAndCatalog(fixture)
        for (former, wanted) in [
            (AttachFixture.definition(), changed), (AttachFixture.definition(arrive: .none), changed),
        ] {
            try await fixture.attach(former, mayChangeOptions: true)
            let steps = try await fixture.attacher.plan(wanted, mayChangeOptions: true).steps
            #expect(steps.count > 1)
            for count in 1...steps.count {
                try await fixture.attach(former, mayChangeOptions: true)
                for step in steps.prefix(count) {
                    try await fixture.attacher.run(step, on: AttachFixture.definition().names)
                }
                try await fixture.attach(wanted)
                #expect(try await registryAndCatalog(fixture) == finished, "after \(count) steps")
            }
        }
    }
}
