import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { at } from '../../app/demo/members.ts'
import type { ApiAnswer, ApiClient, RawApi } from './raw-api.ts'

const services = [
  'auth',
  'clinical-api',
  'orchestrator',
  'ai-review',
  'human-review',
  'consent',
  'user-management',
  'notifications',
  'events',
]
const withoutBareMount: readonly string[] = ['human-review', 'notifications', 'events']

/** Records every answer of a platform, to compare it with the platform's own `/openapi.json`. */
export interface WatchedPlatform {
  /** The same client; its answers are recorded. */
  watch(client: ApiClient): ApiClient
  watchCalls(api: RawApi): RawApi
  /**
   * Sends a raw request: no token, content type or JSON unless given. A response body that is not JSON is returned as
   * text.
   */
  send(path: string, request?: RequestInit): Promise<ApiAnswer>
  /** Undocumented parts of an answer, and missing common parts. */
  undocumented(): Promise<readonly string[]>
  /** `operationId status` of all answers, sorted, without duplicates. */
  seen(): Promise<readonly string[]>
}

interface NotedAnswer extends ApiAnswer {
  readonly method: string
  readonly path: string
}

export function watchPlatform(baseUrl: string): WatchedPlatform {
  const noted: NotedAnswer[] = []
  function note(method: string, path: string, answer: ApiAnswer): ApiAnswer {
    noted.push({ ...answer, method, path: path.split('?', 1)[0] ?? '' })
    return answer
  }
  const watchCalls = (api: RawApi): RawApi => ({
    async call(path, request = {}) {
      const method = request.method ?? (request.body === undefined ? 'GET' : 'POST')
      return note(method, path, await api.call(path, request))
    },
  })
  return {
    watch: ({ client, ...api }) => ({
      ...watchCalls(api),
      client: {
        ...client,
        // A refusal has no headers here. Tests of refusals send raw calls.
        async request(method, path, ...options) {
          const answer = await client.request(method, path, ...options)
          note(method, path, { ...answer, body: answer.data })
          return answer
        },
      },
    }),
    watchCalls,
    async send(path, request = {}) {
      const response = await fetch(`${baseUrl}${path}`, request)
      const text = await response.text()
      const isJson = /json/.test(response.headers.get('content-type') ?? '')
      const body: unknown = isJson ? JSON.parse(text) : text
      return note(request.method ?? 'GET', path, { status: response.status, headers: response.headers, body })
    },
    async undocumented() {
      const document = await readDocument(baseUrl)
      const problems = noted.flatMap((answer) =>
        [...document.faultsOf(answer), ...faultsOfAnyAnswer(answer)].map(
          (fault) => `${answer.method} ${answer.path} ${answer.status}: ${fault}`,
        ),
      )
      return [...new Set(problems)]
    },
    async seen() {
      const document = await readDocument(baseUrl)
      return [
        ...new Set(noted.map((answer) => `${document.operationOf(answer)?.name ?? 'undocumented'} ${answer.status}`)),
      ].sort()
    },
  }
}

interface Operation {
  readonly name: string
  readonly pointer: string
  readonly responses: unknown
}

/** By their text without the address. The files of a worker share the compiled schemas. */
const documents = new Map<string, ReturnType<typeof compiled>>()

async function readDocument(baseUrl: string): Promise<ReturnType<typeof compiled>> {
  const text = (await (await fetch(`${baseUrl}/openapi.json`)).text()).replaceAll(baseUrl, '')
  const document = documents.get(text) ?? compiled(JSON.parse(text))
  documents.set(text, document)
  return document
}

function compiled(document: unknown) {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false })
  formats.default(ajv)
  ajv.addSchema(Object(document) as object, 'openapi')
  const paths = Object.entries(Object(at(document, 'paths')) as Record<string, unknown>)
  const matchers = paths.map(([template, operations]) => ({
    template,
    operations,
    expression: new RegExp(`^${template.replace(/[.]/g, '\\.').replace(/\{[^}]+\}/g, '[^/]+')}$`),
  }))

  function operationOf({ method, path }: NotedAnswer): Operation | undefined {
    for (const candidate of documentedFormsOf(path)) {
      for (const { template, operations, expression } of matchers) {
        const operation = at(operations, method.toLowerCase())
        if (operation === undefined || !expression.test(candidate)) continue
        const pointer = `openapi#/paths/${template.replaceAll('~', '~0').replaceAll('/', '~1')}/${method.toLowerCase()}`
        return { name: String(at(operation, 'operationId')), pointer, responses: at(operation, 'responses') }
      }
    }
    return undefined
  }

  function faultsOf(answer: NotedAnswer): readonly string[] {
    const operation = operationOf(answer)
    if (operation === undefined) return [404, 405].includes(answer.status) ? [] : ['no such operation']
    const response = at(operation.responses, String(answer.status))
    if (response === undefined) return ['the status is not documented']
    return [
      ...faultsOfHeaders(answer, response),
      ...faultsOfCode(answer, response),
      ...faultsOfBody(operation, answer, response),
    ]
  }

  function faultsOfBody(operation: Operation, answer: NotedAnswer, response: unknown): readonly string[] {
    if ([204, 304].includes(answer.status))
      return answer.body === undefined || answer.body === '' ? [] : [`a ${answer.status} has a body`]
    const type = (answer.headers.get('content-type') ?? '').split(';', 1)[0] ?? ''
    if (at(response, 'content', type) === undefined) return [`the media type ${type} is not documented`]
    const pointer = `${operation.pointer}/responses/${answer.status}/content/${type.replaceAll('/', '~1')}/schema`
    const validate = ajv.getSchema(encodeURI(pointer)) ?? ajv.compile({ $ref: encodeURI(pointer) })
    return validate(answer.body) === true
      ? []
      : (validate.errors ?? []).map(({ instancePath, keyword }) => `${instancePath} ${keyword}`)
  }
  return { operationOf, faultsOf }
}

/** Headers that the document describes once for all answers, and headers of HTTP itself. */
const commonHeaders: ReadonlySet<string> = new Set([
  'x-request-id',
  'api-version',
  'traceparent',
  'cache-control',
  'pragma',
  'x-content-type-options',
  'ratelimit',
  'ratelimit-policy',
  'content-type',
  'content-length',
  'transfer-encoding',
  'date',
  'connection',
  'keep-alive',
])

/** Headers of an answer that its documentation lacks, and documented required headers that the answer lacks. */
function faultsOfHeaders({ headers }: NotedAnswer, response: unknown): readonly string[] {
  const documented = new Set(
    Object.keys(Object(at(response, 'headers') ?? {}) as object).map((name) => name.toLowerCase()),
  )
  const beyond = [...headers.keys()].filter((name) => !commonHeaders.has(name) && !documented.has(name))
  const lacking = ['etag', 'location'].filter((name) => documented.has(name) && !headers.has(name))
  return [
    ...beyond.map((name) => `the header ${name} is not documented`),
    ...lacking.map((name) => `the documented header ${name} is missing`),
  ]
}

/** The description of a status names the codes of its problems. */
function faultsOfCode({ headers, body }: NotedAnswer, response: unknown): readonly string[] {
  if (!(headers.get('content-type') ?? '').startsWith('application/problem+json')) return []
  const [code, documented] = [String(at(body, 'code')), String(at(response, 'description'))]
  return documented.split(/[^a-z0-9-]+/).includes(code) ? [] : [`the code ${code} is not documented`]
}

/** Each route is documented once, under one of its mounts. Some services have no bare mount. */
function documentedFormsOf(path: string): readonly string[] {
  const prefix = new RegExp(`^/v1/(${services.join('|')})(/v1)?/`)
  const bare = path.replace(prefix, '/v1/')
  if (/^\/v1\/(health|metrics)(\/|$)/.test(bare)) return [bare.slice('/v1'.length)]
  const own = prefix.exec(path)?.[1]
  const owners = own === undefined ? services.filter((service) => !withoutBareMount.includes(service)) : [own]
  return [path, bare, ...owners.map((service) => bare.replace(/^\/v1\//, `/v1/${service}/`))]
}

/** Contract section 1, for every route. */
function faultsOfAnyAnswer({ status, headers, body }: NotedAnswer): readonly string[] {
  const faults: string[] = []
  for (const name of ['x-request-id', 'api-version', 'traceparent', 'cache-control'])
    if (!headers.has(name)) faults.push(`no ${name}`)
  if (status < 400 || !(headers.get('content-type') ?? '').startsWith('application/problem+json')) return faults
  if (at(body, 'status') !== status) faults.push('the problem contains another status')
  if (at(body, 'request_id') !== headers.get('x-request-id')) faults.push('the problem contains another request id')
  if (!String(at(body, 'type')).endsWith(`/problems/${String(at(body, 'code'))}`))
    faults.push('the type does not end with the code')
  return faults
}
