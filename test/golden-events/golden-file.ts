import { createHash } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { catalogue } from '../../streams/catalogue.ts'
import { categoryOf } from '../../streams/store/catalogue.ts'
import { createCodec } from '../../streams/store/codec.ts'
import type { KeyVault } from '../../streams/store/ports.ts'

/** One historical shape of one event type, as `README.md` beside this describes it. */
export interface GoldenFile {
  readonly stream: string
  /** As `$all` would show it; absent until it is sealed. */
  readonly stored?: { readonly id: string; readonly data: Record<string, unknown>; readonly metadata: Record<string, unknown> }
  /** What it must decode to, for ever. */
  readonly decoded: Record<string, unknown>
}

const folder = new URL('./', import.meta.url)
const orgId = '00000000-0000-4000-8000-0000000000a1'

function fixedKey(name: string): Uint8Array {
  return new Uint8Array(createHash('sha256').update(`golden events: ${name}`).digest())
}

/** Keys that follow from their names, so that what was sealed once opens for ever. Never used outside these tests. */
export const fixedKeys: KeyVault = {
  subjectKeyForWriting: async (org, subject) => fixedKey(`${org}/${subject}`),
  subjectKeyForReading: async (org, subject) => fixedKey(`${org}/${subject}`),
  eventSigningKey: async () => fixedKey('event signature'),
}

/** The same after every subject was erased. */
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

/** Decodes with the catalogue of today, as a reader of `$all` does. */
export async function decodeGolden(type: string, golden: GoldenFile, keys: KeyVault) {
  const { stored } = golden
  if (stored === undefined) throw new Error(`${type} is not sealed: see test/golden-events/README.md`)
  const codec = createCodec(catalogue, keys, await keys.eventSigningKey())
  const place = { revision: 0n, position: { commit: 5n, prepare: 5n }, created: new Date(0), isJson: true as const }
  return codec.decode({ ...place, id: stored.id, type, streamId: golden.stream, data: stored.data, metadata: stored.metadata })
}

/** Fills in `stored` from `decoded` where it is missing. What is sealed already stays as it is. */
export async function sealGolden(name: string): Promise<void> {
  const golden = await readGolden(name)
  if (golden.stored !== undefined) return
  const type = name.slice(0, name.lastIndexOf('.v'))
  const codec = createCodec(catalogue, fixedKeys, await fixedKeys.eventSigningKey())
  const isChannel = categoryOf(golden.stream).includes('.')
  const id = '00000000-0000-4000-8000-000000000e01'
  const $correlationId = '00000000-0000-4000-8000-000000000c01'
  const { events } = isChannel
    ? codec.encodeRaw([{ id, type, data: golden.decoded, metadata: { commandId: id, $correlationId, orgId, source: '5/5' } }], golden.stream)
    : await codec.encode([{ type, data: golden.decoded }], { commandId: id, correlationId: $correlationId, orgId, requestId: 'golden' }, golden.stream)
  const [event] = events
  if (event === undefined) throw new Error(`${name} was not encoded`)
  const metadata: unknown = event.metadata instanceof Uint8Array ? JSON.parse(Buffer.from(event.metadata).toString('utf8')) : event.metadata
  const sealed = { stream: golden.stream, stored: { id: event.id, data: JSON.parse(event.text), metadata }, decoded: golden.decoded }
  await writeFile(new URL(`${name}.json`, folder), `${JSON.stringify(sealed, undefined, 2)}\n`)
}
