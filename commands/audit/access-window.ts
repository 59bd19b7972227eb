import { hash } from 'node:crypto'
import type { Access } from '../../platform/http/shown-content.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

/** An access, and how often the same was seen within its window. */
export interface WindowEntry {
  readonly orgId: TenantId
  readonly accessId: string
  /** All answers, the first one included. */
  readonly count: number
  /** Of the last answer, in milliseconds. */
  readonly lastAt: number
}

interface Entry extends WindowEntry {
  readonly until: number
  count: number
  lastAt: number
  /** Resolves when the access is stored. */
  readonly written: Promise<void>
}

export interface AccessWindow {
  /**
   * Resolves when the access is stored. The same access within the window is stored once: it raises the count.
   * @param write stores it under the id
   */
  recorded(access: Access, atMs: number, write: (accessId: string) => Promise<void>): Promise<void>
  /** Ends the windows that are over at this instant, in milliseconds. */
  endUntil(ms: number): void
}

const longestKey = 500
/** One entry takes about a kilobyte. Beyond this, the oldest window ends early. */
const mostEntries = 20_000

/**
 * Who saw the same again within a time is one access with a count. With a length of 0 each answer is an access.
 *
 * @param lengthMs from the first answer on
 * @param ended receives each entry with a count above one, when its window ends
 */
export function createAccessWindow(
  lengthMs: number,
  newId: () => string,
  ended: (entry: WindowEntry) => void,
): AccessWindow {
  /** In the order of their ends, unless the clock steps back. */
  const entries = new Map<string, Entry>()
  // Behind a step back, a window of the time before would last for as long as the step.
  const isOpen = ({ until }: Entry, ms: number) => ms < until && ms >= until - lengthMs

  function end(key: string, entry: Entry): void {
    entries.delete(key)
    const { written } = entry
    if (entry.count > 1) void written.then(() => ended(entry)).catch(() => undefined)
  }

  return {
    async recorded(access, atMs, write) {
      const key = keyOf(access)
      const known = entries.get(key)
      if (known !== undefined && isOpen(known, atMs)) {
        known.count += 1
        known.lastAt = atMs
        return known.written
      }
      if (known !== undefined) end(key, known)
      const accessId = newId()
      const written = write(accessId)
      if (lengthMs === 0) return written
      const entry = { orgId: access.orgId, accessId, count: 1, lastAt: atMs, until: atMs + lengthMs, written }
      entries.set(key, entry)
      if (entries.size > mostEntries) for (const [oldest, one] of [...entries].slice(0, 1)) end(oldest, one)
      try {
        await written
      } catch (error) {
        if (entries.get(key) === entry) entries.delete(key)
        throw error
      }
    },
    endUntil(ms) {
      for (const [key, entry] of entries) {
        if (isOpen(entry, ms)) return
        end(key, entry)
      }
    },
  }
}

/** What makes two answers the same access. More content than before is another one. */
function keyOf(access: Access): string {
  const { orgId, clientId, userId, operation, purpose, sourceAddress, subjectUserId, patientIds, categories } = access
  const caller = [orgId, clientId, userId, operation, purpose, sourceAddress]
  const text = JSON.stringify([...caller, subjectUserId, patientIds, categories])
  // A list names up to two hundred patients.
  return text.length <= longestKey ? text : hash('sha256', text, 'base64url')
}
