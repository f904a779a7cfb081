#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Switches core files off. A core file would contain the database's password, which libpq keeps while it is connected.
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
