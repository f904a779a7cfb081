import Testing

extension Trait where Self == TimeLimitTrait {
    /// The time after which a hanging test fails. Even on a busy machine, no test takes a tenth of this time.
    package static var usualTimeLimit: Self { .timeLimit(.minutes(30)) }
}
