import { createHash, createSecretKey, type KeyObject } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { catalogue } from '../../streams/catalogue.ts'
import { categoryOf } from '../../engine/store/catalogue.ts'
import { createCodec } from '../../engine/store/codec.ts'
import { EventKeys } from '../../engine/store/event-keys.ts'
import { onlyEventKey, type KeyVault } from '../../platform/kit/key-vault.ts'
import { goldenFact } from './golden-facts.ts'

/** One historical shape of one event type; see `README.md` in this folder. */
export interface GoldenFile {
  readonly stream: string
  /** The event as `$all` returns it. */
  readonly stored: {
    readonly id: string
    readonly data: Record<string, unknown>
    readonly metadata: Record<string, unknown>
  }
  /** The decoded event. It must never change. */
  readonly decoded: Record<string, unknown>
}

const folder = new URL('./', import.meta.url)
const orgId = '00000000-0000-4000-8000-0000000000a1'

function fixedKey(name: string): KeyObject {
  return createSecretKey(createHash('sha256').update(`golden events: ${name}`).digest())
}

/** Keys derived from their names, so a golden file opens for ever. Never used outside these tests. */
export const fixedKeys: KeyVault = {
  subjectKeyForWriting: async (org, subject) => fixedKey(`${org}/${subject}`),
  subjectKeyForReading: async (org, subject) => fixedKey(`${org}/${subject}`),
  eventKeys: async () => onlyEventKey(fixedKey('event signature')),
}

/** The same after the erasure of every subject. */
export const destroyedKeys: KeyVault = {
  ...fixedKeys,
  subjectKeyForWriting: async () => 'destroyed',
  subjectKeyForReading: async () => 'destroyed',
}

/** Names without `.json`: `<EventType>.v<version>`. */
export async function goldenNames(): Promise<string[]> {
  const names = await readdir(folder)
  return names.filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -'.json'.length))
}

export async function readGolden(name: string): Promise<GoldenFile> {
  return JSON.parse(await readFile(new URL(`${name}.json`, folder), 'utf8')) as GoldenFile
}

/** Decodes with the current catalogue, as a reader of `$all` does. */
export async function decodeGolden(type: string, golden: GoldenFile, keys: KeyVault) {
  const codec = createCodec(catalogue, keys, await EventKeys.open(keys))
  const { id, data, metadata } = golden.stored
  const place = { streamId: golden.stream, revision: 0n, position: { commit: 5n, prepare: 5n }, created: new Date(0) }
  const bytes = { dataBytes: Buffer.from(JSON.stringify(data)), metadataBytes: Buffer.from(JSON.stringify(metadata)) }
  return codec.decode({ ...place, id, type, isJson: true, data, metadata, ...bytes })
}

/** The current codec's output for the data: its text, and the event in the form of a golden file. */
export async function writtenToday(type: string, stream: string, data: unknown) {
  const codec = createCodec(catalogue, fixedKeys, await EventKeys.open(fixedKeys))
  const id = '00000000-0000-4000-8000-000000000e01'
  const $correlationId = '00000000-0000-4000-8000-000000000c01'
  const place = { stream, expected: 'no_stream' } as const
  const { events } = categoryOf(stream).includes('.')
    ? await codec.encodeRaw(
        [{ id, type, data, metadata: { commandId: id, $correlationId, orgId, source: '5/5' } }],
        place,
      )
    : await codec.encode(
        [{ type, data }],
        { commandId: id, correlationId: $correlationId, orgId, requestId: 'golden', clientId: 'golden' },
        place,
      )
  const [event] = events
  if (event?.metadata === undefined) throw new Error(`${type} was not encoded`)
  const { text, metadata } = event
  return { text, stored: { id: event.id, data: JSON.parse(text), metadata: JSON.parse(metadata) } }
}

/** Writes the file of an event type's newest version from the facts of its tests. An existing file stays as it is. */
export async function writeMissingGolden(type: string): Promise<void> {
  const { stream, decoded } = goldenFact(type)
  const { stored } = await writtenToday(type, stream, decoded)
  const name = `${type}.v${catalogue.entry(type)?.definition.version}`
  const text = `${JSON.stringify({ stream, stored, decoded }, undefined, 2)}\n`
  if (!(await goldenNames()).includes(name)) await writeFile(new URL(`${name}.json`, folder), text)
}
