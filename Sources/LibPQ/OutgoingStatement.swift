internal import CLibPQ

/// A statement that is ready to be sent.
struct OutgoingStatement {
    let text: String
    let parameters: [Parameter]
    let key: PreparedStatements.Key
    /// The name of the prepared statement; nil if the statement is sent as text.
    let name: String?

    /// Gives the statement to libpq. Returns 1 for success, 0 for failure.
    func send(on pointer: OpaquePointer) -> Int32 {
        withParameters(parameters) { values, lengths, formats in
            if let name {
                return PQsendQueryPrepared(pointer, name, Int32(parameters.count), values, lengths, formats, 1)
            }
            let types = parameters.map(\.type.rawValue)
            return PQsendQueryParams(pointer, text, Int32(parameters.count), types, values, lengths, formats, 1)
        }
    }
}

/// Gives `body` the parameters in libpq's form: pointers, lengths, and formats (1 is binary).
private func withParameters<Value>(
    _ parameters: [Parameter],
    _ body: (UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<Int32>, UnsafePointer<Int32>) -> Value
) -> Value {
    // One extra byte gives an empty value at the end a valid address: a null pointer would mean NULL.
    var bytes: [UInt8] = []
    bytes.reserveCapacity(parameters.reduce(1) { $0 + ($1.bytes?.count ?? 0) })
    var offsets: [Int?] = []
    var lengths: [Int32] = []
    for parameter in parameters {
        offsets.append(parameter.bytes == nil ? nil : bytes.count)
        lengths.append(Int32(parameter.bytes?.count ?? 0))
        bytes.append(contentsOf: parameter.bytes ?? [])
    }
    bytes.append(0)
    let formats = parameters.map { $0.isBinary ? Int32(1) : 0 }
    return bytes.withUnsafeBytes { buffer in
        let base = buffer.bindMemory(to: CChar.self).baseAddress
        let pointers = offsets.map { offset in
            offset.flatMap { offset in base.map { UnsafePointer($0 + offset) } }
        }
        return body(pointers, lengths, formats)
    }
}
