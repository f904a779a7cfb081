import LibPQ

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

extension Connection {
    /// The error with which the server refuses a statement; nil if it accepts it.
    package func refusal(of statement: SQL) -> PostgresError? {
        do {
            try execute(statement)
            return nil
        } catch {
            return error
        }
    }

    /// The error with which the server refuses a script; nil if it accepts it.
    package func refusal(ofScript script: String) -> PostgresError? {
        do {
            try execute(script: script)
            return nil
        } catch {
            return error
        }
    }
}
