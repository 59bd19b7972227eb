import openapiTS, { astToString } from 'openapi-typescript'

const heading =
  '/** Made from /openapi.json by `npm run client:types`. The refusals are left out: each is a `Problem`. */\n\n'

interface Operation {
  readonly parameters?: readonly { readonly in: string }[]
  readonly responses: Readonly<Record<string, object>>
}

/** The types of the API's paths and schemas, as the text of `api.ts`. */
export async function apiTypes(document: { readonly paths: Readonly<Record<string, object>> }): Promise<string> {
  const paths = mapValues(document.paths, (path) =>
    mapValues(path, (operation: Operation) => withoutRefusals(operation)),
  )
  // A member with a default may be left out of a request.
  const options = { defaultNonNullable: false, silent: true }
  return heading + astToString(await openapiTS(JSON.stringify({ ...document, paths }), options))
}

function withoutRefusals({ parameters = [], responses, ...operation }: Operation): object {
  const successes = Object.entries(responses).filter(([status]) => status.startsWith('2'))
  return {
    ...operation,
    parameters: parameters.filter((parameter) => parameter.in !== 'header'),
    responses: Object.fromEntries(successes.map(([status, answer]) => [status, { ...answer, headers: {} }])),
  }
}

function mapValues<Value>(object: Readonly<Record<string, Value>> | object, map: (value: Value) => object): object {
  const entries: readonly [string, Value][] = Object.entries(object)
  return Object.fromEntries(entries.map(([name, value]) => [name, map(value)]))
}
