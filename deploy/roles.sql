-- Makes the roles of docker-compose.yml, or gives them their passwords again. For psql 15 or newer, as a superuser, with the
-- passwords in the environment: the server's list of processes shows none of them.
\set ON_ERROR_STOP on
\getenv owner_password OWNER_PASSWORD
\getenv daemon_password DAEMON_PASSWORD
\getenv app_password APP_PASSWORD

SELECT format('CREATE ROLE %I LOGIN', wanted.name)
FROM unnest(ARRAY['brocot_owner', 'brocot_daemon', 'app']) AS wanted (name)
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted.name)
\gexec

ALTER ROLE brocot_owner PASSWORD :'owner_password';
ALTER ROLE brocot_daemon PASSWORD :'daemon_password';
ALTER ROLE app PASSWORD :'app_password';

-- The owner makes schema brocot; the application makes its own tables.
SELECT format('GRANT CREATE ON DATABASE %I TO brocot_owner', current_database()) \gexec
GRANT CREATE ON SCHEMA public TO app;
