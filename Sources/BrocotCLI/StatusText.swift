import Administration

/// The text of `brocot status` for people.
struct StatusText {
    private let status: QueueStatus
    private let isOfStandby: Bool
    private let limit: Int

    init(_ status: QueueStatus, isOfStandby: Bool, limit: Int) {
        self.status = status
        self.isOfStandby = isOfStandby
        self.limit = limit
    }

    var text: String {
        [summary, lists, rejections, beingAttached, heldLists, paused].filter { !$0.isEmpty }
            .map { $0.joined(separator: "\n") }.joined(separator: "\n\n")
    }

    private var summary: [String] {
        let pending = "\(status.pendingIsEstimate ? "~" : "")\(status.pending)"
        let age = status.oldestAgeSeconds.map { ", the oldest for \(Self.age($0))" } ?? ""
        let rows =
            [["pending", pending + age]]
            + status.throughput.map { period in
                let sign = period.isMinimum ? "≥" : ""
                return [
                    "last \(period.period)", "\(sign)\(period.applied) applied, \(sign)\(period.rejected) rejected",
                ]
            }
            + [["held lists", "\(status.heldListCount)"], ["daemons", daemons]]
        return rows.map { "\($0[0].padded(to: 16))\($0[1])" }
    }

    private var daemons: String {
        guard !isOfStandby else { return "not known on a standby: ask the primary" }
        guard status.daemons.isEmpty else { return LiveDaemon.summary(of: status.daemons) }
        return status.pending == 0 ? "none" : "none, and requests wait. Start one: brocot daemon"
    }

    private var lists: [String] {
        guard !status.lists.isEmpty, limit > 0 else { return [] }
        let shown = status.lists.prefix(limit)
        let table = ColumnText(
            header: ["table", "list", "pending", "oldest"], alignments: [.left, .left, .right, .right],
            rows: shown.map { list in
                [
                    list.table.quotedIfUnprintable, list.list.quotedIfUnprintable,
                    "\(list.pendingIsMinimum ? "≥" : "")\(list.pending)", Self.age(list.oldestAgeSeconds),
                ]
            })
        let more = status.lists.count - shown.count
        let rest =
            status.listsAreIncomplete
            ? ["… and more: only the first \(status.lists.count) lists by name were looked up"]
            : more > 0 ? ["… and \(more) more list\(more == 1 ? "" : "s")"] : []
        return table.lines + rest
    }

    private var rejections: [String] {
        guard !status.rejections.isEmpty else { return [] }
        return ColumnText(
            header: ["rejected in the last hour", "table", "requests", "last at"],
            alignments: [.left, .left, .right, .left],
            rows: status.rejections.map {
                [$0.errorCode, $0.table.quotedIfUnprintable, "\($0.rejected)", $0.lastRejectedAt]
            }
        ).lines
    }

    private var beingAttached: [String] {
        status.tablesBeingAttached.map { table in
            "brocot attach of \(table.quotedIfUnprintable) is not finished, so its requests wait. Run the same brocot attach again."
        }
    }

    private var heldLists: [String] {
        guard !status.heldLists.isEmpty else { return [] }
        let table = ColumnText(
            header: ["held list", "table", "request", "since", "because"],
            alignments: [.left, .left, .right, .left, .left],
            rows: status.heldLists.prefix(max(limit, 1)).map { list in
                let state = list.sqlstate.map { " (\($0))" } ?? ""
                return [
                    list.list.quotedIfUnprintable, list.table.quotedIfUnprintable, "\(list.request)", list.heldAt,
                    list.error.quotedIfUnprintable + state,
                ]
            })
        return table.lines + rest(status.heldListCount, "held list")
            + ["Remove the cause, and then: brocot release LIST --table TABLE"]
    }

    private var paused: [String] {
        guard !status.paused.isEmpty else { return [] }
        let table = ColumnText(
            header: ["paused table", "list", "since"], alignments: [.left, .left, .left],
            rows: status.paused.prefix(max(limit, 1)).map { pause in
                [
                    pause.table.quotedIfUnprintable, pause.list.map(\.quotedIfUnprintable) ?? "(all lists)",
                    pause.pausedAt,
                ]
            })
        return table.lines + rest(status.pausedCount, "paused table or list", "paused tables or lists")
            + ["To continue: brocot resume [TABLE [LIST]]"]
    }

    /// A line about what the limit leaves out of `count` rows; none if it leaves out nothing.
    private func rest(_ count: Int, _ one: String, _ many: String? = nil) -> [String] {
        let more = count - min(max(limit, 1), QueueStatus.mostLists)
        return more > 0 ? ["… and \(more) more \(more == 1 ? one : many ?? one + "s")"] : []
    }

    /// Seconds in the unit that fits: `0.2 s`, `12 s`, `3 min`, `5 h`, `2 d`.
    static func age(_ seconds: Double) -> String {
        switch seconds {
        case ..<1: "\((seconds * 10).rounded(.down) / 10) s"
        case ..<120: "\(Int(seconds)) s"
        case ..<7_200: "\(Int(seconds / 60)) min"
        case ..<172_800: "\(Int(seconds / 3_600)) h"
        default: "\(Int(seconds / 86_400)) d"
        }
    }
}
