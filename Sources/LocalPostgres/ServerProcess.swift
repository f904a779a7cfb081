import Subprocess

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A running server, and a shell that stops the server when this process ends.
///
/// The shell has the reading end of a pipe, and only this process has the writing end. When this process ends, even by
/// SIGKILL, the pipe closes, and the shell stops the server.
struct ServerProcess: Sendable {
    /// The process of the server itself (the postmaster).
    let serverProcess: pid_t
    /// The task ends when the server and the shell have ended.
    let termination: Task<Void, Never>

    /// The parameters of a start.
    struct Launch: Sendable {
        var installation: PostgresInstallation
        var directory: ClusterDirectory
        /// The folder of the Unix socket: the cluster's folder, or another folder for the socket alone.
        var socketDirectory: String
        var superuser: String
        /// Whether to delete everything after this process has ended. Such a server needs no orderly shutdown.
        var isThrowaway: Bool
        /// Command line arguments of `postgres`.
        var serverArguments: [String]
    }

    /// Creates the data if none exists, and starts the server. Returns when the server's process exists.
    static func start(_ launch: Launch) async throws(LocalPostgresError) -> ServerProcess {
        let (announcements, announce) = AsyncThrowingStream.makeStream(of: pid_t.self)
        let termination = Task {
            do {
                try await supervise(launch, announce: announce)
                announce.finish()
            } catch {
                announce.finish(throwing: error)
            }
        }
        // This task is not cancelled together with the caller. Otherwise a server could start of which this process
        // does not know.
        let announced = Task { try await announcements.first { _ in true } }
        do {
            guard let process = try await announced.value else {
                throw LocalPostgresError.startFailed(
                    reason: "it has no data to work with", log: launch.directory.logTail())
            }
            return ServerProcess(serverProcess: process, termination: termination)
        } catch let error as LocalPostgresError {
            throw error
        } catch {
            throw .startFailed(reason: "\(error)", log: launch.directory.logTail())
        }
    }

    private static func supervise(_ launch: Launch, announce: AsyncThrowingStream<pid_t, any Error>.Continuation)
        async throws
    {
        var options = PlatformOptions()
        // Ctrl-C in a terminal reaches every process of the terminal's group. The server must not end before its clients.
        options.createSession = true
        let arguments = [
            "-c", script, "brocot-postgres", launch.installation.directory, launch.directory.path, launch.superuser,
            launch.isThrowaway ? "throwaway" : "lasting", launch.socketDirectory,
        ]
        let shell = "/bin/sh"
        let command =
            launch.directory.account?.command(shell, arguments + launch.serverArguments)
            ?? (.path(.init(shell)), Arguments(arguments + launch.serverArguments))
        _ = try await run(
            command.executable, arguments: command.arguments,
            environment: serverEnvironment(), workingDirectory: .init(launch.directory.path),
            platformOptions: options, input: .inputWriter, output: .sequence, error: .discarded
        ) { shell in
            // The shell's input stays open until this closure returns, which is when the shell has ended.
            for try await line in shell.standardOutput.strings() {
                if let process = pid_t(line.filter(\.isNumber)) { announce.yield(process) }
            }
        }
    }

    /// The environment of the server, without this process's PG* variables, language and secrets.
    private static func serverEnvironment() -> Environment {
        var variables: [Environment.Key: String] = ["PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C"]
        for name in ["LD_LIBRARY_PATH", "TZ"] {
            if let value = getenv(name), let key = Environment.Key(rawValue: name) {
                variables[key] = String(cString: value)
            }
        }
        return .custom(variables)
    }

    /// The shell script. Its arguments: PostgreSQL's bin folder, the cluster's folder, the superuser, "throwaway" or
    /// "lasting", the socket's folder, and then the arguments of `postgres`. The script prints the server's process
    /// identifier, and ends when the server has ended.
    ///
    /// The script ignores signals that come with the end of this process, SIGPIPE included: only the end of its input counts.
    /// All processes that the script starts inherit the lock. So the lock is held until the server of an earlier, killed
    /// process has ended. `initdb` uses a folder with another name, so that an interrupted `initdb` never looks like a complete
    /// cluster. The stop signal is repeated because a server that is just starting can miss it.
    private static let script = """
        programs=$1 directory=$2 superuser=$3 lifetime=$4 sockets=$5
        shift 5
        trap '' HUP INT TERM PIPE
        exec 3<&0 </dev/null 2>>"$directory/log"
        throwaway() { [ "$lifetime" = throwaway ]; }

        exec 9>"$directory/server.lock"
        flock --wait 30 9 || { echo "an earlier server is still running here" >&2; exit 1; }
        if [ ! -d "$directory/data" ]; then
            rm -rf "$directory/data.new"
            "$programs/initdb" --pgdata="$directory/data.new" --username="$superuser" \\
                --pwfile="$directory/password" --auth-local=trust --auth-host=scram-sha-256 \\
                --encoding=UTF8 --locale=C --no-sync --no-instructions >>"$directory/log" 3<&- || exit 1
            mv "$directory/data.new" "$directory/data" || exit 1
        fi

        "$programs/postgres" -D "$directory/data" "$@" >>"$directory/log" 3<&- &
        server=$!
        echo "$server"
        (
            read -r _ <&3
            true >"$directory/orphaned"
            if throwaway; then signal=QUIT; else signal=INT; fi
            attempts=0
            while kill -s "$signal" "$server"; do
                attempts=$((attempts + 1))
                [ "$attempts" -lt 60 ] || signal=QUIT
                sleep 0.5
            done
        ) >/dev/null &
        watcher=$!
        exec 3<&-
        wait "$server"
        kill -s KILL "$watcher"
        [ -e "$directory/orphaned" ] || exit 0
        rm "$directory/orphaned"
        [ "$sockets" = "$directory" ] || rmdir "$sockets"
        if throwaway; then rm -rf "$directory"; fi
        """
}
