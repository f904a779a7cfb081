// The words in which this library is talked to. Who imports it needs no other module.
@_exported import struct Ordering.ListIdentifier
@_exported import enum Ordering.MissingItems
@_exported import enum Ordering.MoveOutcome
@_exported import enum Ordering.Placement
@_exported import struct Ordering.Rejection
