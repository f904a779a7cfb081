import LibPQ
import Ordering
import QueueHarness
import TestLimit
import TestPostgres
import Testing

@testable import MoveQueue

@Suite("Misbehaving triggers of users", .database, .usualTimeLimit)
struct MisbehavingTriggerTests {
    /// What a trigger on cards does, and the SQLSTATE of the rejection.
    private static let triggers = [
        ("RAISE EXCEPTION 'no' USING ERRCODE = '42501'", "42501"),
        ("RAISE EXCEPTION 'no' USING ERRCODE = '55000'", "55000"),
        ("RAISE EXCEPTION 'no' USING ERRCODE = '40001'", "40001"),
        ("RAISE EXCEPTION 'no' USING ERRCODE = '25006'", "25006"),
        ("RAISE EXCEPTION 'no' USING ERRCODE = '0A000'", "0A000"),
        ("RAISE EXCEPTION 'no' USING ERRCODE = '40P01'", "40P01"),
        ("RAISE EXCEPTION 'no' USING ERRCODE = '53100'", "53100"),
        ("RAISE EXCEPTION 'no' USING ERRCODE = '55P03'", "55P03"),
        ("RAISE EXCEPTION 'no' USING ERRCODE = '57014'", "57014"),
        ("RAISE EXCEPTION 'no' USING ERRCODE = '57P01'", "57P01"),
        ("RAISE EXCEPTION 'no' USING ERRCODE = '58030'", "58030"),
        ("RAISE EXCEPTION 'no' USING ERRCODE = '08006'", "08006"),
        ("RAISE EXCEPTION 'no' USING ERRCODE = 'XX000'", "XX000"),
        ("PERFORM missing_function(1)", "42883"),
        ("RETURN NULL", "09000"),
        ("RETURN OLD", "09000"),
        ("NEW.board := 'elsewhere'", "09000"),
        ("NEW.rank_num := 77; NEW.rank_den := 1", "09000"),
    ]

    /// Such a trigger, and the SQLSTATE, if the trigger changes settings, so that others could suffer.
    private static let triggersOfSettings = [
        ("PERFORM set_config('role', 'nobody', true)", "09000"),
        ("PERFORM set_config('transaction_read_only', 'on', true)", "09000"),
        ("PERFORM set_config('client_encoding', 'LATIN1', true)", "09000"),
        ("PERFORM set_config('client_encoding', 'LATIN1', false)", "09000"),
    ]

    /// Such a trigger, if it deletes or changes requests of the queue, its own and others.
    private static let triggersOfTheQueue = [
        ("DELETE FROM brocot.move_requests", "09000"),
        ("DELETE FROM brocot.move_requests WHERE id > 20", "09000"),
        ("UPDATE brocot.move_requests SET requested_at = now()", "09000"),
        ("IF pg_trigger_depth() = 1 THEN PERFORM brocot.apply_pending(); END IF", "27000"),
    ]

    /// What a trigger may leave behind in the session.
    private static let leftovers = [
        "EXECUTE 'DEALLOCATE ALL'",
        """
        FOR number IN 1 .. 40 LOOP
            IF NOT EXISTS (SELECT FROM pg_prepared_statements WHERE name = 'libpq_statement_' || number) THEN
                EXECUTE format('PREPARE libpq_statement_%s AS SELECT', number);
            END IF;
        END LOOP
        """,
        "EXECUTE 'CREATE TEMPORARY TABLE IF NOT EXISTS text ()'",
        "EXECUTE 'CREATE TEMPORARY TABLE IF NOT EXISTS unnest ()'; EXECUTE 'CREATE TEMPORARY TABLE IF NOT EXISTS move_requests ()'",
        "EXECUTE 'LISTEN flood'; PERFORM pg_notify('flood', repeat('x', 7000) || n) FROM generate_series(1, 1000) AS n",
        """
        PERFORM set_config('row_security', 'on', false), set_config('statement_timeout', '1', false),
            set_config('datestyle', 'German', false), set_config('search_path', 'nowhere', false),
            set_config('array_nulls', 'off', false), set_config('standard_conforming_strings', 'off', false),
            set_config('default_transaction_isolation', 'serializable', false),
            set_config('default_transaction_read_only', 'on', false), set_config('lock_timeout', '1', false),
            set_config('transform_null_equals', 'on', false), set_config('quote_all_identifiers', 'on', false)
        """,
    ]

    private func place(_ item: String, in list: String) -> Move {
        Move(list: ListIdentifier(list, of: "public.cards"), items: [item], action: .place(.first, from: nil))
    }

    /// A table of 40 cards in 20 lists, whose trigger misbehaves for this card, or for each.
    private func fixture(_ trigger: String, card: String? = "7") async throws -> QueueFixture {
        let fixture = try await QueueFixture()
        try await fixture.connection.execute(
            script: """
                DO $$ BEGIN CREATE ROLE nobody; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;
                \(RegisteredTable.cards)
                INSERT INTO cards (board, card) SELECT 'l' || n % 20, n::text FROM generate_series(1, 40) AS n;
                CREATE FUNCTION misbehave() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN \(trigger); RETURN NEW; END $$;
                CREATE TRIGGER misbehave BEFORE UPDATE ON cards FOR EACH ROW
                \(card.map { "WHEN (NEW.card = '\($0)')" } ?? "") EXECUTE FUNCTION misbehave();
                """)
        return fixture
    }

    @Test("A batch that is applied in parts still reports the waiting and the locked lists that it found")
    func claimOfBatchInParts() async throws {
        let fixture = try await fixture("RAISE EXCEPTION 'no'")
        try await fixture.enqueue(["1", "7", "8", "9"].map { place($0, in: "l\($0)") })
        try await fixture.connection.execute("SELECT brocot.pause('public.cards', 'l9')")
        let other = try await TestDatabase.current.connect()
        try await other.execute("SELECT pg_advisory_lock(brocot.list_lock_key('public.cards', 'l8'))")
        let report = try await fixture.runBatch(
            .next(from: .beginning, lists: 4, readingAhead: 10, withPartners: false))
        let lists = ["1", "7", "8", "9"].map { ListIdentifier("l\($0)", of: "public.cards") }
        #expect(report.decisions.count == 2)
        #expect(report.claim.found == 4)
        #expect(report.claim.lastFound == lists[0])
        #expect(Set(report.claim.locked) == [lists[0], lists[1]])
        #expect(report.claim.lockedByOthers == [lists[2]])
        #expect(report.claim.waiting == [lists[3]])
        await other.close()
    }

    @Test("Requests whose triggers misbehave are rejected with their SQLSTATE, and the rest of the batch is applied")
    func rejected() async throws {
        // Card n does as the trigger of number n does.
        let cases = Self.triggers.enumerated().map { "WHEN '\($0.offset + 1)' THEN \($0.element.0);" }
        let fixture = try await fixture("CASE NEW.card \(cases.joined(separator: " ")) ELSE NULL; END CASE", card: nil)
        let ids = try await fixture.enqueue((1...40).map { place("\($0)", in: "l\($0 % 20)") })
        try await fixture.drain()
        let outcomes = try await fixture.outcomes()
        let states = try await fixture.connection.query("SELECT id, sqlstate FROM brocot.move_log")
            .reduce(into: [:]) { try $0[$1.decode(0, as: Int64.self)] = $1.decode(1, as: String?.self) }
        let lists = try await fixture.lists(of: "cards", list: "board", item: "card")
        for (number, (trigger, state)) in zip(1..., Self.triggers) {
            #expect(outcomes[ids[number - 1]] == "failed", "\(trigger)")
            #expect(states[ids[number - 1]] == state, "\(trigger)")
            #expect(lists["l\(number)"] == ["\(number + 20)"], "\(trigger)")
        }
        #expect(ids.dropFirst(Self.triggers.count).allSatisfy { outcomes[$0] == .some(nil) }, "\(outcomes)")
    }

    @Test(
        "A request whose trigger changes settings or the queue is rejected, and the rest of the batch is applied",
        arguments: triggersOfSettings + triggersOfTheQueue)
    func rejectedForItsSideEffects(trigger: String, state: String) async throws {
        let fixture = try await fixture(trigger)
        let moves = (1...40).map { place("\($0)", in: "l\($0 % 20)") }
        let ids = try await fixture.enqueue(moves)
        try await fixture.drain()
        let outcomes = try await fixture.outcomes()
        #expect(ids.map { outcomes[$0] } == (1...40).map { $0 == 7 ? "failed" : .some(nil) })
        let log = try await fixture.connection.query("SELECT sqlstate FROM brocot.move_log WHERE id = \(ids[6])")
        #expect(try log.single().decode(0, as: String.self) == state)
        #expect(try await fixture.lists(of: "cards", list: "board", item: "card")["l7"] == ["27"])
    }

    @Test("A request that another session deletes meanwhile is not taken for a trigger's fault")
    func deletedByAnotherSession() async throws {
        // The first attempt fails. The second one waits, decides card 7, and leaves card 27 for later.
        let fixture = try await fixture(
            """
            CASE NEW.card
                WHEN '7' THEN
                    IF nextval('attempts') = 1 THEN RAISE 'once'; END IF;
                    PERFORM pg_advisory_xact_lock(77);
                WHEN '27' THEN \(Self.wantsLockedRow);
            END CASE
            """, card: nil)
        try await fixture.connection.execute(script: "CREATE SEQUENCE attempts")
        let holder = try await lockRow()
        let ids = try await fixture.enqueue(["7", "27", "27"].map { place($0, in: "l7") })
        let other = try await TestDatabase.current.connect()
        try await other.execute(script: "BEGIN; SELECT pg_advisory_xact_lock(77)")
        let session = try await TestDatabase.current.connect()
        // On a busy machine, a wait may end before anybody sees it.
        let isSeen = Flag()
        let batches = Task {
            var worker = QueueWorker()
            while !isSeen.isSet {
                _ = try? await worker.runTurn(on: session)
                try await Task.sleep(for: .milliseconds(5))
            }
        }
        defer { batches.cancel() }
        try await TestDatabase.current.waitUntilBlocked(session, by: other)
        isSeen.set()
        try await other.execute("DELETE FROM brocot.move_requests WHERE id = \(ids[2])")
        try await other.execute(script: "COMMIT")
        // This batch may fail. Later ones decide the other requests.
        _ = try await batches.result(until: "the batches ended")
        try await holder.execute(script: "COMMIT")
        try await fixture.drain()
        #expect(try await fixture.outcomes() == [ids[0]: nil, ids[1]: nil])
    }

    @Test("A trigger's changes to the session harm no later request", arguments: leftovers)
    func leftBehind(trigger: String) async throws {
        let fixture = try await fixture(trigger)
        let session = try await TestDatabase.current.connect()
        var worker = QueueWorker()
        var ids: [Int64] = []
        for round in 1...3 {
            let moves = (1...40).map { place("\($0)", in: "l\($0 % 20)") }
            let inItems = ["ä", "e\u{301}"].map {
                Move(list: ListIdentifier("r\(round)"), items: [$0], action: .place(.last, from: nil))
            }
            ids += try await fixture.enqueue(moves + inItems)
            try await eventually("no request is pending", pause: .zero) {
                _ = try? await worker.runTurn(on: session)
                return try await fixture.pendingIDs()
            } until: {
                $0.isEmpty
            }
        }
        try await fixture.expectAllApplied(ids)
        let items = try await fixture.connection.query(
            "SELECT DISTINCT encode(convert_to(item, 'UTF8'), 'hex') FROM brocot.items ORDER BY 1")
        #expect(try items.map { try $0.decode(0, as: String.self) } == ["65cc81", "c3a4"])
    }

    @Test("A table whose rows take too long delays no request of another table, in the same batch")
    func slowTable() async throws {
        let fixture = try await fixture("PERFORM pg_sleep(0.15)", card: nil)
        try await fixture.enqueue((1...9).map { place("\($0)", in: "l\($0)") })
        let healthy = try await fixture.enqueue([
            Move(list: ListIdentifier("a list"), items: ["1"], action: .place(.last, from: nil))
        ])
        var limits = BatchLimits()
        limits.statement = .milliseconds(500)
        let report = try await fixture.runBatch(
            .next(from: .beginning, lists: 10, readingAhead: 20, withPartners: false), limits: limits)
        #expect(report.claim.locked.count == 10)
        #expect(try await fixture.outcomes() == [healthy[0]: nil])
        #expect(report.decisions.errorOfSuspected?.databaseError?.sqlState == .queryCanceled)
    }

    @Test("If a batch for a list ends the session, only this list is named, and no list that it exchanges items with")
    func partnersAreNotNamed() async throws {
        let fixture = try await fixture("PERFORM pg_terminate_backend(pg_backend_pid())")
        let (list, partner) = (ListIdentifier("l7", of: "public.cards"), ListIdentifier("l8", of: "public.cards"))
        let change = Move(list: partner, items: ["27"], action: .place(.last, from: list.key))
        try await fixture.enqueue([place("7", in: "l7"), change])
        let transaction = QueueTransaction(QueueConfiguration(), sizes: KnownListSizes())
        for scope in [ClaimScope.suspects([list]), .lists([list])] {
            let session = try await TestDatabase.current.connect()
            let failure = await #expect(throws: BatchFailure.self) {
                _ = try await session.run { connection throws(BatchFailure) in
                    try transaction.run(
                        BatchTask(scope: scope, postponed: .none, limits: BatchLimits()), ReadProgress(), on: connection
                    )
                }
            }
            #expect(failure?.error.isConnectionLost == true)
            #expect(failure?.lists == [list], "\(scope)")
        }
    }

    @Test("A deferred trigger that stands still is stopped by the limit for statements, and delays no other list")
    func standsStillAtCommit() async throws {
        let fixture = try await fixture("RETURN NEW")
        try await fixture.connection.execute(
            script: """
                CREATE FUNCTION stand_still() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(3600); RETURN NULL; END $$;
                CREATE CONSTRAINT TRIGGER stand_still AFTER UPDATE ON cards DEFERRABLE INITIALLY DEFERRED
                    FOR EACH ROW WHEN (NEW.card = '7') EXECUTE FUNCTION stand_still();
                """)
        let healthy = try await fixture.enqueue([place("7", in: "l7"), place("1", in: "l1")])[1]
        let session = try await TestDatabase.current.connect()
        var worker = QueueWorker()
        try await eventually("the request of the other list is decided") {
            _ = try? await worker.runTurn(on: session)
            return try await fixture.outcomes()
        } until: {
            $0[healthy] != nil
        }
        #expect(try await fixture.outcomes() == [healthy: nil])
    }

    @Test(
        "The query of a cursor WITH HOLD that a trigger leaves open does not run at COMMIT",
        arguments: ["together", "in parts"])
    func heldCursor(method: String) async throws {
        let fixture = try await fixture(
            "EXECUTE format('DECLARE %I CURSOR WITH HOLD FOR SELECT 1 / (n - n) FROM generate_series(1, 1) AS n', 'kept_' || random())"
        )
        if method == "in parts" {
            try await fixture.connection.execute("ALTER TABLE brocot.items ADD CONSTRAINT refuse CHECK (item <> 'bad')")
        }
        let ids = try await fixture.enqueue([
            place("7", in: "l7"), place("1", in: "l1"),
            Move(list: "a list", items: ["bad"], action: .place(.last, from: nil)),
        ])
        try await fixture.drain()
        let outcomes = try await fixture.outcomes()
        #expect(outcomes == [ids[0]: nil, ids[1]: nil, ids[2]: method == "in parts" ? "failed" : nil])
    }

    @Test(
        "A trigger or a foreign key that fails only at COMMIT delays no other list, in small and in large batches",
        arguments: [12, 0], ["", "REFERENCES causes DEFERRABLE"])
    func failsAtCommit(halvings: Int, foreignKey: String) async throws {
        let fixture = try await fixture("RETURN NEW")
        // SET CONSTRAINTS ALL IMMEDIATE does not reach an event that a trigger makes deferred meanwhile.
        try await fixture.connection.execute(
            script: """
                CREATE TABLE causes (number bigint PRIMARY KEY);
                CREATE TABLE effects (number bigint \(foreignKey));
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN IF \(foreignKey.isEmpty) THEN RAISE EXCEPTION 'not now'; END IF; RETURN NULL; END $$;
                CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON effects DEFERRABLE INITIALLY DEFERRED
                    FOR EACH ROW EXECUTE FUNCTION refuse();
                CREATE FUNCTION cause() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN SET CONSTRAINTS ALL DEFERRED; INSERT INTO effects VALUES (1); RETURN NULL; END $$;
                CREATE CONSTRAINT TRIGGER cause AFTER UPDATE ON cards DEFERRABLE INITIALLY DEFERRED
                    FOR EACH ROW EXECUTE FUNCTION cause();
                """)
        try await fixture.enqueue((1...3).map { place("\($0)", in: "l\($0)") })
        let healthy = try await fixture.enqueue([
            Move(list: ListIdentifier("a list"), items: ["1"], action: .place(.last, from: nil))
        ])
        let session = try await TestDatabase.current.connect()
        // With 12, as after many failures, a batch is for one list.
        var (worker, share) = (QueueWorker(), BatchShare(halvings: halvings))
        try await eventually("the request of the other list is decided", pause: .zero) {
            do throws(BatchFailure) {
                _ = try await worker.runTurn(share, on: session)
                share.noteSuccess()
            } catch {
                if error.lists.isEmpty { share.noteFailure() }
            }
            return try await fixture.outcomes()
        } until: {
            $0[healthy[0]] != nil
        }
        #expect(try await fixture.outcomes() == [healthy[0]: nil])
    }

    /// Keeps a row that a trigger wants to lock, as long as the connection is there.
    private static let wantsLockedRow = "PERFORM FROM taken FOR UPDATE NOWAIT"

    private func lockRow() async throws -> Connection {
        let holder = try await TestDatabase.current.connect()
        try await holder.execute(script: "CREATE TABLE taken (number bigint); INSERT INTO taken VALUES (1)")
        try await holder.execute(script: "BEGIN; SELECT FROM taken FOR UPDATE")
        return holder
    }

    @Test("A request whose trigger meets a locked row stays pending, and other lists continue")
    func environment() async throws {
        let fixture = try await fixture(Self.wantsLockedRow)
        let holder = try await lockRow()
        let ids = try await fixture.enqueue((1...40).map { place("\($0)", in: "l\($0 % 20)") })
        var worker = QueueWorker()
        let pending = try await eventually("the requests of the other lists are decided", pause: .zero) {
            _ = try await worker.runTurnDespiteTimeout(on: fixture.connection)
            return try await fixture.pendingIDs()
        } until: {
            $0.count <= 2
        }
        #expect(pending == [ids[6], ids[26]])
        try await holder.execute(script: "COMMIT")
        try await fixture.drain()
        try await fixture.expectAllApplied(ids)
    }

    @Test("A request that a trigger refuses at first, and whose trigger then meets a locked row, stays pending")
    func refusedAndThenLocked() async throws {
        // A batch tries a request that is refused up to three times, after it has tried all of them together.
        let fixture = try await fixture(
            """
            IF nextval(('attempts_' || NEW.card)::regclass) <= 2 THEN RAISE EXCEPTION 'no'; END IF;
            \(Self.wantsLockedRow)
            """, card: nil)
        for card in 7...9 { try await fixture.connection.execute(script: "CREATE SEQUENCE attempts_\(card)") }
        let holder = try await lockRow()
        let ids = try await fixture.enqueue((7...9).map { place("\($0)", in: "l\($0)") })
        let report = try await fixture.runBatch(
            .next(from: .beginning, lists: 10, readingAhead: 20, withPartners: false))
        #expect(report.claim.locked.count == 3)
        #expect(try await fixture.pendingIDs() == ids)
        #expect(try await fixture.outcomes().isEmpty)
        try await holder.execute(script: "COMMIT")
        try await fixture.drain()
        #expect(try await fixture.outcomes() == [ids[0]: nil, ids[1]: nil, ids[2]: nil])
    }

    /// 400 lists whose requests a trigger refuses, and pending requests of them.
    private func fixtureOfManyLists(_ trigger: String) async throws -> QueueFixture {
        let fixture = try await fixture("IF NEW.board LIKE 'bad%' THEN \(trigger); END IF")
        try await fixture.connection.execute(
            script: """
                DROP TRIGGER misbehave ON cards;
                CREATE TRIGGER misbehave BEFORE UPDATE ON cards FOR EACH ROW EXECUTE FUNCTION misbehave();
                INSERT INTO cards (board, card) SELECT 'bad' || n, 'x' FROM generate_series(1, 400) AS n;
                """)
        return fixture
    }

    @Test("Hundreds of failing lists are found in few batches, and delay no other list")
    func manyLists() async throws {
        let fixture = try await fixtureOfManyLists(Self.wantsLockedRow)
        let holder = try await lockRow()
        // In the order of a round, the healthy list comes last.
        try await fixture.enqueue((1...400).map { place("x", in: "bad\($0)") } + [place("7", in: "a7")])
        try await fixture.connection.execute(script: "INSERT INTO cards (board, card) VALUES ('a7', '7')")
        var (worker, failed, batches): (QueueWorker, Set<ListIdentifier>, Int) = (QueueWorker(), [], 0)
        while failed.count < 400 {
            batches += 1
            try #require(batches <= 120, "\(failed.count) of 400 lists are known to fail after 120 batches")
            failed.formUnion(try await worker.runTurnDespiteTimeout(on: fixture.connection).failures.map(\.list))
        }
        // Turns for postponed lists alternate with turns for all other lists.
        for _ in 1...2 { _ = try await worker.runTurnDespiteTimeout(on: fixture.connection) }
        #expect(try await fixture.outcomes().count == 1)
        try await holder.execute(script: "COMMIT")
        try await fixture.drain()
        #expect(try await fixture.outcomes().count == 401)
    }

    @Test("Hundreds of requests that a trigger refuses are rejected in few batches")
    func manyRequests() async throws {
        let fixture = try await fixtureOfManyLists("RETURN NULL")
        try await fixture.enqueue((1...400).map { place("x", in: "bad\($0)") } + [place("7", in: "l7")])
        var (worker, batches) = (QueueWorker(), 0)
        while try await !fixture.connection.query("SELECT FROM brocot.move_requests").isEmpty {
            batches += 1
            try #require(batches <= 120, "requests are pending after 120 batches")
            _ = try await worker.runTurnDespiteTimeout(on: fixture.connection)
        }
        #expect(try await fixture.outcomes().values.filter { $0 == "failed" }.count == 400)
    }
}
