import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { catalogue } from '../../streams/catalogue.ts'
import { categoryOf, createCatalogue } from '../../engine/store/catalogue.ts'
import { isJsonObject } from '../../engine/store/events.ts'
import {
  decodeGolden,
  destroyedKeys,
  fixedKeys,
  goldenNames,
  readGolden,
  writeMissingGolden,
  writtenToday,
} from './golden-file.ts'
import { goldenFact } from './golden-facts.ts'

if (process.env['GOLDEN_EVENTS'] === 'write') for (const type of catalogue.types) await writeMissingGolden(type)
const names = await goldenNames()

function entryOf(type: string) {
  const entry = catalogue.entry(type)
  if (entry === undefined) throw new Error(`${type} is not in the catalogue`)
  return entry
}

/** All stored shapes of all time: each type at each version up to the current one. */
const shapes = catalogue.types.flatMap((type) => {
  const { version } = entryOf(type).definition
  return Array.from({ length: version }, (_, index) => ({ type, version: index + 1, name: `${type}.v${index + 1}` }))
})

describe('golden files', () => {
  it('exist for every event type at every version, and for nothing else', () => {
    expect(names.toSorted()).toEqual(shapes.map(({ name }) => name).toSorted())
  })

  it('are reported if one is missing', () => {
    const more = createCatalogue([
      { category: 'planted', events: { Planted: { ...entryOf('CaseOpened').definition, type: 'Planted' } } },
    ])
    expect(more.types.filter((type) => !names.includes(`${type}.v1`))).toEqual(['Planted'])
  })
})

describe.each(shapes)('$name', ({ type, version, name }) => {
  it('decode to their original meaning', async () => {
    const golden = await readGolden(name)
    const event = await decodeGolden(type, golden, fixedKeys)
    expect(event.metadata.schemaVersion).toBe(version)
    expect(event.data).toEqual(golden.decoded)
    expect(entryOf(type).refusals(event.data)).toEqual([])
  })

  it('are in a stream of their category', async () => {
    expect(categoryOf((await readGolden(name)).stream)).toBe(entryOf(type).category)
  })

  it('contain no unencrypted PHI, and read as null after their subject is erased', async () => {
    const golden = await readGolden(name)
    const { phiMembers } = entryOf(type)
    const erased = await decodeGolden(type, golden, destroyedKeys)
    const nulls = Object.fromEntries(phiMembers.map((member) => [member, null]))
    expect(erased.data).toEqual({ ...golden.decoded, ...nulls })
    const members = phiMembers.map((member) => golden.stored.data[member])
    // A member may be younger than the version.
    for (const member of members) expect([undefined, null, { $phi: expect.any(String) }]).toContainEqual(member)
    expect(JSON.stringify(golden.stored).toLowerCase()).not.toContain('canary')
  })
})

it.each(shapes.filter(({ type, version }) => version === entryOf(type).definition.version))(
  '$name matches the bytes that are written today, in whatever order the members are given',
  async ({ type, name }) => {
    const golden = await readGolden(name)
    const { decoded, stored } = golden
    for (const data of [decoded, ...['one', 'two', 'three'].map((seed) => shuffled(decoded, seed))]) {
      const written = await writtenToday(type, golden.stream, data)
      expect(withoutCiphertext(written.text)).toBe(withoutCiphertext(JSON.stringify(stored.data)))
      const { data: read } = await decodeGolden(type, { ...golden, stored: written.stored }, fixedKeys)
      expect(JSON.stringify(read)).toBe(JSON.stringify(decoded))
    }
  },
)

describe('the fact that the golden file of a new version is written from', () => {
  it.each(catalogue.types)('%s is complete, has its PHI, and decodes to itself', async (type) => {
    const { stream, decoded } = goldenFact(type)
    const { phiMembers, refusals } = entryOf(type)
    expect(refusals(decoded)).toEqual([])
    for (const member of phiMembers) expect(decoded).toHaveProperty(member, expect.anything())
    const { stored } = await writtenToday(type, stream, decoded)
    const { data } = await decodeGolden(type, { stream, stored, decoded: { ...decoded } }, fixedKeys)
    expect(data).toEqual(decoded)
  })
})

/**
 * The same value with the members of every object in another order. The golden files contain no record with several
 * members.
 */
function shuffled(value: unknown, seed: string): unknown {
  if (Array.isArray(value)) return value.map((item) => shuffled(item, seed))
  if (!isJsonObject(value)) return value
  const place = (member: string) => createHash('sha256').update(`${seed} ${member}`).digest('hex')
  const names = Object.keys(value).toSorted((one, other) => place(one).localeCompare(place(other)))
  return Object.fromEntries(names.map((member) => [member, shuffled(value[member], seed)]))
}

/** Encryption returns other bytes each time. */
function withoutCiphertext(text: string): string {
  return text.replaceAll(/"\$phi":"[^"]+"/g, '"$phi":"…"')
}

describe('a golden file that no longer decodes', () => {
  it('is reported after a change of a PHI byte, a member of the data, or the type', async () => {
    const golden = await readGolden('PatientRegistered.v1')
    const { stored } = golden
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
