/// The size of a window on both sides, and its outer neighbours.
struct WindowBounds {
    let below: Int
    let above: Int
    let outer: OpenInterval
}
