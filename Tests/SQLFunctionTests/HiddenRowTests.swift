import LibPQ
import TestLimit
import TestPostgres
import Testing

/// What docs/sql.md says of policies that hide some rows of a list.
@Suite("Moves at once by a role that sees a part of a list", .database, .usualTimeLimit)
struct HiddenRowTests {
    /// Gives `body` a session of a mover. List 1 has the items 0 to 5, each with its own number as its rank.
    private func asMover(
        policies: String, _ body: (Connection, _ order: () async throws -> String) async throws -> Void
    ) async throws {
        let caller = try await SQLCaller()
        let owner = caller.connection
        try await caller.createTasks(lists: ["1"], items: (0...5).map(String.init))
        try await owner.execute(
            script: """
                SELECT brocot.move_items_now(1, '{0,1,2,3,4,5}'::bigint[], last => true, ordered_table => 'public.tasks');
                ALTER TABLE tasks ENABLE ROW LEVEL SECURITY; \(policies)
                """)
        try await GrantedRole.with(.mover, owner: owner) { roles in
            try await body(roles[0].connect()) {
                try await owner.query("SELECT string_agg(id || '/' || rank, ' ' ORDER BY rank) FROM tasks").single()
                    .decode(0)
            }
        }
    }

    @Test(
        "A move to the rank of a hidden row fails with 23505, again and again, and changes nothing",
        arguments: ["1, 5, first => true", "1, 1, after => 3"])
    func rankOfHiddenRow(move: String) async throws {
        try await asMover(policies: "CREATE POLICY odd ON tasks USING (id % 2 = 1)") { mover, order in
            let before = try await order()
            #expect(before == "0/0 1/1 2/2 3/3 4/4 5/5")
            for _ in 1...2 {
                let error = await mover.refusal(
                    ofScript: "SELECT brocot.move_now(\(move), ordered_table => 'public.tasks')")
                #expect(error?.sqlState == .uniqueViolation && error?.constraint == "brocot_tasks_rank")
                #expect(try await order() == before)
            }
        }
    }

    @Test(
        "A hidden item is item_not_found, a hidden anchor is anchor_not_found, and to remove a hidden item changes nothing"
    )
    func hiddenItem() async throws {
        try await asMover(policies: "CREATE POLICY odd ON tasks USING (id % 2 = 1)") { mover, order in
            let before = try await order()
            for (move, state) in [("1, 2, last => true", "RK005"), ("1, 1, after => 2", "RK004")] {
                let error = await mover.refusal(
                    ofScript: "SELECT brocot.move_now(\(move), ordered_table => 'public.tasks')")
                #expect(error?.sqlState?.rawValue == state)
            }
            try await mover.execute("SELECT brocot.remove_now(1, 2, ordered_table => 'public.tasks')")
            #expect(try await order() == before)
        }
    }

    @Test(
        "Without a policy for UPDATE, moves and removals of several rows fail with 55000",
        arguments: [
            "move_now(1, 5, first => true", "move_items_now(1, '{4,5}'::bigint[], first => true", "remove_now(1, 5",
            "remove_items_now(1, '{4,5}'::bigint[]",
        ])
    func noPolicyForUpdate(call: String) async throws {
        try await asMover(policies: "CREATE POLICY readers ON tasks FOR SELECT USING (true)") { mover, order in
            let before = try await order()
            let error = await mover.refusal(ofScript: "SELECT brocot.\(call), ordered_table => 'public.tasks')")
            #expect(error?.sqlState?.rawValue == "55000", "\(String(describing: error))")
            #expect(try await order() == before)
        }
    }

    @Test(
        "A removal that only deletes rows needs no policy for UPDATE if it deletes one row, and fails with 55000 without one if it deletes several",
        arguments: [("remove_now('l', 'a')", true), ("remove_items_now('l', '{a,b}')", false)])
    func deletion(call: String, isOfOneRow: Bool) async throws {
        let owner = try await TestDatabase.current.connect()
        try await owner.execute(
            script: """
                SELECT brocot.move_items_now('l', '{a,b,c}', last => true);
                ALTER TABLE brocot.items ENABLE ROW LEVEL SECURITY;
                CREATE POLICY readers ON brocot.items FOR SELECT USING (true);
                CREATE POLICY removers ON brocot.items FOR DELETE USING (true);
                """)
        try await GrantedRole.with(.mover, owner: owner) { roles in
            let mover = try await roles[0].connect()
            let error = await mover.refusal(ofScript: "SELECT brocot.\(call)")
            #expect(error?.sqlState?.rawValue == (isOfOneRow ? nil : "55000"), "\(String(describing: error))")
            #expect(try await owner.query("SELECT FROM brocot.items").count == (isOfOneRow ? 2 : 3))
        }
    }
}
