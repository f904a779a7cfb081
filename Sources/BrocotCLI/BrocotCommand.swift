import ArgumentParser

/// The executable `brocot`.
struct BrocotCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "brocot",
        abstract: "Keeps the order that people give to things, in PostgreSQL.",
        discussion: """
            EXAMPLES:
              brocot demo                      watch a backlog being reordered, in a throwaway database
              brocot dev                       a private PostgreSQL with the daemon, to try things out

              export DATABASE_URL=postgresql://app@localhost/app
              brocot migrate up                create the schema brocot
              brocot daemon                    apply move requests, until SIGTERM
              brocot show groceries            print a list in its order

              psql -c "SELECT brocot.move('groceries', 'milk', first => true)"

            CONNECTION: --database-url, else BROCOT_DATABASE_URL, else DATABASE_URL, else libpq's own (PGHOST, …).

            EXIT STATUS: 0 done · 1 failed, and left nothing behind · 2 wrong usage or configuration ·
            3 migrations pending · 4 the schema was changed by hand · 5 lock timeout · 6 no connection ·
            7 needs repair · 8 the database is newer than this program
            """,
        subcommands: [MigrateCommand.self, DaemonCommand.self, ShowCommand.self])
}
