import { join } from 'node:path'
import { Type, type Static } from 'typebox'
import { Check } from 'typebox/schema'
import { Nullable } from '../platform/http/members.ts'
import { readJsonFile } from '../platform/kit/json-reading.ts'

const nullableText = Nullable(Type.String())

const Client = Type.Object({
  client_id: Type.String(),
  client_secret: Type.String(),
  scopes: Type.Array(Type.String()),
  org_id: nullableText,
  product_id: nullableText,
  trusted_actor_context: Type.Boolean(),
})

const Administrator = Type.Object({ org_id: Type.String(), user_id: Type.String(), email: Type.String() })

/** `<data dir>/credentials.json` (architecture section 8): everything that a newcomer needs to call the platform. */
export const Credentials = Type.Object({
  base_url: Type.String(),
  admin_api_secret: nullableText,
  org_id: Type.String(),
  product_id: Type.String(),
  clients: Type.Array(Client),
  /** Those that a start in development created. Files of earlier versions have none. */
  administrators: Type.Optional(Type.Array(Administrator)),
  /** The development sign-in at the console, with an operator that a start in development created. */
  console: Type.Optional(Type.Object({ url: Type.String(), email: Type.String(), password: Type.String() })),
  eventstore_url: nullableText,
  database_url: nullableText,
  provider_url: nullableText,
  control_secret: nullableText,
  mailbox_url: nullableText,
  chat_url: nullableText,
})
export type Credentials = Static<typeof Credentials>

export function credentialsFile(dataDir: string): string {
  return join(dataDir, 'credentials.json')
}

/** Undefined if the folder has no credentials yet. */
export async function readCredentials(dataDir: string): Promise<Credentials | undefined> {
  const remedy = 'restore it, or remove the data folder to start again'
  return readJsonFile(credentialsFile(dataDir), (value) => Check(Credentials, value), remedy)
}
