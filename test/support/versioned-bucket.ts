import { createServer } from 'node:http'
import { listenOnLoopback } from '../../embedded/children/loopback-server.ts'
import { connectObjectStore, type ObjectStore } from '../../platform/storage/object-store.ts'

export interface BucketVersion {
  readonly key: string
  /** Of its key alone. */
  readonly id: string
  readonly isMark: boolean
  readonly modifiedAt: Date
}

/** A bucket with versions, which the embedded store does not have. A deletion without a version only adds a mark. */
export interface VersionedBucket {
  readonly objects: ObjectStore
  /** Of each key the oldest first. */
  versions: readonly BucketVersion[]
  close(): Promise<void>
}

const pageSize = 2
const account = { region: 'eu-central-1', bucket: 'images', accessKeyId: 'test-key', secretAccessKey: 'test-secret' }

export async function startVersionedBucket(): Promise<VersionedBucket> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost')
    const key = decodeURIComponent(url.pathname.slice('/images/'.length))
    const id = url.searchParams.get('versionId')
    if (request.method === 'DELETE') {
      const mark = { key, id: `mark-${bucket.versions.length}`, isMark: true, modifiedAt: new Date() }
      bucket.versions =
        id === null ? [...bucket.versions, mark] : bucket.versions.filter((one) => one.key !== key || one.id !== id)
      return response.writeHead(204).end()
    }
    if (!url.searchParams.has('versions')) return response.writeHead(501).end()
    response.writeHead(200, { 'content-type': 'application/xml' })
    return response.end(listedBy(url.searchParams, bucket.versions))
  })
  const endpoint = `http://127.0.0.1:${await listenOnLoopback(server, 'bucket with versions', 0)}`
  const objects = connectObjectStore({ endpoint, ...account, now: () => new Date() })
  const bucket: VersionedBucket = {
    objects,
    versions: [],
    async close() {
      objects.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return bucket
}

/** By key, and of each key the newest first, as S3 lists them. */
function listedBy(query: URLSearchParams, versions: readonly BucketVersion[]): string {
  const found = versions
    .filter(({ key }) => key.startsWith(query.get('prefix') ?? ''))
    .toReversed()
    .toSorted((one, other) => (one.key === other.key ? 0 : one.key < other.key ? -1 : 1))
  const last = { key: query.get('key-marker'), id: query.get('version-id-marker') }
  const first = found.findIndex(({ key, id }) => key === last.key && id === last.id) + 1
  const page = found.slice(first, first + pageSize)
  const entries = page.map(({ key, id, isMark, modifiedAt }) => {
    const tag = isMark ? 'DeleteMarker' : 'Version'
    const content = `<Key>${key}</Key><VersionId>${id}</VersionId><LastModified>${modifiedAt.toISOString()}</LastModified>`
    return `<${tag}>${content}</${tag}>`
  })
  const end = page.at(-1)
  const next =
    end === undefined || first + pageSize >= found.length
      ? '<IsTruncated>false</IsTruncated>'
      : `<IsTruncated>true</IsTruncated><NextKeyMarker>${end.key}</NextKeyMarker><NextVersionIdMarker>${end.id}</NextVersionIdMarker>`
  return `<ListVersionsResult>${next}${entries.join('')}</ListVersionsResult>`
}
