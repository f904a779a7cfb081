import Testing

extension Trait where Self == TimeLimitTrait {
    /// The time after which a test fails that hangs. On a busy machine, no test takes a tenth of it.
    package static var usualTimeLimit: Self { .timeLimit(.minutes(30)) }
}
