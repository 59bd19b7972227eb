import { describe, expect, it } from 'vitest'
import { circlesOf, importRules, importsOf, readSources, servicePairOf, servicePairs, violationsOf } from './imports.ts'

const plant = (path: string, text: string) => violationsOf({ path, text }).map(({ rule, what }) => `${rule}: ${what}`)

describe('the stages of the repository', () => {
  it('import only what their stage may import', async () => {
    const sources = await readSources()
    expect(sources.length).toBeGreaterThan(200)
    expect(sources.flatMap(violationsOf)).toEqual([])
  })

  it('are all under a rule, and every rule except the one of the benchmarks matches existing files', async () => {
    const paths = (await readSources()).map(({ path }) => path)
    const idle = importRules.filter(({ of }) => of !== 'tools/bench/' && !paths.some((path) => path.startsWith(of)))
    expect(idle).toEqual([])
  })
})

describe('services of one stage', () => {
  it('import each other only as the list of pairs allows, and the list has no other pair', async () => {
    const pairs = (await readSources()).flatMap((file) =>
      importsOf(file).flatMap((imported) => servicePairOf(file.path, imported) ?? []),
    )
    expect([...new Set(pairs)].toSorted()).toEqual(servicePairs.toSorted())
  })

  it('do not import each other in a circle', () => {
    const sources = servicePairs.map((pair) => {
      const [, stage = '', importer = '', imported = ''] = /^(.+): (.+) > (.+)$/.exec(pair) ?? []
      return { path: `${stage}/${importer}`, text: `import '../${stage}/${imported}'` }
    })
    const byPath = Map.groupBy(sources, ({ path }) => path)
    const services = [...byPath].map(([path, files]) => ({ path, text: files.map(({ text }) => text).join('\n') }))
    expect(circlesOf(services)).toEqual([])
  })
})

describe('circles between files', () => {
  it('are none', async () => {
    expect(circlesOf(await readSources())).toEqual([])
  })

  it('are found, also through imported types; import lines without a circle are not reported', () => {
    const importing = (path: string, target: string) => ({ path, text: `import type { A } from '${target}'` })
    const line = [
      importing('streams/a.ts', './b.ts'),
      importing('streams/b.ts', './c.ts'),
      { path: 'streams/c.ts', text: '' },
    ]
    expect(circlesOf(line)).toEqual([])
    expect(circlesOf([...line.slice(0, 2), importing('streams/c.ts', './b.ts')])).toEqual([
      'streams/b.ts',
      'streams/c.ts',
    ])
  })
})

describe('a planted violation', () => {
  it.each([
    ['streams/case/aggregate.ts', '../../platform/http/problems.ts', 'imports of streams/: platform/http/problems.ts'],
    [
      'engine/store/codec.ts',
      '../../packages/embedded-eventstore/start.ts',
      'imports of engine/store/: packages/embedded-eventstore/start.ts',
    ],
    ['engine/store/codec.ts', '../../streams/case/events.ts', 'imports of engine/store/: streams/case/events.ts'],
    ['engine/aggregates/aggregate.ts', '../../streams/types.ts', 'imports of engine/aggregates/: streams/types.ts'],
    [
      'engine/commands/command-route.ts',
      '../../commands/consent/bodies.ts',
      'imports of engine/commands/: commands/consent/bodies.ts',
    ],
    [
      'engine/projections/runner.ts',
      '../../projections/registry.ts',
      'imports of engine/projections/: projections/registry.ts',
    ],
    [
      'engine/processes/workers.ts',
      '../../processes/registry.ts',
      'imports of engine/processes/: processes/registry.ts',
    ],
    [
      'engine/reads/read-route.ts',
      '../../contracts/users/context.ts',
      'imports of engine/reads/: contracts/users/context.ts',
    ],
    [
      'commands/clinical/open-case.ts',
      '../../projections/clinical/cases.projector.ts',
      'imports of commands/: projections/clinical/cases.projector.ts',
    ],
    [
      'commands/clinical/open-case.ts',
      '../../projections/clinical/cases.projector.ts',
      'imports of commands/: projections/clinical/cases.projector.ts',
    ],
    [
      'commands/clinical/case-routes.ts',
      '../../projections/clinical/cases.table.ts',
      'imports of commands/: projections/clinical/cases.table.ts',
    ],
    ['commands/consent/routes.ts', '../webhooks/bodies.ts', 'imports between services: commands/webhooks/bodies.ts'],
    [
      'processes/workflows/workflows.steps.ts',
      '../clinical/findings.steps.ts',
      'imports between services: processes/clinical/findings.steps.ts',
    ],
    ['commands/clinical/open-case.ts', '../../processes/registry.ts', 'imports of commands/: processes/registry.ts'],
    ['commands/clinical/open-case.ts', '../../app/services.ts', 'imports of commands/: app/services.ts'],
    [
      'projections/clinical/cases.projector.ts',
      '../../commands/clinical/open-case.ts',
      'imports of projections/: commands/clinical/open-case.ts',
    ],
    [
      'processes/webhooks/webhooks.process.ts',
      '../../projections/webhooks/webhook-subscriptions.projector.ts',
      'imports of processes/: projections/webhooks/webhook-subscriptions.projector.ts',
    ],
    [
      'processes/webhooks/deliver.steps.ts',
      '../../commands/webhooks/routes.ts',
      'imports of processes/: commands/webhooks/routes.ts',
    ],
    [
      'processes/webhooks/deliver.steps.ts',
      '../../read-api/webhooks/queries.ts',
      'imports of processes/: read-api/webhooks/queries.ts',
    ],
    [
      'read-api/clinical/case-queries.ts',
      '../../streams/case/aggregate.ts',
      'imports of read-api/: streams/case/aggregate.ts',
    ],
    [
      'read-api/clinical/case-queries.ts',
      '../../engine/projections/row-changes.ts',
      'imports of read-api/: engine/projections/row-changes.ts',
    ],
    [
      'read-api/clinical/case-queries.ts',
      '../../engine/projections/runner.ts',
      'imports of read-api/: engine/projections/runner.ts',
    ],
    [
      'contracts/clinical/cases.ts',
      '../../commands/clinical/routes.ts',
      'imports of contracts/: commands/clinical/routes.ts',
    ],
    ['platform/http/replies.ts', '../../engine/store/events.ts', 'imports of platform/: engine/store/events.ts'],
    [
      'platform/transparency-log/merkle.ts',
      '../kit/positions.ts',
      'imports of platform/transparency-log/: platform/kit/positions.ts',
    ],
    ['platform/transparency-log/merkle.ts', 'node:fs', 'imports of platform/transparency-log/: node:fs'],
    ['platform/kit/positions.ts', '../http/problems.ts', 'imports of platform/kit/: platform/http/problems.ts'],
    ['streams/case/aggregate.ts', '../../platform/http/problems.ts', 'imports of streams/: platform/http/problems.ts'],
    ['platform/vault/vault.ts', '../../app/services.ts', 'imports of platform/: app/services.ts'],
    ['app/up.ts', './demo/members.ts', 'imports of app/: app/demo/members.ts'],
    ['app/demo/main.ts', '../up.ts', 'imports of app/demo/: app/up.ts'],
    ['app/main.ts', '../test/support/postgres.ts', 'imports of app/main.ts: test/support/postgres.ts'],
    ['app/up.ts', '../tools/torture/run.ts', 'imports of app/: tools/torture/run.ts'],
    [
      'embedded/provider/serve.ts',
      '../../platform/observability/logging.ts',
      'imports of embedded/: platform/observability/logging.ts',
    ],
    [
      'tools/bench/appends.ts',
      '../../test/platform/database/database.int.test.ts',
      'imports of tools/bench/: test/platform/database/database.int.test.ts',
    ],
    [
      'examples/typescript-consumer/follow.ts',
      '../../engine/store/events.ts',
      'imports of examples/: engine/store/events.ts',
    ],
    [
      'examples/typescript-consumer/follow.ts',
      'embedded-eventstore/testing',
      'importers of embedded-eventstore: embedded-eventstore/testing',
    ],
    ['test/support/postgres.ts', '../../tools/bench/appends.ts', 'imports of test/: tools/bench/appends.ts'],
    [
      'engine/commands/execute.ts',
      '@eventstore/db-client',
      'importers of @eventstore/db-client: @eventstore/db-client',
    ],
    [
      'packages/embedded-eventstore/server.ts',
      '@eventstore/db-client',
      'importers of @eventstore/db-client: @eventstore/db-client',
    ],
    [
      'platform/observability/health.ts',
      '@eventstore/db-client/generated/gossip_pb.js',
      'importers of @eventstore/db-client/generated/: @eventstore/db-client/generated/gossip_pb.js',
    ],
    [
      'engine/store/reading.ts',
      '@eventstore/db-client/generated/shared_pb.js',
      'importers of @eventstore/db-client/generated/: @eventstore/db-client/generated/shared_pb.js',
    ],
    ['engine/processes/process-worker.ts', 'prom-client', 'importers of prom-client: prom-client'],
    [
      'engine/store/client-errors.ts',
      '@eventstore/db-client/dist/streams/appendToStream/unpackError.js',
      'importers of @eventstore/db-client/dist/: @eventstore/db-client/dist/streams/appendToStream/unpackError.js',
    ],
  ])('in %s, importing %s is reported', (path, imported, violation) => {
    expect(plant(path, `import { x } from '${imported}'`)).toEqual([violation])
  })

  it('is reported for a non-public member of the client', () => {
    const [violation] = plant('engine/store/reading.ts', `const open = client['callArguments']({}, {})`)
    expect(violation).toBe(`importers of platform/kit/event-store-client.ts: ['callArguments']`)
  })

  it.each([
    ['a type', `import type { A } from '../../platform/observability/health.ts'`],
    ['types among values', `import {\n  type A,\n  b,\n} from '../../platform/observability/health.ts'`],
    ['a namespace', `import * as all from "../../platform/observability/health.ts"`],
    ['for its effect', `import '../../platform/observability/health.ts'`],
    ['passed on', `export { a } from '../../platform/observability/health.ts'`],
    ['all passed on', `export * from '../../platform/observability/health.ts'`],
    ['dynamically', `const a = await import('../../platform/observability/health.ts')`],
    ['in a type', `let a: typeof import('../../platform/observability/health.ts')`],
    ['required', `const a = require('../../platform/observability/health.ts')`],
    [
      'the second of two',
      `import { a } from './stream.ts'\nimport { b } from '../../platform/observability/health.ts'`,
    ],
  ])('is found as an import of %s', (_how, text) => {
    expect(plant('streams/case/aggregate.ts', text)).toEqual(['imports of streams/: platform/observability/health.ts'])
  })

  it.each(['await import(`../../${stage}/health.ts`)', 'await import(path)', `require('../../' + stage)`])(
    'is reported if the path is computed: %s',
    (text) => {
      expect(plant('streams/case/aggregate.ts', text)).toEqual([expect.stringContaining('computed imports')])
      expect(plant('streams/case/aggregate.ts', `await import('./stream.ts')`)).toEqual([])
    },
  )

  it.each([
    'Date.now()',
    'new Date()',
    'new Date',
    'Date()',
    'randomUUID()',
    'crypto.randomUUID()',
    'Math.random()',
    'randomBytes(4)',
    'performance.now()',
  ])('of purity, %s, is reported in each kind of pure file', (call) => {
    const pure = [
      'commands/clinical/open-case.ts',
      'commands/ai-review/polling.ts',
      'processes/webhooks/webhooks.process.ts',
      'processes/consent/consent.channel.ts',
      'projections/clinical/cases.projector.ts',
      'streams/case/aggregate.ts',
      'engine/aggregates/aggregate.ts',
      'engine/commands/reservation/aggregate.ts',
    ]
    for (const path of pure) expect(plant(path, `const a = ${call}`)).toHaveLength(1)
    expect(plant('processes/webhooks/deliver.steps.ts', `const a = ${call}`)).toEqual([])
  })

  it('of purity is not reported for parsing an instant from data, or in a comment', () => {
    const text = `/* new Date() */\n// Math.random()\nconst a = new Date(submittedAt).toISOString()\nconst b = v5('x', a)`
    expect(plant('commands/clinical/open-case.ts', text)).toEqual([])
    expect(plant('commands/clinical/open-case.ts', `import { v5, v7 } from 'uuid'`)).toHaveLength(1)
  })

  it.each(['index', 'utils', 'helpers', 'common'])('of naming, %s, is reported as a file and as a folder', (name) => {
    expect(plant(`commands/clinical/${name}.ts`, '')).toEqual([`names: ${name}`])
    expect(plant(`test/${name}/things.ts`, '')).toEqual([`names: ${name}`])
  })

  it('outside every stage is reported', () => {
    expect(plant('shared/things.ts', '')).toEqual(['no stage: shared/things.ts'])
  })
})

describe('reading imports', () => {
  it('returns relative imports as paths from the root, and packages unchanged', () => {
    const text = `import type { A } from '../../engine/store/events.ts'\nimport { b } from 'typebox'\nexport type { C } from './stream.ts'`
    expect(importsOf({ path: 'streams/case/aggregate.ts', text })).toEqual([
      'engine/store/events.ts',
      'typebox',
      'streams/case/stream.ts',
    ])
  })

  it('allows what the table allows', () => {
    expect(
      plant(
        'read-api/clinical/case-queries.ts',
        `import { casesTable } from '../../projections/clinical/cases.projector.ts'`,
      ),
    ).toEqual([])
    expect(plant('platform/http/replies.ts', `import type { P } from '../../platform/kit/positions.ts'`)).toEqual([])
    expect(plant('app/demo/main.ts', `import { c } from '../credentials-file.ts'`)).toEqual([])
    expect(
      plant(
        'packages/embedded-eventstore/wire/errors.ts',
        `import { c } from '@eventstore/db-client/generated/status_pb.js'`,
      ),
    ).toEqual([])
  })
})
