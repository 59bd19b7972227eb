import type { SubjectKey } from '../../platform/kit/key-vault.ts'
import type { Vault } from '../../platform/vault/vault.ts'
import type { Pool } from '../../platform/database/database.ts'
import type { ReadDependencies } from './read-route.ts'
import { Sealed, type SealedText } from '../store/sealed.ts'

/** The part of the vault that opens personal members. */
export type Keys = Pick<Vault, 'subjectKeyForReading' | 'cachedSubjectKey'>

/** What a query of personal members needs. */
export interface OpeningReads<More extends keyof ReadDependencies['vault'] = never> {
  readonly pool: Pool
  readonly vault: Keys & Pick<ReadDependencies['vault'], More>
}

/** A view whose personal members are open. Null for a person whose key was destroyed. */
export type Opened<View> = {
  readonly [Member in keyof View]: NonNullable<View[Member]> extends Sealed<infer Content>
    ? Content | null
    : View[Member]
}

/** Reverses `asText` of `tenant-rows.ts`. */
export function fromText<Content>(text: SealedText<Content> | null): Sealed<Content> | null {
  return text === null ? null : (Sealed.from(Buffer.from(text, 'base64')) as Sealed<Content>)
}

/**
 * Opens the sealed members of views, in place. Keys that this process does not know are read with one query for all views.
 * @throws MissingKeyError if the vault has lost a key
 */
export async function opened<View extends object>(keys: Keys, views: readonly View[]): Promise<Opened<View>[]> {
  const unknown = new Map<string, Promise<SubjectKey>>()
  const asked = (orgId: string, subjectId: string) => {
    const person = `${orgId}\n${subjectId}`
    const key = unknown.get(person) ?? keys.subjectKeyForReading(orgId, subjectId)
    unknown.set(person, key)
    return key
  }
  const waiting: (() => Promise<void>)[] = []
  for (const view of views) {
    const row = view as Record<string, unknown>
    for (const member in row) {
      const value = row[member]
      if (!(value instanceof Sealed)) continue
      const { orgId, subjectId } = value
      const key = keys.cachedSubjectKey(orgId, subjectId)
      if (key !== undefined) row[member] = value.openedWith(key)
      else waiting.push(async () => void (row[member] = value.openedWith(await asked(orgId, subjectId))))
    }
  }
  await Promise.all(waiting.map((open) => open()))
  return views as Opened<View>[]
}

/** The same for one view. */
export async function openedView<View extends object>(keys: Keys, view: View): Promise<Opened<View>> {
  const [one] = await opened(keys, [view])
  if (one === undefined) throw new TypeError('one view was opened to none')
  return one
}
