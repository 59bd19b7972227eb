import { lastingPurposes, signingPurposes, turningKinds, type SigningPurpose } from '../kit/key-vault.ts'
import type { MasterKeyRing } from './master-keys.ts'
import { signingKeyOf, signingKind, statusesAt, type KeyStatus } from './signing-keys.ts'
import type { StoredKey, VaultRows, WrappedCount } from './vault-rows.ts'

/** A key of the vault, without its secret. */
export interface KeyInventory extends StoredKey {
  readonly purpose: string
  /** `in_use` of keys that do not take turns. */
  readonly status: KeyStatus<unknown>['status'] | 'in_use'
  /** Null of keys that do not take turns, as the next one. */
  readonly signsFrom: Date | null
  readonly lastSignature: Date | null
}

interface MasterKeyInventory {
  readonly id: string
  /** New secrets are wrapped with it. */
  readonly wraps: boolean
  readonly isInRing: boolean
  /** So many secrets are wrapped with it. */
  readonly secrets: number
}

export interface VaultInventory {
  readonly masterKeys: readonly MasterKeyInventory[]
  readonly keys: readonly KeyInventory[]
  readonly counts: readonly WrappedCount[]
}

/** Most time until another process's erasure or rotation has effect here, in milliseconds. */
export const cacheMs = 30_000
/** So long after its successor was made an older key of events signs at most, in milliseconds (`engine/store/event-keys.ts`). */
const eventKeyLastMs = 60_000
export const sealKind = 'signing-seal'
export const eventKeyKind = 'event-signature'
export const recordKind = 'record'

/** Kinds of which each secret is listed by its id. Those of subjects and webhooks are only counted. */
export const namedKinds = [
  sealKind,
  eventKeyKind,
  'unsubscribe',
  'cursor',
  'pepper',
  'review-share',
  'console-sign-in',
  recordKind,
]

export function isOnlyCounted(kind: string): boolean {
  return !namedKinds.includes(kind) && !signingPurposes.some((purpose) => signingKind(purpose) === kind)
}

/** Everything that the vault has, without the secrets. Reads every row. */
export async function inventoryOf(rows: VaultRows, ring: MasterKeyRing, now: Date): Promise<VaultInventory> {
  const counts = await rows.counts()
  const ids = new Set([...ring.byId.keys(), ...counts.map(({ masterKeyId }) => masterKeyId)])
  const keys = await Promise.all([
    ...signingPurposes.map((purpose) => signingInventory(rows, purpose, now)),
    ...namedKinds.map((kind) => namedInventory(rows, kind)),
  ])
  return {
    masterKeys: [...ids].map((id) => {
      const wrapped = counts.filter(({ masterKeyId }) => masterKeyId === id)
      const secrets = wrapped.reduce((sum, { count }) => sum + count, 0)
      return { id, wraps: id === ring.wrapWith.id, isInRing: ring.byId.has(id), secrets }
    }),
    keys: keys.flat(),
    counts,
  }
}

async function namedInventory(rows: VaultRows, kind: string): Promise<KeyInventory[]> {
  const purpose = kind === sealKind ? 'seal' : kind
  const takesTurns = kind === eventKeyKind || turningKinds.some((each) => each === kind)
  const lastMs = kind === eventKeyKind ? eventKeyLastMs : cacheMs
  const stored = await rows.storedKeys(kind)
  return stored.map((key, place) => {
    if (!takesTurns) return { ...key, purpose, status: 'in_use', signsFrom: null, lastSignature: null }
    const successor = stored[place - 1]
    const lastSignature = successor === undefined ? null : new Date(successor.createdAt.getTime() + lastMs)
    const status = successor === undefined ? 'signs' : 'verifies'
    return { ...key, purpose, status, signsFrom: key.createdAt, lastSignature }
  })
}

async function signingInventory(rows: VaultRows, purpose: SigningPurpose, now: Date): Promise<KeyInventory[]> {
  const kind = signingKind(purpose)
  const masterKeys = new Map((await rows.storedKeys(kind)).map(({ id, masterKeyId }) => [id, masterKeyId]))
  const keys = await Promise.all(
    (await rows.readAll(kind)).map(async ({ id, secret, createdAt }) => ({
      ...(await signingKeyOf(secret)),
      createdAt,
      masterKeyId: masterKeys.get(id) ?? '',
    })),
  )
  return statusesAt(keys, lastingPurposes.includes(purpose), now).map(({ key, ...status }) => {
    const { kid: id, masterKeyId, createdAt } = key
    return { purpose, id, masterKeyId, createdAt, ...status }
  })
}
