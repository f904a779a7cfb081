import FoundationEssentials
import Glibc
import TestPostgres
import Testing

/// A filesystem in place of a folder, which can be made full at any moment: a tmpfs, whose size can be changed.
///
/// Only root can mount such a filesystem, and not in every container.
package struct SmallFilesystem: Sendable {
    /// Whether this process can mount a filesystem.
    package static let isPossible: Bool = {
        guard let folder = try? makeFolder() else { return false }
        defer { rmdir(folder) }
        guard Glibc.mount("tmpfs", folder, "tmpfs", 0, "size=64k") == 0 else { return false }
        return umount2(folder, 0) == 0
    }()

    /// Why a test is skipped.
    package static let impossible: Comment = "no filesystem can be mounted here"

    private static let largestSize = 8 << 30

    package let folder: String
    private let owner: (user: uid_t, group: gid_t)

    /// Moves what is in the folder to a new filesystem. No server may be using it.
    package init(replacing folder: String) async throws {
        var status = stat()
        guard stat(folder, &status) == 0 else { throw SystemError(operation: "look at \(folder)", number: errno) }
        self.folder = folder
        owner = (status.st_uid, status.st_gid)
        let original = folder + ".original"
        guard rename(folder, original) == 0, mkdir(folder, 0o700) == 0 else {
            throw SystemError(operation: "replace \(folder)", number: errno)
        }
        try mount(size: Self.largestSize, flags: 0)
        try await ServerCommand.run("cp", ["-a", original + "/.", folder])
        try FileManager.default.removeItem(atPath: original)
    }

    /// Shrinks the filesystem to the size of its files.
    package func fill() throws {
        // The files may grow between the measurement and the change.
        for attempt in 1... {
            var status = statvfs()
            guard statvfs(folder, &status) == 0 else {
                throw SystemError(operation: "measure \(folder)", number: errno)
            }
            let used = Int(status.f_blocks - status.f_bfree) * Int(status.f_frsize)
            do {
                return try mount(size: used, flags: Self.remount)
            } catch {
                guard attempt < 100 else { throw error }
            }
        }
    }

    /// Makes room again.
    package func makeRoom() throws {
        try mount(size: Self.largestSize, flags: Self.remount)
    }

    /// Deletes the filesystem with its files. A server that uses it keeps it until the server ends.
    package func unmount() {
        umount2(folder, Int32(MNT_DETACH))
    }

    private static let remount = UInt(MS_REMOUNT)

    private func mount(size: Int, flags: UInt) throws {
        let options = "size=\(size),mode=0700,uid=\(owner.user),gid=\(owner.group)"
        guard Glibc.mount("tmpfs", folder, "tmpfs", flags, options) == 0 else {
            throw SystemError(operation: "mount \(size) bytes at \(folder)", number: errno)
        }
    }

    private static func makeFolder() throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: "brocot-filesystem-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        return folder.path
    }
}
