import { type StoredEvent, eventType } from '../log/frame.ts'

/** The name that a filter tests. */
export type FilteredName = 'stream' | 'type'

/** A server-side filter of `$all` on the stream's name or the event's type, by regular expression or by prefixes. */
export type EventFilter = {
  on: FilteredName
  /** Whether an event of this stream passes. */
  accepts(stream: string, event: StoredEvent): boolean
}

const NAMES_REMEMBERED = 10_000

/** Builds a filter. Throws SyntaxError on a regular expression that does not compile. */
export function eventFilter(on: FilteredName, regex: string, prefixes: string[]): EventFilter {
  const matches = remembered(regex === '' ? byPrefix(prefixes) : byRegex(regex))
  if (on === 'stream') return { on, accepts: (stream) => matches(stream) }
  return { on, accepts: (_stream, event) => matches(eventType(event)) }
}

function byRegex(source: string): (text: string) => boolean {
  const regex = new RegExp(source, 'u')
  return (text) => regex.test(text)
}

function byPrefix(prefixes: string[]): (text: string) => boolean {
  return (text) => prefixes.some((prefix) => text.startsWith(prefix))
}

/** Caches results, because the same few names and types repeat. */
function remembered(matches: (text: string) => boolean): (text: string) => boolean {
  const known = new Map<string, boolean>()
  return (text) => {
    const cached = known.get(text)
    if (cached !== undefined) return cached
    if (known.size >= NAMES_REMEMBERED) known.clear()
    const result = matches(text)
    known.set(text, result)
    return result
  }
}
