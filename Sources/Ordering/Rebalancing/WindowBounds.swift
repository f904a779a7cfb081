/// How far a window extends, and between which ranks it lies.
struct WindowBounds {
    let below: Int
    let above: Int
    let outer: OpenInterval
}
