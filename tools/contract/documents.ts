import { readFile } from 'node:fs/promises'
import { servicesOf } from '../../app/services.ts'
import { asyncApiDocument } from '../../contracts/events/asyncapi.ts'
import { contractVersion } from '../../platform/http/common-headers.ts'
import { startApplication } from '../../test/platform/http/test-application.ts'
import { unusedParts } from '../../test/support/unused-parts.ts'
import { asyncApiDifferences, openApiDifferences } from './differences.ts'
import { listOf, objectOf, textOf, type JsonObject } from './json.ts'

/** The documents of one version of the contract. Addresses are relative, so that they are the same everywhere. */
export interface Contract {
  readonly openApi: JsonObject
  readonly asyncApi: JsonObject
}

export const releasedFolder = new URL('../../released/', import.meta.url)
export const changelogFile = new URL('../../CHANGELOG.md', import.meta.url)

export async function currentContract(): Promise<Contract> {
  const { app } = await startApplication({ services: servicesOf(unusedParts) })
  const text = (await app.inject('/openapi.json')).body
  const [server] = listOf(objectOf(JSON.parse(text))['servers'])
  const baseUrl = textOf(objectOf(server)['url'])
  await app.close()
  return { openApi: withRelativeAddresses(text, baseUrl), asyncApi: jsonOf(asyncApiDocument(contractVersion)) }
}

export async function releasedContract(): Promise<Contract> {
  const read = async (name: string): Promise<JsonObject> =>
    JSON.parse(await readFile(new URL(name, releasedFolder), 'utf8'))
  return { openApi: await read('openapi.json'), asyncApi: await read('asyncapi.json') }
}

/** The breaking differences, each as `<where>: <what>`. */
export function breakingDifferences(released: Contract, current: Contract): readonly string[] {
  const found = [
    ...openApiDifferences({ released: released.openApi, current: current.openApi }),
    ...asyncApiDifferences({ released: released.asyncApi, current: current.asyncApi }),
  ]
  return [...new Set(found.map(({ where, what }) => `${where.trim()}: ${what}`))]
}

/** The lines of the part of the changelog that is not released yet. */
export function unreleasedPart(changelog: string): string {
  return /^## Unreleased\n([\s\S]*?)(?=^## |$(?![\s\S]))/m.exec(changelog)?.[1] ?? ''
}

/** The differences that have no line of their own in a part of the changelog: `- <where>: <what>`. */
export function unlisted(differences: readonly string[], part: string): readonly string[] {
  const lines = new Set(part.split('\n').map((line) => line.trim()))
  return differences.filter((difference) => !lines.has(`- ${difference}`))
}

function withRelativeAddresses(text: string, baseUrl: string): JsonObject {
  const document = objectOf(JSON.parse(baseUrl === '' ? text : text.replaceAll(baseUrl, '')))
  return { ...document, servers: [{ url: '/' }] }
}

function jsonOf(value: unknown): JsonObject {
  return JSON.parse(JSON.stringify(value))
}
