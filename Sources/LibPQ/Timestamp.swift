/// A point in time with the precision of PostgreSQL's `timestamptz`, one microsecond.
package struct Timestamp: Hashable, Comparable, Sendable {
    /// Microseconds since 1970-01-01 00:00:00 UTC, without leap seconds.
    package let microsecondsSinceEpoch: Int64

    package init(microsecondsSinceEpoch: Int64) {
        self.microsecondsSinceEpoch = microsecondsSinceEpoch
    }

    /// Later than every other point in time.
    package static let infinity = Timestamp(microsecondsSinceEpoch: .max)
    /// Earlier than every other point in time.
    static let negativeInfinity = Timestamp(microsecondsSinceEpoch: .min)
    /// Whether this is neither ``infinity`` nor earlier than every other point in time.
    package var isFinite: Bool { self != .infinity && self != .negativeInfinity }

    package static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.microsecondsSinceEpoch < right.microsecondsSinceEpoch
    }
}

extension Timestamp: CustomStringConvertible {
    /// ISO 8601 in UTC, such as `2026-02-28T23:59:59.000001Z`; years before 1 are written as 0, -1, ….
    package var description: String { text { padded($0, 4) } }

    /// The text that the server reads as this point in time. It differs from the ``description`` for years before 1: `0044-03-15T12:00:00.000000Z BC`.
    package var textOfServer: String {
        var isBeforeChrist = false
        let text = text { year in
            isBeforeChrist = year < 1
            return padded(isBeforeChrist ? 1 - year : year, 4)
        }
        return isBeforeChrist ? text + " BC" : text
    }

    private func text(year: (Int64) -> String) -> String {
        if self == .infinity { return "infinity" }
        if self == .negativeInfinity { return "-infinity" }
        let microsecondsPerDay: Int64 = 86_400_000_000
        let (day, time) = floorDivide(microsecondsSinceEpoch, microsecondsPerDay)
        let date = civilDate(daysSinceEpoch: day)
        let (seconds, microseconds) = time.quotientAndRemainder(dividingBy: 1_000_000)
        return year(date.year) + "-" + padded(date.month, 2) + "-" + padded(date.day, 2) + "T"
            + padded(seconds / 3600, 2) + ":" + padded(seconds / 60 % 60, 2) + ":" + padded(seconds % 60, 2) + "."
            + padded(microseconds, 6) + "Z"
    }
}

extension Timestamp: PostgresEncodable, PostgresDecodable {
    /// Microseconds from 1970-01-01, the zero of this type, to 2000-01-01, the zero of PostgreSQL's binary format.
    private static let epochOffset: Int64 = 946_684_800_000_000

    package static var parameterType: PostgresType { .timestamptz }
    package static var decodedName: String { "Timestamp" }

    package var parameter: Parameter {
        guard isFinite else {
            return .binary(.timestamptz, bigEndianBytes(of: microsecondsSinceEpoch))
        }
        let (value, overflow) = microsecondsSinceEpoch.subtractingReportingOverflow(Self.epochOffset)
        guard !overflow else {
            return Parameter(type: .timestamptz, content: .invalid("the timestamp is out of PostgreSQL's range"))
        }
        return .binary(.timestamptz, bigEndianBytes(of: value))
    }

    package init(_ cell: Cell) throws(DecodingFailure) {
        guard cell.type == .timestamptz else { throw .unsupportedType }
        let value = try cell.integer(Int64.self)
        switch value {
        case .max: self = .infinity
        case .min: self = .negativeInfinity
        default:
            let (sum, overflow) = value.addingReportingOverflow(Self.epochOffset)
            guard !overflow else { throw .malformed("out of range") }
            self.init(microsecondsSinceEpoch: sum)
        }
    }
}

private func floorDivide(_ value: Int64, _ divisor: Int64) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
}

/// The proleptic Gregorian date of a day. The algorithm counts eras of 400 years that begin on 1 March (Howard Hinnant,
/// "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`).
private func civilDate(daysSinceEpoch: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let (era, dayOfEra) = floorDivide(daysSinceEpoch + 719_468, 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
}

private func padded(_ value: Int64, _ width: Int) -> String {
    let digits = String(value.magnitude)
    return (value < 0 ? "-" : "") + String(repeating: "0", count: max(0, width - digits.count)) + digits
}
