/// The index of an element in an array.
///
/// The index can be used only with arrays of this element: the compiler refuses the index of a list where the index of a move is
/// needed. The index is a 32-bit number, so it has no cost at run time.
struct ElementIndex<Element>: Hashable, Sendable {
    private let number: Int32

    /// - Parameter offset: The number of elements before this one, 0 to 2^31 − 1.
    init(_ offset: Int) { number = Int32(offset) }

    /// The number of elements before this one.
    var offset: Int { Int(number) }
}

extension Array {
    /// The element with this index.
    subscript(index: ElementIndex<Element>) -> Element {
        // This accessor changes elements in place, without copying them.
        _read { yield self[index.offset] }
        _modify { yield &self[index.offset] }
    }

    /// The indices of all elements, in their order.
    var elementIndices: LazyMapSequence<Range<Int>, ElementIndex<Element>> {
        indices.lazy.map { ElementIndex<Element>($0) }
    }

    /// Adds an element at the end, and returns its index.
    mutating func add(_ element: Element) -> ElementIndex<Element> {
        append(element)
        return ElementIndex(count - 1)
    }
}
