// swift-tools-version: 6.2
import PackageDescription

// A newer compiler may warn where today's does not, so only CI turns warnings into errors.
let strict: [SwiftSetting] =
    Context.environment["SWIFT_WARNINGS_AS_ERRORS"] == nil ? [] : [.treatAllWarnings(as: .error)]

let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let serviceLifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let unixSignals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")
let subprocess = Target.Dependency.product(name: "Subprocess", package: "swift-subprocess")
let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
let configuration = Target.Dependency.product(name: "Configuration", package: "swift-configuration")
let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nio: [Target.Dependency] = [nioCore] + ["NIOPosix", "NIOHTTP1"].map { .product(name: $0, package: "swift-nio") }
let heap = Target.Dependency.product(name: "HeapModule", package: "swift-collections")
let bigInt = Target.Dependency.product(name: "BigInt", package: "BigInt")

let package = Package(
    name: "brocot",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "brocot", targets: ["BrocotCLI"]),
        .library(name: "Brocot", targets: ["Brocot"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2", traits: []),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/attaswift/BigInt", from: "6.0.1"),
    ],
    targets: [
        .systemLibrary(
            name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
        .target(name: "LibPQ", dependencies: ["CLibPQ", logging], swiftSettings: strict),
        .target(name: "SternBrocot", swiftSettings: strict),
        .target(
            name: "Ordering", dependencies: ["SternBrocot", "LibPQ", heap], swiftSettings: strict),
        .target(
            name: "Migrations", dependencies: ["LibPQ"], swiftSettings: strict,
            plugins: ["EmbedMigrations"]),
        .target(name: "MoveQueue", dependencies: ["Ordering", "LibPQ"], swiftSettings: strict),
        .target(
            name: "Daemon", dependencies: ["MoveQueue", "Ordering", "LibPQ", logging, metrics, serviceLifecycle],
            swiftSettings: strict),
        .target(name: "Brocot", dependencies: ["Ordering", "LibPQ", logging], swiftSettings: strict),
        .target(
            name: "Administration", dependencies: ["Migrations", "Ordering", "SternBrocot", "LibPQ", logging],
            swiftSettings: strict),
        .target(name: "PrometheusText", dependencies: [metrics], swiftSettings: strict),
        .target(
            name: "Supervision", dependencies: [serviceLifecycle] + nio, swiftSettings: strict),
        .target(name: "LocalPostgres", dependencies: [subprocess], swiftSettings: strict),
        .executableTarget(
            name: "BrocotCLI",
            dependencies: [
                "Administration", "Daemon", "LibPQ", "LocalPostgres", "Migrations", "MoveQueue", "Ordering",
                "PrometheusText",
                "Supervision", argumentParser, serviceLifecycle, unixSignals, logging, metrics, configuration,
            ],
            swiftSettings: strict),

        // No package access: it shows what every other package can do.
        .executableTarget(
            name: "LibraryExample", dependencies: ["Brocot"], path: "Examples/LibraryExample", packageAccess: false,
            swiftSettings: strict),
        .executableTarget(
            name: "OnPrivateServer",
            dependencies: ["Daemon", "LibPQ", "LocalPostgres", "Migrations", logging, subprocess],
            path: "Examples/OnPrivateServer", swiftSettings: strict),

        .executableTarget(name: "MigrationEmbedder", path: "Plugins/MigrationEmbedder", swiftSettings: strict),
        .plugin(
            name: "EmbedMigrations", capability: .buildTool(), dependencies: ["MigrationEmbedder"],
            path: "Plugins/EmbedMigrations"),

        .executableTarget(
            name: "RebalancingSimulator",
            dependencies: ["Ordering", "SeededRandom", "SternBrocot", argumentParser, subprocess, heap],
            path: "Benchmarks/RebalancingSimulator", swiftSettings: strict),

        .executableTarget(
            name: "InstructionCount", dependencies: ["Ordering", "OrderingModel", "SeededRandom"],
            path: "Benchmarks/InstructionCount", exclude: ["instructions.txt"], swiftSettings: strict),

        .executableTarget(
            name: "Comparison", dependencies: ["LibPQ", "LocalPostgres", subprocess, argumentParser, logging],
            path: "Benchmarks/Comparison",
            exclude: [
                "set-based-limit.sql", "random-moves.sql", "long-list.sql", "long-list-moves.sql", "enqueue.sql",
                "pages.sql", "page-by-rank.sql", "page-by-position.sql", "page-by-covered-position.sql",
                "list-by-rank.sql", "list-by-position.sql", "list-by-covered-position.sql",
                "list-sizes.sql", "list-sizes-moves.sql",
                "at-once.sql", "at-once-move.sql", "at-once-function.sql", "at-once-statements.sql",
                "busy-insert.sql", "busy-move.sql", "busy-plain.sql",
                "attach-table.sql", "attach-moves.sql", "attach-random-moves.sql", "attach-triggers.sql",
                "attach-one-row.sql",
            ],
            swiftSettings: strict),

        .executableTarget(
            name: "LibraryMoves", dependencies: ["Brocot"], path: "Benchmarks/LibraryMoves", packageAccess: false,
            swiftSettings: strict),

        .target(
            name: "TestPostgres",
            dependencies: ["Administration", "LibPQ", "LocalPostgres", "Migrations", "Ordering", logging, subprocess],
            path: "Tests/TestPostgres", swiftSettings: strict),
        .target(
            name: "EditingTraces", dependencies: [subprocess], path: "Tests/EditingTraces", swiftSettings: strict),
        .target(name: "TestLimit", path: "Tests/TestLimit", swiftSettings: strict),
        .target(name: "SeededRandom", path: "Tests/SeededRandom", swiftSettings: strict),
        .target(
            name: "OrderingModel",
            dependencies: ["Administration", "LibPQ", "Ordering", "SeededRandom", "SternBrocot", logging],
            path: "Tests/OrderingModel", swiftSettings: strict),
        .target(
            name: "QueueHarness", dependencies: ["LibPQ", "MoveQueue", "TestPostgres"], path: "Tests/QueueHarness",
            swiftSettings: strict),
        .target(
            name: "FaultHarness",
            dependencies: [
                "LibPQ", "LocalPostgres", "Ordering", "OrderingModel", "SeededRandom", "TestPostgres", subprocess,
            ],
            path: "Tests/FaultHarness", swiftSettings: strict),
        .target(
            name: "SupervisionHarness", dependencies: ["TestPostgres"], path: "Tests/SupervisionHarness",
            swiftSettings: strict),
        // Some tests depend on a program that they run, so that it is built.
        .testTarget(
            name: "LocalPostgresTests",
            dependencies: ["LibPQ", "LocalPostgres", "TestLimit", "TestPostgres", subprocess],
            swiftSettings: strict),
        .testTarget(
            name: "SternBrocotTests", dependencies: ["SeededRandom", "SternBrocot", "TestLimit", bigInt],
            resources: [.copy("Vectors")],
            swiftSettings: strict),
        .testTarget(
            name: "FaultTests",
            dependencies: [
                "BrocotCLI", "FaultHarness", "LibPQ", "Ordering", "OrderingModel", "SeededRandom", "TestLimit",
                "TestPostgres",
                subprocess,
            ],
            path: "Tests/FaultTests", swiftSettings: strict),
        .testTarget(
            name: "LibPQTests",
            dependencies: ["FaultHarness", "LibPQ", "SeededRandom", "TestLimit", "TestPostgres", logging],
            swiftSettings: strict),
        .testTarget(
            name: "MigrationsTests", dependencies: ["LibPQ", "Migrations", "TestLimit", "TestPostgres"],
            swiftSettings: strict),
        .testTarget(
            name: "SchemaTests", dependencies: ["LibPQ", "Migrations", "TestLimit", "TestPostgres"],
            swiftSettings: strict),
        .testTarget(
            name: "OrderingTests",
            dependencies: [
                "LibPQ", "Ordering", "OrderingModel", "SeededRandom", "SternBrocot", "TestLimit", "TestPostgres",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ClientTests",
            dependencies: ["Administration", "Ordering", "OrderingModel", "TestLimit", "TestPostgres", subprocess],
            exclude: ["Django", "Go", "Java", "Node", "PHP", "Python", "Ruby", "requirements.txt"],
            swiftSettings: strict),
        .testTarget(
            name: "SQLFunctionTests",
            dependencies: [
                "Administration", "Brocot", "EditingTraces", "LibPQ", "MoveQueue", "Ordering", "OrderingModel",
                "QueueHarness", "SeededRandom", "SternBrocot", "TestLimit", "TestPostgres",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "MoveQueueTests",
            dependencies: [
                "LibPQ", "MoveQueue", "Ordering", "OrderingModel", "QueueHarness", "SeededRandom", "TestLimit",
                "TestPostgres", logging,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "BrocotTests",
            dependencies: [
                "Administration", "Brocot", "BrocotCLI", "Daemon", "LibPQ", "LibraryExample", "OrderingModel",
                "SeededRandom", "TestLimit", "TestPostgres", subprocess,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "AttackTests",
            dependencies: [
                "Administration", "Daemon", "LibPQ", "Migrations", "MoveQueue", "Ordering", "OrderingModel",
                "SeededRandom",
                "TestLimit", "TestPostgres",
                logging,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "AdministrationTests",
            dependencies: [
                "Administration", "FaultHarness", "LibPQ", "LocalPostgres", "Migrations", "Ordering", "SeededRandom",
                "SternBrocot", "TestLimit", "TestPostgres", logging,
            ], swiftSettings: strict),
        .testTarget(
            name: "DaemonTests",
            dependencies: [
                "Daemon", "MoveQueue", "LibPQ", "Ordering", "PrometheusText", "TestLimit", "TestPostgres", logging,
                metrics,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "PrometheusTextTests", dependencies: ["PrometheusText", "TestLimit", metrics], swiftSettings: strict),
        .testTarget(
            name: "SupervisionTests",
            dependencies: ["FaultHarness", "Supervision", "SupervisionHarness", "TestLimit", "TestPostgres", nioCore],
            swiftSettings: strict),
        .testTarget(
            name: "BrocotCLITests",
            dependencies: [
                "Administration", "BrocotCLI", "EditingTraces", "FaultHarness", "LibPQ", "LocalPostgres", "MoveQueue",
                "Ordering", "OrderingModel", "QueueHarness", "SupervisionHarness", "TestLimit", "TestPostgres",
                subprocess, logging, configuration,
            ],
            swiftSettings: strict),
    ]
)

// `make test` sets this: the code under test, and the models that judge it, run optimized, which halves their share of the time.
// The tests themselves stay debug code, which compiles in minutes less.
if Context.environment["OPTIMIZE_TESTED_CODE"] != nil {
    for target in package.targets where target.type == .regular {
        target.swiftSettings = (target.swiftSettings ?? []) + [.unsafeFlags(["-O"])]
    }
}
