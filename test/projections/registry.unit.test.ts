import { describe, expect, it } from 'vitest'
import { readModels } from '../../projections/registry.ts'
import { processes } from '../../processes/registry.ts'
import { catalogue } from '../../streams/catalogue.ts'

const projectors = [...readModels, ...processes.map(({ list }) => list)]

/** Categories of streams that create or select rows, but whose revision is in no row. */
const sources: Readonly<Record<string, readonly string[]>> = {
  // Mails and webhooks are accesses, which never change.
  access_log: ['notification', 'webhook_delivery'],
  // An erasure clears addresses.
  notifications: ['user'],
  // A role has a revision of its own in the stream that all roles of an organisation share.
  users: ['role'],
  webhook_deliveries: ['assessment', 'webhook_subscriptions'],
}

/**
 * Clients of the platform and defaults of the platform belong to no organisation. Scopes and users never belong to one.
 */
const owned: Readonly<Record<string, object>> = {
  access_log: { org_id: 'uuid', at: 'timestamptz' },
  audit_subjects: { org_id: 'uuid', stream: 'text' },
  notification_settings: { org_id: { type: 'uuid', nullable: true }, stream_revision: 'bigint' },
  notification_templates: { org_id: { type: 'uuid', nullable: true }, stream_revision: 'bigint' },
  foreign_events: { channel: 'text', stream_revision: 'bigint' },
  oauth_clients: { org_id: { type: 'uuid', nullable: true }, stream_revision: 'bigint' },
  oauth_scopes: { service_id: 'text' },
  users: { user_id: 'uuid', stream_revision: 'bigint' },
}

describe('the registries of projectors', () => {
  it('contain each name once, and only names that need no quotes in Postgres', () => {
    const names = projectors.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    for (const name of names) expect(name).toMatch(/^[a-z][a-z0-9_]{0,50}$/)
  })

  it.each(projectors)('$name handles existing events only', ({ handlers }) => {
    expect(Object.keys(handlers).filter((type) => catalogue.entry(type) === undefined)).toEqual([])
    expect(Object.keys(handlers).length).toBeGreaterThan(0)
  })

  it.each(projectors)('$name declares keys and indexes of existing columns only', ({ tables }) => {
    for (const { columns, primaryKey, indexes = [] } of tables) {
      const used = [...primaryKey, ...indexes.flatMap((index) => index.columns)]
      expect(used.filter((column) => !(column in columns))).toEqual([])
      expect(primaryKey.length).toBeGreaterThan(0)
    }
  })

  it.each(readModels)(
    '$name handles every event of its streams, so that its rows have the revision of the stream',
    ({ name, handlers }) => {
      const shown = new Set(Object.keys(handlers).map((type) => catalogue.entry(type)?.category))
      for (const category of sources[name] ?? []) expect(shown.delete(category)).toBe(true)
      const passedOver = catalogue.types.filter(
        (type) => shown.has(catalogue.entry(type)?.category) && !(type in handlers),
      )
      expect(passedOver).toEqual([])
    },
  )

  it.each(readModels)(
    '$name has the organisation of each row in every table that a query reads directly',
    ({ name, tables }) => {
      const [main] = tables
      expect(main?.columns).toMatchObject(owned[name] ?? { org_id: 'uuid', stream_revision: 'bigint' })
    },
  )
})
