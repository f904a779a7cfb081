import SeededRandom

/// Synthetic editing, generated from a seed: a person who often edits the text that was just written. Recordings of long work on
/// one text are similar, and need more bits than a rank has.
struct SyntheticEditing {
    /// The percentage of bursts of typing that begin within the previous burst.
    let back: Int
    /// The percentage of bursts that begin near the previous burst.
    let near: Int
    /// The percentage of bursts that begin at the end. All other bursts begin anywhere.
    let end: Int
    /// The average number of characters in a burst.
    let burst: Int
    /// The percentage of bursts that follow a deletion of about the same size.
    let revised: Int
    /// After this many characters, editing continues only within the last part, as in a new chapter of a book; nil
    /// means never.
    var part: Int?
    let seed: UInt64

    /// Of 16 variants that were tried (eight kinds, two seeds), those that need more than 62 bits and stay within the bounds of
    /// recorded editing.
    static let withinBounds = [
        SyntheticEditing(back: 50, near: 30, end: 10, burst: 30, revised: 30, seed: 1),
        SyntheticEditing(back: 50, near: 30, end: 10, burst: 30, revised: 30, seed: 2),
        SyntheticEditing(back: 70, near: 20, end: 5, burst: 20, revised: 50, seed: 1),
        SyntheticEditing(back: 70, near: 20, end: 5, burst: 20, revised: 50, seed: 2),
        SyntheticEditing(back: 10, near: 30, end: 50, burst: 30, revised: 70, part: 25_000, seed: 2),
    ]

    /// The variants that exceed the bounds. Their cost is only printed. Two further variants need more than 120 bits.
    static let beyondBounds = [
        SyntheticEditing(back: 5, near: 20, end: 70, burst: 30, revised: 40, part: 15_000, seed: 1),
        SyntheticEditing(back: 20, near: 20, end: 50, burst: 30, revised: 40, part: 22_000, seed: 2),
        SyntheticEditing(back: 10, near: 30, end: 50, burst: 30, revised: 70, part: 25_000, seed: 1),
        SyntheticEditing(back: 20, near: 20, end: 50, burst: 30, revised: 40, part: 22_000, seed: 1),
        SyntheticEditing(back: 60, near: 20, end: 5, burst: 30, revised: 30, seed: 1),
        SyntheticEditing(back: 60, near: 20, end: 5, burst: 30, revised: 30, seed: 2),
    ]

    func patches(inserts: Int) -> [Recording.Patch] {
        var generator = SeededGenerator(seed: seed)
        var patches: [Recording.Patch] = []
        var (start, cursor, end) = (0, 0, 0)
        var (last, inserted, parts) = (1, 0, 0)
        while inserted < inserts {
            let kind = Int.random(in: 0..<100, using: &generator)
            if kind < back {
                cursor -= Int.random(in: 1...last, using: &generator)
            } else if kind < back + near {
                cursor += Int.random(in: -400...400, using: &generator)
            } else if kind < back + near + self.end {
                cursor = end
            } else {
                cursor = Int.random(in: start...end, using: &generator)
            }
            cursor = min(max(cursor, start), end)
            if let part, inserted / part > parts {
                parts = inserted / part
                (start, end) = (cursor, cursor)
            }
            if Int.random(in: 0..<100, using: &generator) < revised {
                let deleted = min(Int.random(in: 1...(2 * burst), using: &generator), cursor - start)
                cursor -= deleted
                end -= deleted
                patches.append(Recording.Patch(position: cursor, deleted: deleted, inserted: 0))
            }
            last = Int.random(in: 1..<(2 * burst), using: &generator)
            patches.append(Recording.Patch(position: cursor, deleted: 0, inserted: last))
            cursor += last
            end += last
            inserted += last
        }
        return patches
    }
}
