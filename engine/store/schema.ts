import { Type, type Static, type TSchema } from 'typebox'
import { noOrganisation } from '../../platform/kit/tenants.ts'
import type { Sealed } from './sealed.ts'

declare const personal: unique symbol

/** A value of a member that is stored encrypted. */
type Personal<Value> = Value & { readonly [personal]?: Value }

/** Marks a member of an event's data as personal health information: stored encrypted, `null` after its subject is erased. */
export function Phi<Schema extends TSchema>(schema: Schema) {
  return Type.Unsafe<Personal<NonNullable<Static<Schema>>> | null>({ ...schema, phi: true })
}

/** The data of an event as it is stored: personal members stay sealed. */
export type SealedIn<Data> = {
  readonly [Name in keyof Data]: IsPersonal<NonNullable<Data[Name]>> extends true
    ? NonNullable<Data[Name]> extends { readonly [personal]?: infer Value }
      ? Sealed<NonNullable<Value>> | null
      : never
    : Data[Name]
}

type IsPersonal<Value> = [Value] extends [never] ? false : typeof personal extends keyof Value ? true : false

/** Marks a member as an internal secret: hashes of credentials and requests. Timelines leave it out. */
export function Internal<Schema extends TSchema>(schema: Schema) {
  return Type.Unsafe<Static<Schema>>({ ...schema, internal: true })
}

export const KeyOwner = Type.Enum(['organisation', 'platform'])
export type KeyOwner = Static<typeof KeyOwner>

/** One event type in its current stored form. */
export interface EventDefinition<Name extends string = string, Schema extends TSchema = TSchema> {
  readonly type: Name
  readonly schema: Schema
  /** Version of the stored shape, starting at 1. */
  readonly version: number
  /** Member of the data that names the subject (a patient id) whose key encrypts the PHI members. */
  readonly subject?: string
  /**
   * Owner of the subject's key: the organisation of the event's metadata (default), or the platform. If the subjects of
   * a type have different owners, a member of the data names the owner.
   */
  readonly keyOwner?: KeyOwner | { readonly member: string }
  /** `upcasters[n]` turns data of version n into data of version n + 1. Pure. */
  readonly upcasters?: Readonly<Record<number, (data: unknown) => unknown>>
}

type DefinitionOptions = Pick<EventDefinition, 'subject' | 'keyOwner' | 'upcasters'> & { readonly version?: number }

/** Declares an event type. `subject` is required if a member of the schema is PHI (the catalogue checks it). */
export function defineEvent<Name extends string, Schema extends TSchema>(
  type: Name,
  schema: Schema,
  options: DefinitionOptions = {},
): EventDefinition<Name, Schema> {
  return { type, schema, version: 1, ...options }
}

/** The union of events that a record of definitions declares. */
export type EventOf<Definitions extends Readonly<Record<string, EventDefinition>>> = {
  [Key in keyof Definitions]: {
    readonly type: Definitions[Key]['type']
    readonly data: Static<Definitions[Key]['schema']>
  }
}[keyof Definitions]

/** The organisation under which the vault keeps the key of an event's subject. */
export function keyOrganisationOf(
  { keyOwner }: EventDefinition,
  orgId: string | undefined,
  data: Readonly<Record<string, unknown>>,
): string | undefined {
  const owner = typeof keyOwner === 'object' ? data[keyOwner.member] : keyOwner
  return owner === 'platform' ? noOrganisation : orgId
}
