/// Text that equals other text where its bytes do, as keys in the database: `String` takes é for the same whether it is
/// one character or a letter with an accent.
package struct ExactText: Hashable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func == (left: ExactText, right: ExactText) -> Bool {
        guard left.text.utf8.count == right.text.utf8.count else { return false }
        // Over the bytes themselves: the views would be gone through index by index.
        var (left, right) = (left.text, right.text)
        return left.withUTF8 { left in right.withUTF8 { right in left.elementsEqual(right) } }
    }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // Keeps a text apart from the one that is hashed after it.
        hasher.combine(UInt8.max)
    }
}
