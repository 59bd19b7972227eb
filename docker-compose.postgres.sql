-- Run once, by psql, when the volume of Postgres is empty. Each role owns one database and connects to no other.
\getenv platform_password PLATFORM_DATABASE_PASSWORD
\getenv vault_password VAULT_DATABASE_PASSWORD

create role platform login password :'platform_password';
create role vault login password :'vault_password';
create database platform owner platform;
create database vault owner vault;
revoke connect, temporary on database platform from public;
revoke connect, temporary on database vault from public;
