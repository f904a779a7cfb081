import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Daemon
@testable import LibPQ
@testable import MoveQueue

@Suite("What a worker remembers", .usualTimeLimit) struct WorkerMemoryTests {
    private let list = ListIdentifier("a")
    private let recorder = LogRecorder()

    private func failure(_ state: SQLState) -> BatchFailure {
        let error = PostgresError(fields: .init(code: .server, message: "refused", sqlState: state))
        return BatchFailure(.database(error), lists: [list])
    }

    private func decided(_ lists: [ListIdentifier]) -> WorkerRound.TurnResult {
        var report = BatchReport()
        (report.claim.locked, report.decisions.applied) = (lists, 1)
        return .decided(report)
    }

    private var messages: [String] { recorder.entries.map(\.message) }

    @Test("A list needs a person after a failure that does not pass by itself, until a batch with it succeeds")
    func needsPerson() {
        var memory = WorkerMemory(recorder.logger(), drains: true)
        memory.note(failure(.deadlockDetected))
        #expect(!memory.needPerson([list]))
        memory.note(failure(.insufficientPrivilege))
        #expect(memory.needPerson([list]))
        #expect(!memory.needPerson([list, ListIdentifier("b")]))
        memory.note(decided([ListIdentifier("b")]))
        #expect(memory.needPerson([list]))
        memory.note(decided([list]))
        #expect(!memory.needPerson([list]))
    }

    @Test(
        "A drain need not wait for a list whose table, or an object that it names, is missing or has another type",
        arguments: ["42703", "42P01", "42883", "42704", "3F000", "42804", "42846", "0A000"])
    func missingObjects(state: String) {
        var memory = WorkerMemory(recorder.logger(), drains: true)
        memory.note(failure(SQLState(rawValue: state)))
        #expect(memory.needPerson([list]))
    }

    @Test("A connection that can't be used, although it is not lost, is logged as such") func unusableConnection() {
        var memory = WorkerMemory(recorder.logger(), drains: false)
        for isLost in [false, true] {
            let error = PostgresError(
                fields: .init(code: .server, message: "lost: \(isLost)", isConnectionLost: isLost))
            memory.noteLostConnection(error, suspects: [])
        }
        #expect(
            messages == ["the connection can't be used; trying a new one", "lost the connection; trying again"])
    }

    @Test(
        "A person is told of new rows that got no place because the database refuses to write them, and of no other rejection"
    )
    func refusedArrivals() {
        var memory = WorkerMemory(recorder.logger(), drains: false)
        var report = BatchReport()
        let refused = Rejection(.failed, "permission denied for table audit", sqlState: "42501")
        for (id, action, rejection): (Int64, Move.Action, Rejection) in [
            (1, .arrive, Rejection(.unknownOrderedTable, "")), (2, .place(.last), refused),
            (3, .arrive, refused),
            (4, .arrive, refused),
        ] {
            let request = PendingRequest(id: id, move: Move(list: list, items: ["x"], action: action))
            report.decisions.count(Decision(request: request, result: MoveResult(outcome: .rejected(rejection))))
        }
        memory.note(.decided(report))
        #expect(messages == ["new rows got no place, because the database refuses to write their rank"])
        #expect(recorder.entries[0].metadata["next_step"] == "Remove the cause, then: brocot retry 3")
    }

    @Test("An outage ends when nothing is pending, and not with a batch that may contain other lists")
    func endOfOutage() {
        var memory = WorkerMemory(recorder.logger(), drains: false)
        memory.note(failure(.insufficientPrivilege))
        memory.note(decided([ListIdentifier("b")]))
        #expect(messages == ["nothing was decided; trying again"])
        memory.note(.idle)
        #expect(messages.last == "batches no longer fail")
    }

    @Test("A search for the cause of a failure is logged when it begins, and not again while it goes on") func search()
    {
        var memory = WorkerMemory(recorder.logger(), drains: false)
        var report = BatchReport()
        report.decisions.errorOfSuspected = failure(.queryCanceled).error
        for _ in 1...3 { memory.note(.undecided(report)) }
        #expect(messages == ["some requests were not decided; trying them again in smaller batches"])
        memory.note(failure(.queryCanceled))
        #expect(messages.last == "nothing was decided; trying again", "the same error, of the list that causes it")
        memory.note(.idle)
        #expect(messages.last == "batches no longer need to be smaller")
    }

    @Test("Batches get larger after each one that did not fail, whether it decided requests or not")
    func share() {
        var memory = WorkerMemory(recorder.logger(), drains: false)
        var sizes = [memory.share.divisor]
        for result in [decided([list]), .undecided(BatchReport()), .idle, .waiting, decided([list])] {
            memory.note(result)
            sizes.append(memory.share.divisor)
        }
        #expect(sizes == [16, 8, 4, 4, 2, 1])
    }
}
