extension Duration {
    /// Whole milliseconds, rounded down, as the server's time-outs need them.
    package var milliseconds: Int64 {
        components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000
    }

    /// The form in which every message shows a duration: `2 s` or `0.5 s`, with up to three decimals.
    package var inSeconds: String {
        milliseconds % 1_000 == 0 ? "\(milliseconds / 1_000) s" : "\(Double(milliseconds) / 1_000) s"
    }
}
