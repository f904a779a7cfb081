/// Text that is compared by its bytes, as keys in the database are. `String` considers é equal to the letter e with a combining
/// accent, although their bytes differ.
package struct ExactText: Hashable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func == (left: ExactText, right: ExactText) -> Bool {
        guard left.text.utf8.count == right.text.utf8.count else { return false }
        // Comparing contiguous bytes is faster than comparing the UTF-8 views index by index.
        var (left, right) = (left.text, right.text)
        return left.withUTF8 { left in right.withUTF8 { right in left.elementsEqual(right) } }
    }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // This byte separates the text from the next one that is hashed.
        hasher.combine(UInt8.max)
    }
}
