import { tableText } from '../projections/list.ts'
import { isOnlyCounted, type KeyInventory, type VaultInventory } from '../../platform/vault/inventory.ts'

/** What `keys list --json` prints. */
export function inventoryJson({ masterKeys, keys, counts }: VaultInventory) {
  return {
    master_keys: masterKeys.map(({ id, wraps, isInRing, secrets }) => ({ id, wraps, in_ring: isInRing, secrets })),
    keys: keys.map(({ purpose, id, status, createdAt, signsFrom, lastSignature, masterKeyId }) => ({
      purpose,
      id,
      status,
      created_at: createdAt.toISOString(),
      signs_from: signsFrom?.toISOString() ?? null,
      last_signature: lastSignature?.toISOString() ?? null,
      master_key: masterKeyId,
    })),
    secrets: counts.map(({ kind, count, oldest, newest, masterKeyId }) => ({
      kind,
      count,
      oldest: oldest.toISOString(),
      newest: newest.toISOString(),
      master_key: masterKeyId,
    })),
  }
}

/** Three tables for a person. */
export function inventoryText({ masterKeys, keys, counts }: VaultInventory): string {
  const tables = [
    [
      ['MASTER KEY', 'SECRETS', 'NOW'],
      ...masterKeys.map(({ id, secrets, wraps, isInRing }) => {
        const unused = secrets === 0 ? 'may be removed from MASTER_KEYS' : 'unwraps older secrets'
        const now = wraps ? 'wraps new secrets' : isInRing ? unused : 'missing from MASTER_KEYS'
        return [id, String(secrets), now]
      }),
    ],
    [['PURPOSE', 'KEY', 'NOW', 'CREATED', 'LAST SIGNATURE', 'MASTER KEY'], ...keys.map(rowOf)],
    [
      ['SECRETS OF', 'COUNT', 'OLDEST', 'NEWEST', 'MASTER KEY'],
      ...counts
        .filter(({ kind }) => isOnlyCounted(kind))
        .map(({ kind, count, oldest, newest, masterKeyId }) => [
          kind,
          String(count),
          minuteOf(oldest),
          minuteOf(newest),
          masterKeyId,
        ]),
    ],
  ]
  return tables.map(tableText).join('\n\n')
}

function rowOf({ purpose, id, status, createdAt, signsFrom, lastSignature, masterKeyId }: KeyInventory): string[] {
  const now = status === 'announced' && signsFrom !== null ? `signs from ${minuteOf(signsFrom)}` : status
  const last = lastSignature === null ? '-' : minuteOf(lastSignature)
  return [purpose, id, now.replaceAll('_', ' '), minuteOf(createdAt), last, masterKeyId]
}

function minuteOf(instant: Date): string {
  return `${instant.toISOString().slice(0, 16)}Z`
}
