/// The place of an element in an array.
///
/// It fits arrays of this element only: the compiler refuses the index of a list where that of a move is needed. It is a
/// number of 32 bits and nothing else, so it costs nothing at run time.
struct ElementIndex<Element>: Hashable, Sendable {
    private let number: Int32

    /// - Parameter offset: How many elements stand before this one: 0 to 2^31 − 1.
    init(_ offset: Int) { number = Int32(offset) }

    /// How many elements stand before this one.
    var offset: Int { Int(number) }
}

extension Array {
    /// The element at a place of this array.
    subscript(index: ElementIndex<Element>) -> Element {
        // Without a copy: elements are changed where they are.
        _read { yield self[index.offset] }
        _modify { yield &self[index.offset] }
    }

    /// The places of all elements, in their order.
    var elementIndices: LazyMapSequence<Range<Int>, ElementIndex<Element>> {
        indices.lazy.map { ElementIndex<Element>($0) }
    }

    /// Adds an element at the end, and returns its place.
    mutating func add(_ element: Element) -> ElementIndex<Element> {
        append(element)
        return ElementIndex(count - 1)
    }
}
