import SternBrocot

/// A long list of ranks in order, in chunks, so that an insertion moves little memory.
struct ChunkedList {
    private static let chunkSize = 512

    private var chunks: [[Rank]] = [[]]
    private(set) var count = 0
    /// Where the last access was: the next one is mostly near it.
    private var (chunk, start) = (0, 0)

    subscript(index: Int) -> Rank {
        mutating get {
            let offset = seek(index)
            return chunks[chunk][offset]
        }
        set {
            let offset = seek(index)
            chunks[chunk][offset] = newValue
        }
    }

    mutating func insert(_ rank: Rank, at index: Int) {
        let offset = seek(index)
        chunks[chunk].insert(rank, at: offset)
        count += 1
        guard chunks[chunk].count > 2 * Self.chunkSize else { return }
        chunks.insert(Array(chunks[chunk][Self.chunkSize...]), at: chunk + 1)
        chunks[chunk].removeLast(chunks[chunk].count - Self.chunkSize)
    }

    mutating func remove(at index: Int) {
        let offset = seek(index)
        chunks[chunk].remove(at: offset)
        count -= 1
        guard chunks[chunk].isEmpty, chunks.count > 1 else { return }
        chunks.remove(at: chunk)
        (chunk, start) = (0, 0)
    }

    /// The index of a rank that is in the list.
    func index(of rank: Rank) -> Int? {
        var (low, high) = (0, chunks.count)
        while low < high {
            let middle = (low + high) / 2
            if let last = chunks[middle].last, last < rank { low = middle + 1 } else { high = middle }
        }
        guard low < chunks.count, let offset = chunks[low].firstIndex(of: rank) else { return nil }
        return chunks[..<low].reduce(0) { $0 + $1.count } + offset
    }

    var isInOrder: Bool {
        let ranks = chunks.joined()
        return zip(ranks, ranks.dropFirst()).allSatisfy { $0 < $1 }
    }

    /// Goes to the chunk of an index, and returns the offset in it.
    private mutating func seek(_ index: Int) -> Int {
        while index < start {
            chunk -= 1
            start -= chunks[chunk].count
        }
        while chunk + 1 < chunks.count, index >= start + chunks[chunk].count {
            start += chunks[chunk].count
            chunk += 1
        }
        return index - start
    }
}
