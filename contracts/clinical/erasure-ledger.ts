import { Type } from 'typebox'
import { Compile } from 'typebox/schema'
import { jsonOf } from '../../platform/kit/json-reading.ts'
import { atFirstUse } from '../../platform/kit/at-first-use.ts'
import type { SignedErasure } from '../../platform/vault/vault-rows.ts'

/** Prefix of the entries in the object store. */
export const ledgerPrefix = 'erasures/'

export function ledgerKey({ orgId, subjectId }: Pick<SignedErasure, 'orgId' | 'subjectId'>): string {
  return `${ledgerPrefix}${orgId}/${subjectId}.json`
}

/**
 * The patient, or the user: a user is under the nil UUID instead of an organisation. One entry as a line of JSON, as the object store, a backup
 * and `erasures export` have it.
 */
export function ledgerText({ orgId, subjectId, erasedAt, signature }: SignedErasure): string {
  return JSON.stringify({ org_id: orgId, subject_id: subjectId, erased_at: erasedAt, signature })
}

const Entry = Type.Object({
  org_id: Type.String({ format: 'uuid' }),
  subject_id: Type.String({ format: 'uuid' }),
  erased_at: Type.String(),
  signature: Type.String(),
})
const entries = atFirstUse(() => Compile(Entry))

/** Undefined for anything else than an entry. Whether the vault signed it is another question. */
export function readLedgerEntry(text: string): SignedErasure | undefined {
  const value = jsonOf(text)
  if (!entries().Check(value)) return undefined
  return { orgId: value.org_id, subjectId: value.subject_id, erasedAt: value.erased_at, signature: value.signature }
}
