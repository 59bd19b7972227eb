import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { columnType } from '../../engine/projections/projector.ts'
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
  // The claims of identifiers.
  patients: ['reservation'],
  // A role has a revision of its own in the stream that all roles of an organisation share.
  users: ['role'],
  webhook_deliveries: ['assessment', 'webhook_subscriptions'],
}

/**
 * Clients of the platform and defaults of the platform belong to no organisation. Scopes, users and what operators do never
 * belong to one.
 */
const owned: Readonly<Record<string, object>> = {
  access_log: { org_id: 'uuid', at: 'timestamptz' },
  audit_subjects: { org_id: 'uuid', stream: 'text' },
  notification_settings: { org_id: { type: 'uuid', nullable: true }, stream_revision: 'bigint' },
  notification_templates: { org_id: { type: 'uuid', nullable: true }, stream_revision: 'bigint' },
  foreign_events: { channel: 'text', stream_revision: 'bigint' },
  oauth_clients: { org_id: { type: 'uuid', nullable: true }, stream_revision: 'bigint' },
  oauth_scopes: { service_id: 'text' },
  operator_actions: { action_id: 'uuid', at: 'timestamptz' },
  users: { user_id: 'uuid', stream_revision: 'bigint' },
}

describe('the registries of projectors', () => {
  it('contain each name once, and only names that need no quotes in Postgres', () => {
    const names = projectors.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    for (const { name, tables } of projectors) {
      // A copy has the name, two underscores and a word.
      expect(name).toMatch(/^(?!.*__)[a-z][a-z0-9_]{0,47}$/)
      expect(['runtime', 'public', 'vault']).not.toContain(name)
      for (const part of tables.flatMap((table) => [table.name, ...Object.keys(table.columns)]))
        expect(part).toMatch(/^[a-z][a-z0-9_]{0,62}$/)
    }
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

  it('get personal members sealed, except where rows depend on their content', () => {
    expect(projectors.filter(({ opensPersonal }) => opensPersonal === true).map(({ name }) => name)).toEqual(['users'])
  })

  it('have sealed columns in read models only, and name each in the documentation', async () => {
    const sealed = projectors.flatMap(({ name, tables }) =>
      tables.flatMap((table) =>
        Object.entries(table.columns)
          .filter(([, column]) => columnType(column) === 'bytea')
          .map(([column]) => `${name}.${table.name}.${column}`),
      ),
    )
    const text = await readFile(join(import.meta.dirname, '../../docs/security.md'), 'utf8')
    const named = [...text.matchAll(/`([a-z_]+\.[a-z_]+\.[a-z_]+)`/g)].map(([, column]) => column)
    expect(new Set(named)).toEqual(new Set([...sealed, 'users.users.clinical_patient_id']))
    expect(sealed.filter((column) => /_todo\./.test(column))).toEqual([])
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
