import { createServer, type Server } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listenOnLoopback } from '../../../embedded/children/loopback-server.ts'
import { connectObjectStore, type ObjectStore } from '../../../platform/storage/object-store.ts'

interface Version {
  readonly key: string
  readonly id: string
  readonly isMark: boolean
}

const pageSize = 2
const account = { region: 'eu-central-1', bucket: 'images', accessKeyId: 'test-key', secretAccessKey: 'test-secret' }

let versions: Version[] = []
let server: Server
let objects: ObjectStore

/** A bucket with versions: it lists them in pages, and a deletion without a version only adds a mark. */
beforeAll(async () => {
  server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost')
    const key = decodeURIComponent(url.pathname.slice('/images/'.length))
    const id = url.searchParams.get('versionId')
    if (request.method === 'DELETE') {
      if (id === null) versions.push({ key, id: `mark-${versions.length}`, isMark: true })
      else versions = versions.filter((one) => one.key !== key || one.id !== id)
      return response.writeHead(204).end()
    }
    if (!url.searchParams.has('versions')) return response.writeHead(501).end()
    const found = versions.filter((one) => one.key.startsWith(url.searchParams.get('prefix') ?? ''))
    const entries = found.slice(0, pageSize).map(({ key: name, id: version, isMark }) => {
      const tag = isMark ? 'DeleteMarker' : 'Version'
      return `<${tag}><Key>${name}</Key><VersionId>${version}</VersionId></${tag}>`
    })
    const isTruncated = `<IsTruncated>${found.length > pageSize}</IsTruncated>`
    response.writeHead(200, { 'content-type': 'application/xml' })
    return response.end(`<ListVersionsResult>${isTruncated}${entries.join('')}</ListVersionsResult>`)
  })
  const endpoint = `http://127.0.0.1:${await listenOnLoopback(server, 'bucket with versions', 0)}`
  objects = connectObjectStore({ endpoint, ...account, now: () => new Date() })
})
afterAll(async () => {
  objects.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

test('every version and every mark of a deletion goes, of each object with the prefix and of no other', async () => {
  const version = (key: string, id: string, isMark = false) => ({ key, id, isMark })
  const other = version('images/other/a', 'v1')
  versions = [
    version('images/one/a', 'v1'),
    version('images/one/a', 'v2'),
    version('images/one/a', 'v3', true),
    version('images/one/b', 'v1', true),
    version('images/one/b', 'v2'),
    other,
  ]
  await objects.removeVersions('images/one/')
  expect(versions).toEqual([other])
})
