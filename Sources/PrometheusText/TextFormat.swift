/// Replaces each character that the format does not allow in a metric's name with an underscore.
func metricName(_ text: String) -> String { name(text, alsoColons: true) }

func labelName(_ text: String) -> String { name(text, alsoColons: false) }

private func name(_ text: String, alsoColons: Bool) -> String {
    let characters = text.unicodeScalars.map { scalar -> Character in
        let isAllowed =
            scalar.isASCII
            && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil || scalar == "_"
                || (alsoColons && scalar == ":"))
        return isAllowed ? Character(scalar) : "_"
    }
    guard let first = characters.first else { return "_" }
    return (first.isNumber ? "_" : "") + String(characters)
}

func escapedHelp(_ text: String) -> String {
    text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
}

func escapedLabel(_ text: String) -> String {
    escapedHelp(text).replacing("\"", with: "\\\"")
}

func braced(_ labels: String) -> String { labels.isEmpty ? "" : "{\(labels)}" }

/// Formats a number: whole numbers without a decimal point, infinities as `+Inf` and `-Inf`.
func number(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    guard value.isFinite else { return value < 0 ? "-Inf" : "+Inf" }
    return Int64(exactly: value).map(String.init) ?? "\(value)"
}
