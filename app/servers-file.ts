import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Type, type Static } from 'typebox'
import { Check } from 'typebox/schema'
import { writeDurably } from 'embedded-eventstore/durable-file'
import type { Configuration } from '../platform/configuration/configuration.ts'
import { readJsonFile } from '../platform/kit/json-reading.ts'

/**
 * `<data dir>/servers.json`: addresses of the servers of a running `platform up`, for commands next to it. Contains
 * passwords.
 */
const Servers = Type.Object({
  ESDB_URL: Type.String(),
  DATABASE_URL: Type.String(),
  VAULT_DATABASE_URL: Type.String(),
  S3_ENDPOINT: Type.Optional(Type.String()),
  S3_ACCESS_KEY_ID: Type.Optional(Type.String()),
  S3_SECRET_ACCESS_KEY: Type.Optional(Type.String()),
})
export type Servers = Static<typeof Servers>

export function serversFile(dataDir: string): string {
  return join(dataDir, 'servers.json')
}

/**
 * Writes the addresses of this data folder's servers. Call `forget` when they stop. A killed process leaves the file
 * behind.
 */
export async function keepServers({
  dataDir,
  esdbUrl = '',
  databaseUrl = '',
  vaultDatabaseUrl = '',
  s3Endpoint,
  s3AccessKeyId,
  s3SecretAccessKey,
}: Configuration): Promise<{ forget(): Promise<void> }> {
  const file = serversFile(dataDir)
  const objectStore =
    s3Endpoint === undefined || s3AccessKeyId === undefined || s3SecretAccessKey === undefined
      ? {}
      : { S3_ENDPOINT: s3Endpoint, S3_ACCESS_KEY_ID: s3AccessKeyId, S3_SECRET_ACCESS_KEY: s3SecretAccessKey }
  const servers: Servers = {
    ESDB_URL: esdbUrl,
    DATABASE_URL: databaseUrl,
    VAULT_DATABASE_URL: vaultDatabaseUrl,
    ...objectStore,
  }
  await writeDurably(file, `${JSON.stringify(servers, null, 2)}\n`, 0o600)
  return { forget: () => rm(file, { force: true }) }
}

/** The content from `keepServers`; undefined if no platform runs on this data folder. */
export async function readServers(dataDir: string): Promise<Servers | undefined> {
  return readJsonFile(serversFile(dataDir), (value) => Check(Servers, value), 'start the platform again')
}
