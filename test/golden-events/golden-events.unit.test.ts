import { describe, expect, it } from 'vitest'
import { catalogue } from '../../streams/catalogue.ts'
import { categoryOf, createCatalogue } from '../../streams/store/catalogue.ts'
import { createCodec } from '../../streams/store/codec.ts'
import {
  decodeGolden,
  destroyedKeys,
  fixedKeys,
  goldenNames,
  readGolden,
  sealGolden,
  signGolden,
} from './golden-file.ts'

const names = await goldenNames()
const work = process.env['GOLDEN_EVENTS']
if (work === 'seal' || work === 'sign')
  for (const name of names) await (work === 'seal' ? sealGolden(name) : signGolden(name))

function entryOf(type: string) {
  const entry = catalogue.entry(type)
  if (entry === undefined) throw new Error(`${type} is not in the catalogue`)
  return entry
}

/** Every shape that was ever stored: each type at each version up to today's. */
const shapes = catalogue.types.flatMap((type) => {
  const { version } = entryOf(type).definition
  return Array.from({ length: version }, (_, index) => ({ type, version: index + 1, name: `${type}.v${index + 1}` }))
})

describe('golden files', () => {
  it('exist for every event type at every version, and for nothing else', () => {
    expect(names.toSorted()).toEqual(shapes.map(({ name }) => name).toSorted())
  })

  it('would be missed: a type without a file is not in the list', () => {
    const more = createCatalogue([
      { category: 'planted', events: { Planted: { ...entryOf('CaseOpened').definition, type: 'Planted' } } },
    ])
    expect(more.types.filter((type) => !names.includes(`${type}.v1`))).toEqual(['Planted'])
  })
})

describe.each(shapes)('$name', ({ type, version, name }) => {
  it('decodes to what it always meant', async () => {
    const golden = await readGolden(name)
    const event = await decodeGolden(type, golden, fixedKeys)
    expect(event.metadata.schemaVersion).toBe(version)
    expect(event.data).toEqual(golden.decoded)
    expect(entryOf(type).refusals(event.data)).toEqual([])
  })

  it('stands in a stream of its category', async () => {
    expect(categoryOf((await readGolden(name)).stream)).toBe(entryOf(type).category)
  })

  it('stores no PHI in the clear, and reads as null once its subject is erased', async () => {
    const golden = await readGolden(name)
    const { phiMembers } = entryOf(type)
    const erased = await decodeGolden(type, golden, destroyedKeys)
    const nulls = Object.fromEntries(phiMembers.map((member) => [member, null]))
    expect(erased.data).toEqual({ ...golden.decoded, ...nulls })
    const members = phiMembers.map((member) => golden.stored?.data[member])
    for (const member of members) expect([null, { $phi: expect.any(String) }]).toContainEqual(member)
    expect(JSON.stringify(golden.stored).toLowerCase()).not.toContain('canary')
  })

  it('is written today as it was stored', async () => {
    const { decoded, stored, stream } = await readGolden(name)
    if (version < entryOf(type).definition.version || stored === undefined) return expect(stored).toBeDefined()
    const codec = createCodec(catalogue, fixedKeys, await fixedKeys.eventSigningKey())
    const { phiMembers } = entryOf(type)
    const context = { commandId: stored.id, correlationId: stored.id, orgId: String(stored.metadata['orgId']) }
    const place = { stream, expected: 'no_stream' } as const
    const written = stream.includes('.events')
      ? codec.encodeRaw(
          [{ id: stored.id, type, data: decoded, metadata: { commandId: stored.id, $correlationId: stored.id } }],
          place,
        )
      : await codec.encode([{ type, data: decoded }], context, place)
    const given = phiMembers.filter((member) => decoded[member] !== null)
    const sealed = Object.fromEntries(given.map((member) => [member, { $phi: expect.any(String) }]))
    expect(JSON.parse(written.events[0]?.text ?? '')).toEqual({ ...stored.data, ...sealed })
  })
})

describe('a golden file that no longer decodes', () => {
  it('is reported when a byte of a PHI member, a member of the data or the type changed', async () => {
    const golden = await readGolden('PatientRegistered.v1')
    const { stored } = golden
    if (stored === undefined) throw new Error('not sealed')
    const changed = {
      ...golden,
      stored: { ...stored, data: { ...stored.data, registeredAt: '2026-03-01T10:00:01.000Z' } },
    }
    await expect(async () => decodeGolden('PatientRegistered', changed, fixedKeys)).rejects.toThrow()
    await expect(async () => decodeGolden('CaseOpened', golden, fixedKeys)).rejects.toThrow()
    const moved = { ...golden, stream: `${golden.stream}0` }
    await expect(async () => decodeGolden('PatientRegistered', moved, fixedKeys)).rejects.toThrow()
  })
})
