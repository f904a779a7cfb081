extension String {
    /// At most `length` characters around the one at `place`. An ellipsis stands for what is left out on each side.
    ///
    /// - Returns: The excerpt, and where in it the character at `place` is.
    func excerpt(around place: Int, length: Int) -> (text: String, place: Int) {
        let left = count > length ? max(0, min(place - length / 2, count - length)) : 0
        let (begin, end) = (left > 0 ? "…" : "", left + length < count ? "…" : "")
        return ("\(begin)\(dropFirst(left).prefix(length))\(end)", place - left + begin.count)
    }
}
