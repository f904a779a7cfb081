extension Duration {
    /// Whole milliseconds, rounded towards zero, as the server's time-outs need them. A duration beyond the range of `Int64` becomes the nearest
    /// value.
    package var milliseconds: Int64 {
        let milliseconds =
            Int128(components.seconds) * 1_000 + Int128(components.attoseconds / 1_000_000_000_000_000)
        return Int64(clamping: milliseconds)
    }

    /// The form in which every message shows a duration: `2 s` or `0.5 s`, with up to three decimals.
    package var inSeconds: String {
        milliseconds % 1_000 == 0 ? "\(milliseconds / 1_000) s" : "\(Double(milliseconds) / 1_000) s"
    }
}
