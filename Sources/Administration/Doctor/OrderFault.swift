import Ordering

/// What is wrong with an attached table, or with its row of the registry.
struct OrderFault {
    let message: String
    /// What to do.
    let advice: String

    /// Missing key columns are left to the check of tables, which all roles can run.
    static func all(of definition: OrderDefinition, on table: TableDescription) -> [OrderFault] {
        let names = definition.names
        var faults: [OrderFault] = []
        if let fault = table.faultOfCondition {
            faults.append(
                OrderFault(
                    message: "\(names.orderedTable): the condition of visibility fails: \(fault)",
                    advice:
                        "Restore what it names, or repeat brocot attach with another --visible and with --change-options."
                ))
        }
        faults += table.othersWithTriggers.map { other in
            OrderFault(
                message: "\(other.schema).\(other.table) has the triggers of \(names.orderedTable) too",
                advice: "\(other.adviceToDropTriggers).")
        }
        if table.registered?.isBeingFilled == true {
            faults.append(
                OrderFault(
                    message: "brocot attach of \(names.orderedTable) is not finished, so its requests wait",
                    advice: "Run the same brocot attach again, or \(names.detachCommand)."))
            return faults
        }
        if let fault = ChangedKeys(definition, on: table).fault {
            faults.append(
                OrderFault(
                    message: "\(names.orderedTable): \(fault)",
                    advice: "New rows get no place until the table is attached again."))
            return faults
        }
        guard definition.keyColumns.allSatisfy({ table.column($0) != nil }) else { return faults }
        do throws(AttachError) {
            let missing = try AttachPlan(definition, on: table).steps.flatMap(\.missing)
            if !missing.isEmpty {
                faults.append(
                    OrderFault(
                        message: "missing in \(names.orderedTable): \(missing.joined(separator: ", "))",
                        advice: "As the owner of the table: brocot check --repair"))
            }
        } catch {
            // The condition of visibility has its own fault.
            guard table.faultOfCondition == nil else { return faults }
            faults.append(
                OrderFault(
                    message: "\(names.orderedTable): \(names.withoutTable("\(error)"))",
                    advice: "Do what the message says as the owner of the table; brocot check --repair can't."))
        }
        return faults
    }
}
