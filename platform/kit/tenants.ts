declare const tenant: unique symbol

/**
 * The organisation of a read or write. Queries accept only this type. So a tenant can neither be forgotten nor come
 * unchecked from a request: `tenantOf` derives it from a request's caller.
 */
export type TenantId = string & { readonly [tenant]: true }

/** For a checked id: a caller's own, or that of an event. */
export function tenantOfFact(orgId: string): TenantId {
  return orgId as TenantId
}

/**
 * Stands for no organisation: the nil UUID. Users belong to none, so their keys and the reservations of their addresses
 * are kept under it.
 */
export const noOrganisation = tenantOfFact('00000000-0000-0000-0000-000000000000')

/** The cause of an append. It becomes the metadata of every event of that append. */
export type CommandContext = {
  /** UUID. Event ids are v5(commandId, index): two appends of the same command are one append. */
  readonly commandId: string
  /** UUID shared by everything that one request caused. */
  readonly correlationId: string
  /** Id of the event or request that caused this command. */
  readonly causationId?: string | undefined
  readonly orgId?: string | undefined
  readonly requestId?: string | undefined
  readonly traceparent?: string | undefined
} & Cause

/** Who appends. So each event has an actor. */
type Cause =
  | {
      /** `bootstrap`: the administrator's secret. `platform`: the start of the program. */
      readonly clientId: string
      /** The acting user of the client, if there is one. */
      readonly userId?: string | undefined
      readonly process?: undefined
    }
  | {
      /** The part of the platform that reacts to an event: the process of a step, or a reader of channels. */
      readonly process: string
      readonly clientId?: undefined
      readonly userId?: undefined
    }
