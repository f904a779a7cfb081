extension Range<Int> {
    /// The first number for which a condition holds, found by binary search; the upper bound if it holds for none. The condition must
    /// also hold for all later numbers.
    @inline(__always)
    func partitionPoint(where condition: (Int) -> Bool) -> Int {
        var (low, high) = (lowerBound, upperBound)
        while low < high {
            let middle = (low + high) / 2
            if condition(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
