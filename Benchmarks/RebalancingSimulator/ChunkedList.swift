/// A long list that is stored in chunks, so that an insertion moves little memory.
struct ChunkedList<Element> {
    private let chunkSize = 512

    private var chunks: [[Element]] = [[]]
    private(set) var count = 0
    /// The place of the last access. The next access is mostly near it.
    private var (chunk, start) = (0, 0)

    subscript(index: Int) -> Element {
        mutating get {
            let offset = seek(index)
            return chunks[chunk][offset]
        }
        set {
            let offset = seek(index)
            chunks[chunk][offset] = newValue
        }
    }

    mutating func insert(_ element: Element, at index: Int) {
        let offset = seek(index)
        chunks[chunk].insert(element, at: offset)
        count += 1
        guard chunks[chunk].count > 2 * chunkSize else { return }
        chunks.insert(Array(chunks[chunk][chunkSize...]), at: chunk + 1)
        chunks[chunk].removeLast(chunks[chunk].count - chunkSize)
    }

    mutating func remove(at index: Int) {
        let offset = seek(index)
        chunks[chunk].remove(at: offset)
        count -= 1
        guard chunks[chunk].isEmpty, chunks.count > 1 else { return }
        chunks.remove(at: chunk)
        (chunk, start) = (0, 0)
    }

    /// Moves to the chunk of an index, and returns the offset in this chunk.
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

extension ChunkedList where Element: Comparable {
    /// The index of an element of the list. The list must be in order.
    func index(of element: Element) -> Int? {
        var (low, high) = (0, chunks.count)
        while low < high {
            let middle = (low + high) / 2
            if let last = chunks[middle].last, last < element { low = middle + 1 } else { high = middle }
        }
        guard low < chunks.count, let offset = chunks[low].firstIndex(of: element) else { return nil }
        return chunks[..<low].reduce(0) { $0 + $1.count } + offset
    }

    var isInOrder: Bool {
        let elements = chunks.joined()
        return zip(elements, elements.dropFirst()).allSatisfy { $0 < $1 }
    }
}
