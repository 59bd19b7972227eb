import { contractVersion } from '../../platform/http/common-headers.ts'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { watchPlatform } from './documented-answers.ts'

const document = {
  openapi: '3.1.0',
  paths: {
    '/v1/clinical-api/cases/{id}': {
      get: {
        operationId: 'getCase',
        responses: {
          200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/CaseRecord' } } } },
          201: { headers: { Location: {} }, content: { 'application/json': { schema: {} } } },
          404: {
            description: 'not-found, case-closed',
            content: { 'application/problem+json': { schema: { type: 'object', required: ['title'] } } },
          },
        },
      },
    },
  },
  components: {
    schemas: {
      CaseRecord: { type: 'object', required: ['id'], properties: { id: { type: 'string', format: 'uuid' } } },
    },
  },
}
const id = '0190b0a0-0000-7000-8000-000000000001'
const headers = {
  'content-type': 'application/json',
  'x-request-id': 'r',
  'api-version': contractVersion,
  traceparent: 't',
  'cache-control': 'no-store',
}
const problem = { ...headers, 'content-type': 'application/problem+json' }

/** The answers of the planted platform at each address. */
const planted: Readonly<
  Record<string, readonly [status: number, headers: Readonly<Record<string, string>>, body: unknown]>
> = {
  '/openapi.json': [200, headers, document],
  '/v1/clinical-api/cases/right': [200, headers, { id }],
  '/v1/clinical-api/v1/cases/right': [200, headers, { id }],
  '/v1/cases/right': [
    404,
    problem,
    { title: 'x', status: 404, type: 'https://x/problems/not-found', code: 'not-found', request_id: 'r' },
  ],
  '/v1/cases/no-id': [200, headers, {}],
  '/v1/cases/number': [200, headers, { id: 'x' }],
  '/v1/cases/status': [418, headers, { id }],
  '/v1/cases/type': [200, { ...headers, 'content-type': 'text/plain' }, { id }],
  '/v1/cases/beyond': [200, { ...headers, 'x-more': '1' }, { id }],
  '/v1/cases/bare': [200, { 'content-type': 'application/json' }, { id }],
  '/v1/cases/problem': [
    404,
    problem,
    { title: 'x', status: 400, type: 'https://x/problems/conflict', code: 'not-found', request_id: 'q' },
  ],
  '/v1/cases/code': [
    404,
    problem,
    { title: 'x', status: 404, type: 'https://x/problems/closed', code: 'closed', request_id: 'r' },
  ],
  '/v1/cases/created': [201, headers, { id }],
  '/v1/other': [200, headers, {}],
}

const server = createServer((request, response) => {
  const [status, head, body] = planted[request.url ?? ''] ?? [500, {}, {}]
  response.writeHead(status, head).end(JSON.stringify(body))
})
let baseUrl: string

beforeAll(async () => {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(
  () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    }),
)

async function faultsOf(...paths: readonly string[]): Promise<readonly string[]> {
  const watched = watchPlatform(baseUrl)
  for (const path of paths) await watched.send(path)
  return (await watched.undocumented()).map((fault) => fault.slice(fault.indexOf(': ') + 2))
}

test('documented answers pass at every mount', async () => {
  expect(await faultsOf('/v1/clinical-api/cases/right', '/v1/clinical-api/v1/cases/right', '/v1/cases/right')).toEqual(
    [],
  )
})

test.each([
  ['/v1/cases/no-id', [' required']],
  ['/v1/cases/number', ['/id format']],
  ['/v1/cases/status', ['the status is not documented']],
  ['/v1/cases/type', ['the media type text/plain is not documented']],
  ['/v1/cases/beyond', ['the header x-more is not documented']],
  ['/v1/cases/created', ['the documented header location is missing']],
  ['/v1/cases/bare', ['no x-request-id', 'no api-version', 'no traceparent', 'no cache-control']],
  [
    '/v1/cases/problem',
    [
      'the problem contains another status',
      'the problem contains another request id',
      'the type does not end with the code',
    ],
  ],
  ['/v1/cases/code', ['the code closed is not documented']],
  ['/v1/other', ['no such operation']],
])('the wrong answer of %s is reported', async (path, faults) => {
  expect(await faultsOf(path)).toEqual(faults)
})
