import LibPQ

/// How SQL computes the sort key of a rank, which is the value of its fraction.
package enum SortKey {
    /// The type to which a numerator is cast before the division, so that the quotient has at least 38 decimals.
    ///
    /// Two different ranks differ by more than 2^-124, which is more than 10^-38: see ``Rank/limit``. So 38 decimals keep every two ranks apart
    /// and in order. The other 19 of the 57 digits are as many as a numerator below 2^62 has. The migrations and the CHECK constraint of each
    /// ordered table contain the same type.
    package static let numeratorType = "numeric(57,38)"

    /// The value of a fraction, with zeros at its end. The denominator must not be 0.
    package static func value(_ numerator: SQL, _ denominator: SQL) -> SQL {
        "\(numerator)::\(unsafeRaw: numeratorType) / \(denominator)::numeric"
    }
}
