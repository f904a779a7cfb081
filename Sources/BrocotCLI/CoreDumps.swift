#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A core file would hold the database's password, which libpq keeps as long as it is connected.
enum CoreDumps {
    static func forbid() {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        #if canImport(Glibc)
            _ = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        #else
            _ = setrlimit(RLIMIT_CORE, &none)
        #endif
    }
}
