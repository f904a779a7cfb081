import ArgumentParser

/// The executable `brocot`.
struct BrocotCommand: AsyncParsableCommand {
    static let version = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "brocot",
        abstract: "Keeps the order that people give to things, in PostgreSQL.",
        discussion: """
            EXAMPLES:
              brocot demo                  watch a backlog being reordered
              brocot dev                   a private PostgreSQL with the daemon

              export DATABASE_URL=postgresql://owner@localhost/app
              brocot migrate up            create the schema brocot
              brocot attach public.tasks --item id --list project_id
              brocot import groceries < items.txt
              brocot daemon                apply move requests, until SIGTERM
              brocot show groceries        print a list in its order
              brocot check groceries       how much room its order has
              brocot status                what is pending, applied, rejected and held
              brocot release groceries     continue a held list
              brocot pause                 stop applying requests, until brocot resume
              brocot doctor                what is wrong, and what to do
              brocot grant requester app   let the role app request moves

              psql "$DATABASE_URL" -c "SELECT brocot.move('groceries', 'milk', at => 0)"

            CONNECTION: --database-url, else BROCOT_DATABASE_URL, else DATABASE_URL, else \
            database_url in the settings file, else libpq's own (PGHOST, PGDATABASE, service file, …).

            EXIT STATUS:
              0  done                                  5  lock timeout
              1  failed; the message says what stays   6  no connection
              2  usage or configuration                7  needs repair
              3  migrations pending, or no schema      8  the database is newer
              4  schema changed by hand
            """,
        version: version,
        subcommands: [
            MigrateCommand.self, AttachCommand.self, DetachCommand.self, GrantCommand.self, DaemonCommand.self,
            StatusCommand.self, ReleaseCommand.self, PauseCommand.self, ResumeCommand.self, RetryCommand.self,
            ImportCommand.self, ShowCommand.self, CheckCommand.self, DoctorCommand.self, DevCommand.self,
            DemoCommand.self,
        ])
}
