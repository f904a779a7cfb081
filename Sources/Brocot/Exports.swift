// The types of other modules that appear in this library's interface. A user of the library imports only `Brocot`.
@_exported import struct Logging.Logger
@_exported import protocol Ordering.ItemKey
@_exported import struct Ordering.ListIdentifier
@_exported import enum Ordering.MissingItems
@_exported import enum Ordering.MoveOutcome
@_exported import enum Ordering.Placement
@_exported import struct Ordering.Rejection
