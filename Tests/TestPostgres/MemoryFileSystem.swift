#if canImport(Glibc)
    import Glibc
#endif

/// Linux's file system in memory, for the servers of tests.
///
/// Each test makes a database and drops it: some 1,000 files. On ext4, the search for free inodes passes over those that were
/// deleted lately, and took a fifth of the time of all tests.
package enum MemoryFileSystem {
    /// All tests together take less than this, in bytes.
    private static let leastSpace: UInt64 = 4 << 30

    /// The folder of the file system; nil if there is none with enough space.
    package static let path: String? = {
        #if canImport(Glibc)
            let path = "/dev/shm"
            var space = statvfs()
            guard statvfs(path, &space) == 0, access(path, W_OK) == 0 else { return nil }
            return UInt64(space.f_bavail) * UInt64(space.f_frsize) >= leastSpace ? path : nil
        #else
            return nil
        #endif
    }()
}
