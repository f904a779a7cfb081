/// Says why `body` fails, as its error describes itself.
///
/// - Parameters:
///   - isolation: The caller's.
///   - body: What is tried.
/// - Returns: The description of the error; nil if there is none.
package func refusal<Result>(
    isolation: isolated (any Actor)? = #isolation, of body: () async throws -> Result
) async -> String? {
    do {
        _ = try await body()
        return nil
    } catch {
        return "\(error)"
    }
}
