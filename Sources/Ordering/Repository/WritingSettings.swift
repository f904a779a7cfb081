/// The settings of a transaction that tell the triggers of an ordered table that Brocot itself writes its ranks.
package enum WritingSettings {
    /// Names and values. The depth is empty: the statements are not nested in a trigger. A user's trigger may have left another depth in the
    /// session.
    package static func of(_ orderedTable: String) -> [(String, String)] {
        [("brocot.writing", orderedTable), ("brocot.writing_depth", "")]
    }
}
