/// Dates as PostgreSQL prints them in the ISO style: `2026-11-21`, `0044-03-15 BC`, `infinity`.
enum CanonicalDate {
    private static let beforeChrist = " BC"
    /// The range of the type `date`. Years before Christ are negative.
    private static let (firstDay, lastDay) = ((-4714, 11, 24), (5_874_897, 12, 31))

    static func isCanonical(_ text: String) -> Bool {
        if text == "infinity" || text == "-infinity" { return true }
        let isBeforeChrist = text.hasSuffix(beforeChrist)
        let parts = text.dropLast(isBeforeChrist ? beforeChrist.count : 0)
            .split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, let year = number(parts[0]), let month = number(parts[1]), let day = number(parts[2]),
            parts[0].utf8.count == max(4, String(year).utf8.count), parts[1].utf8.count == 2, parts[2].utf8.count == 2,
            year >= 1, (1...12).contains(month)
        else { return false }
        // The year before year 1 is 1 BC. It counts as year 0, which is a leap year.
        guard day >= 1, day <= days(in: month, ofYear: isBeforeChrist ? 1 - year : year) else { return false }
        return isBeforeChrist ? (-year, month, day) >= firstDay : (year, month, day) <= lastDay
    }

    /// The number with these decimal digits; nil if another character occurs.
    private static func number(_ digits: Substring) -> Int? {
        digits.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(digits) : nil
    }

    private static func days(in month: Int, ofYear year: Int) -> Int {
        switch month {
        case 2: year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400)) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
