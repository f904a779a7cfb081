import Subprocess

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A running server and the shell that watches over it.
///
/// The shell holds the reading end of a pipe whose writing end only this process has. Whatever ends this process, be it
/// SIGKILL, the pipe closes, and the shell stops the server.
struct ServerProcess: Sendable {
    /// The process of the server itself (the postmaster).
    let serverProcess: pid_t
    /// Ends when the server has ended and the shell too.
    let termination: Task<Void, Never>

    /// What a start needs to know.
    struct Launch: Sendable {
        var installation: PostgresInstallation
        var directory: ClusterDirectory
        /// The cluster's own folder, or another one that has nothing but the socket in it.
        var socketDirectory: String
        var superuser: String
        /// Whether to delete everything once this process has died; such a server needs no orderly shutdown.
        var isThrowaway: Bool
        /// Command line arguments of `postgres`.
        var serverArguments: [String]
    }

    /// Creates the data where there is none, and starts the server. Returns once its process exists.
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
        do {
            for try await process in announcements {
                return ServerProcess(serverProcess: process, termination: termination)
            }
        } catch {
            throw .startFailed(reason: "\(error)", log: launch.directory.logTail())
        }
        throw .startFailed(reason: "it has no data to work with", log: launch.directory.logTail())
    }

    private static func supervise(_ launch: Launch, announce: AsyncThrowingStream<pid_t, any Error>.Continuation)
        async throws
    {
        var options = PlatformOptions()
        // Ctrl-C in a terminal reaches every process of the terminal's group: the server is to outlive its clients.
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
            // The shell's input stays open until this closure returns: when the shell has ended.
            for try await line in shell.standardOutput.strings() {
                if let process = pid_t(line.filter(\.isNumber)) { announce.yield(process) }
            }
        }
    }

    /// The server sees nothing of this process's PG* variables, language or secrets.
    private static func serverEnvironment() -> Environment {
        var variables: [Environment.Key: String] = ["PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C"]
        for name in ["LD_LIBRARY_PATH", "TZ"] {
            if let value = getenv(name), let key = Environment.Key(rawValue: name) {
                variables[key] = String(cString: value)
            }
        }
        return .custom(variables)
    }

    /// Arguments: PostgreSQL's bin folder, the cluster's folder, the superuser, "throwaway" or "lasting", the socket's
    /// folder, and then those of `postgres`. It prints the server's process identifier, and ends when the server has ended.
    ///
    /// It ignores what a dying process can send to its shell, also by the closed pipe of its output: only the end of its
    /// input counts. The lock passes on to all that it starts, and so lasts until the server of an earlier, killed process
    /// has ended. `initdb` works in a folder of another name, so that one cut short is never taken for a complete cluster.
    /// The signal is repeated because a server that is just starting can miss it.
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
