import Ordering
import TestLimit
import Testing

@testable import Administration

@Suite("Names of an order's objects", .usualTimeLimit) struct OrderNamesTests {
    @Test("The triggers fire in the same order, however long the rank column's name is", arguments: 1...59)
    func orderOfTriggers(length: Int) {
        let names = OrderNames(schema: "public", table: "tasks", rank: String(repeating: "r", count: length))
        let before = [names.keepTrigger, names.leaveTrigger, names.requestTrigger]
        #expect(before == before.sorted())
        #expect(names.insertNowTrigger < names.insertTrigger)
        #expect(names.changeNowTrigger < names.requestTrigger)
        #expect((before + [names.insertNowTrigger, names.changeNowTrigger]).allSatisfy { $0.utf8.count <= 63 })
    }

    @Test("The objects of two orders have different names, also if long names of their columns begin alike")
    func longNames() {
        let names = ["a", "b"].map {
            OrderNames(schema: "public", table: "tasks", rank: String(repeating: "r", count: 58) + $0)
        }
        #expect(names[0].keepTrigger != names[1].keepTrigger)
        #expect(names[0].constraint != names[1].constraint)
    }
}
