import { Type, type Static } from 'typebox'

const nullableText = Type.Union([Type.String(), Type.Null()])

const Client = Type.Object({
  client_id: Type.String(),
  client_secret: Type.String(),
  scopes: Type.Array(Type.String()),
  org_id: nullableText,
  product_id: nullableText,
  trusted_actor_context: Type.Boolean(),
})

/** `<data dir>/credentials.json` (architecture section 8): everything that a newcomer needs to call the platform. */
export const Credentials = Type.Object({
  base_url: Type.String(),
  admin_api_secret: nullableText,
  org_id: Type.String(),
  product_id: Type.String(),
  clients: Type.Array(Client),
  eventstore_url: nullableText,
  database_url: nullableText,
  provider_url: nullableText,
  control_secret: nullableText,
  mailbox_url: nullableText,
  chat_url: nullableText,
})
export type Credentials = Static<typeof Credentials>
