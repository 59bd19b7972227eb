import { describe, expect, it } from 'vitest'
import { readModels } from '../../projections/registry.ts'
import { processes } from '../../processes/registry.ts'
import { catalogue } from '../../streams/catalogue.ts'

const projectors = [...readModels, ...processes.map(({ list }) => list)]

/** Categories of streams that begin rows or choose them, and whose revision no row contains. */
const sources: Readonly<Record<string, readonly string[]>> = {
  webhook_deliveries: ['assessment', 'webhook_subscriptions'],
}

/** A client of the platform belongs to no organisation, and a scope to no organisation ever. */
const owned: Readonly<Record<string, object>> = {
  oauth_clients: { org_id: { type: 'uuid', nullable: true }, stream_revision: 'bigint' },
  oauth_scopes: { service_id: 'text' },
}

describe('the registries of projectors', () => {
  it('name each once, with names that Postgres takes unquoted', () => {
    const names = projectors.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    for (const name of names) expect(name).toMatch(/^[a-z][a-z0-9_]{0,50}$/)
  })

  it.each(projectors)('$name listens to events that exist', ({ handlers }) => {
    expect(Object.keys(handlers).filter((type) => catalogue.entry(type) === undefined)).toEqual([])
    expect(Object.keys(handlers).length).toBeGreaterThan(0)
  })

  it.each(projectors)('$name declares keys and indexes of columns that it has', ({ tables }) => {
    for (const { columns, primaryKey, indexes = [] } of tables) {
      const used = [...primaryKey, ...indexes.flatMap((index) => index.columns)]
      expect(used.filter((column) => !(column in columns))).toEqual([])
      expect(primaryKey.length).toBeGreaterThan(0)
    }
  })

  it.each(readModels)(
    '$name takes every event of the streams that it shows, so that its rows stand at their revision',
    ({ name, handlers }) => {
      const shown = new Set(Object.keys(handlers).map((type) => catalogue.entry(type)?.category))
      for (const category of sources[name] ?? []) expect(shown.delete(category)).toBe(true)
      const passedOver = catalogue.types.filter(
        (type) => shown.has(catalogue.entry(type)?.category) && !(type in handlers),
      )
      expect(passedOver).toEqual([])
    },
  )

  it.each(readModels)('$name keeps whose each row is, in every table that is read by itself', ({ name, tables }) => {
    const [main] = tables
    expect(main?.columns).toMatchObject(owned[name] ?? { org_id: 'uuid', stream_revision: 'bigint' })
  })
})
