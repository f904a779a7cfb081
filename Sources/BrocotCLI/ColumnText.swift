extension String {
    /// The text with spaces on the right (or on the left), up to a width.
    func padded(to width: Int, leading: Bool = false) -> String {
        let filling = String(repeating: " ", count: max(0, width - count))
        return leading ? filling + self : self + filling
    }
}

/// Rows of text in columns. Each column is as wide as its widest cell. Cells are text for people, so they are made printable.
struct ColumnText {
    enum Alignment { case left, right }

    let header: [String]
    let alignments: [Alignment]
    let rows: [[String]]

    /// One line for the header, and one for each row.
    var lines: [String] {
        let table = ([header] + rows).map { cells in cells.map(\.printable) }
        let widths = header.indices.map { column in table.map { $0[column].count }.max() ?? 0 }
        return table.map { cells in
            let padded = cells.indices.map { column in
                cells[column].padded(to: widths[column], leading: alignments[column] == .right)
            }
            let line = padded.joined(separator: "  ")
            return String(line.prefix(line.count - line.reversed().prefix { $0 == " " }.count))
        }
    }
}
