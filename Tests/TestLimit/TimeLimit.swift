import Testing

extension Trait where Self == TimeLimitTrait {
    /// The time after which a test is cancelled, and fails. On a busy machine, no test takes a tenth of it. A test that waits
    /// for something without cancellation, such as the value of a `Task`, still hangs. So each wait has a deadline of its own: see `Deadline.swift`.
    package static var usualTimeLimit: Self { .timeLimit(.minutes(30)) }
}
