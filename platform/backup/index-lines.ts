import { Type, type Static } from 'typebox'
import { Check } from 'typebox/schema'
import { jsonOf } from '../kit/json-reading.ts'

/** One source of a backup: a segment of the event store, a table of the vault, an object, or a file. */
export const Entry = Type.Object({
  kind: Type.Enum(['segment', 'table', 'object', 'file']),
  /** Base position, name of the table, key, or name of the file. */
  name: Type.String(),
  /** Content type of an object. */
  type: Type.Optional(Type.String()),
  bytes: Type.Integer({ minimum: 0 }),
  /** Of an object. The object store that takes it in a restore checks it. */
  sha256: Type.Optional(Type.String()),
  chunks: Type.Array(Type.String()),
})
export type Entry = Static<typeof Entry>

/** One line of JSON for each value. */
export async function* toLines(values: AsyncIterable<unknown>): AsyncGenerator<Buffer, void, undefined> {
  for await (const value of values) yield Buffer.from(`${JSON.stringify(value)}\n`)
}

export async function* linesIn(source: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let rest = ''
  for await (const bytes of source) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  rest += decoder.decode()
  if (rest !== '') yield rest
}

/** @throws Error for a line that is no entry. The chunks are authentic, so another version wrote it. */
export async function* entriesIn(source: AsyncIterable<Uint8Array>): AsyncGenerator<Entry, void, undefined> {
  for await (const line of linesIn(source)) {
    const entry = jsonOf(line)
    if (!Check(Entry, entry)) throw new Error('the backup was made by another version of the platform')
    yield entry
  }
}
