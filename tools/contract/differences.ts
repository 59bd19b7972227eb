import { listOf, objectOf, resolved, textOf, type Json, type JsonObject } from './json.ts'
import { schemaDifferences, type Difference, type Documents } from './schema-differences.ts'

const methods = ['get', 'put', 'post', 'patch', 'delete'] as const

/** What breaks callers between two OpenAPI documents. */
export function openApiDifferences(documents: Documents): Difference[] {
  const [paths, newPaths] = [objectOf(documents.released['paths']), objectOf(documents.current['paths'])]
  return Object.entries(paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = objectOf(item)[method]
      const counterpart = objectOf(newPaths[path])[method]
      const where = `${method.toUpperCase()} ${path}`
      if (operation === undefined) return []
      if (counterpart === undefined) return [{ where, what: 'is gone' }]
      return operationDifferences(documents, where, objectOf(operation), objectOf(counterpart))
    }),
  )
}

function operationDifferences(
  documents: Documents,
  where: string,
  released: JsonObject,
  current: JsonObject,
): Difference[] {
  const [id, newId] = [released['operationId'], current['operationId']]
  return [
    ...(id === newId ? [] : [{ where, what: `operationId was ${textOf(id)} and is ${textOf(newId)}` }]),
    ...accessDifferences(where, released, current),
    ...parameterDifferences(documents, where, released, current),
    ...bodyDifferences(documents, where, released['requestBody'], current['requestBody']),
    ...answerDifferences(documents, where, objectOf(released['responses']), objectOf(current['responses'])),
  ]
}

/** Each way to be admitted must still be enough: one of today's ways may ask for no more than it. */
function accessDifferences(where: string, released: JsonObject, current: JsonObject): Difference[] {
  const ways = (operation: JsonObject) => listOf(operation['security']).map(objectOf)
  const after = ways(current)
  const isEnough = (way: JsonObject) =>
    after.length === 0 ||
    after.some((needed) =>
      Object.entries(needed).every(
        ([scheme, scopes]) =>
          way[scheme] !== undefined && listOf(scopes).every((scope) => listOf(way[scheme]).includes(scope)),
      ),
    )
  const before = ways(released)
  const unmet = before.length === 0 ? (after.length === 0 ? [] : [{}]) : before.filter((way) => !isEnough(way))
  return unmet.map((way) => ({ where, what: `needs more than ${JSON.stringify(way)}` }))
}

function parameterDifferences(
  documents: Documents,
  where: string,
  released: JsonObject,
  current: JsonObject,
): Difference[] {
  const named = (document: JsonObject, operation: JsonObject) =>
    new Map(
      listOf(operation['parameters']).map((given) => {
        const parameter = resolved(document, given)
        return [`${textOf(parameter['in'])} ${textOf(parameter['name'])}`.toLowerCase(), parameter]
      }),
    )
  const [before, after] = [named(documents.released, released), named(documents.current, current)]
  const kept = [...before].flatMap(([key, parameter]): Difference[] => {
    const other = after.get(key)
    const place = `${where} ${key}`
    if (other === undefined) return [{ where: place, what: 'is gone' }]
    const isMore = other['required'] === true && parameter['required'] !== true
    return [
      ...(isMore ? [{ where: place, what: 'is required' }] : []),
      ...schemaDifferences(documents, 'sent', place, parameter['schema'], other['schema']),
    ]
  })
  const added = [...after].filter(([key, parameter]) => parameter['required'] === true && !before.has(key))
  return [...kept, ...added.map(([key]) => ({ where: `${where} ${key}`, what: 'is new and required' }))]
}

function bodyDifferences(
  documents: Documents,
  where: string,
  released: Json | undefined,
  current: Json | undefined,
): Difference[] {
  const [before, after] = [resolved(documents.released, released), resolved(documents.current, current)]
  const place = `${where} body `
  const isMore = after['required'] === true && before['required'] !== true
  return [
    ...(isMore ? [{ where: place.trim(), what: 'is required' }] : []),
    ...contentDifferences(documents, 'sent', place, before, after),
  ]
}

function answerDifferences(
  documents: Documents,
  where: string,
  released: JsonObject,
  current: JsonObject,
): Difference[] {
  return Object.entries(released).flatMap(([status, answer]): Difference[] => {
    const place = `${where} ${status} `
    const isSuccess = /^[23]/.test(status)
    if (current[status] === undefined) return isSuccess ? [{ where: place.trim(), what: 'is gone' }] : []
    const [before, after] = [resolved(documents.released, answer), resolved(documents.current, current[status])]
    const headers = Object.keys(objectOf(before['headers'])).map((name) => name.toLowerCase())
    const kept = new Set(Object.keys(objectOf(after['headers'])).map((name) => name.toLowerCase()))
    return [
      ...headers
        .filter((name) => !kept.has(name))
        .map((name) => ({ where: `${place}header ${name}`, what: 'is gone' })),
      ...contentDifferences(documents, 'read', place, before, after),
    ]
  })
}

function contentDifferences(
  documents: Documents,
  direction: 'sent' | 'read',
  where: string,
  released: JsonObject,
  current: JsonObject,
): Difference[] {
  const [before, after] = [objectOf(released['content']), objectOf(current['content'])]
  return Object.entries(before).flatMap(([type, media]): Difference[] => {
    const other = after[type]
    if (other === undefined) return [{ where: `${where}${type}`, what: 'is gone' }]
    return schemaDifferences(documents, direction, where, objectOf(media)['schema'], objectOf(other)['schema'])
  })
}

/** What breaks consumers between two AsyncAPI documents. */
export function asyncApiDifferences(documents: Documents): Difference[] {
  const [channels, newChannels] = [objectOf(documents.released['channels']), objectOf(documents.current['channels'])]
  return Object.entries(channels).flatMap(([name, given]): Difference[] => {
    const [before, after] = [objectOf(given), objectOf(newChannels[name])]
    const where = `channel ${name}`
    if (newChannels[name] === undefined) return [{ where, what: 'is gone' }]
    const isMoved = before['address'] !== after['address']
    return [
      ...(isMoved
        ? [{ where, what: `address was ${textOf(before['address'])} and is ${textOf(after['address'])}` }]
        : []),
      ...Object.entries(objectOf(before['messages'])).flatMap(([type, message]): Difference[] => {
        const other = objectOf(after['messages'])[type]
        if (other === undefined) return [{ where: `${where} ${type}`, what: 'is gone' }]
        const [one, two] = [resolved(documents.released, message), resolved(documents.current, other)]
        return [
          ...(one['name'] === two['name'] ? [] : [{ where: `${where} ${type}`, what: 'has another name' }]),
          ...schemaDifferences(documents, 'read', `${where} ${type} `, one['payload'], two['payload']),
        ]
      }),
    ]
  })
}
