extension Duration {
    /// Whole milliseconds, rounded down, as the server's time-outs need them.
    package var milliseconds: Int64 {
        components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000
    }
}
